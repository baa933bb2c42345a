"""The catalog's tables. Every row comes from a manifest, so the whole can be rebuilt from a store.

Keys are natural (run ids, positions, names): the same manifests give the same rows, in whatever
order they were added. A change here needs a migration in `migrations/versions` and a new `HEAD`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import BigInteger, Dialect, ForeignKey, ForeignKeyConstraint, Index, MetaData, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship
from sqlalchemy.types import TypeDecorator, TypeEngine

HEAD = "0001"
"""The newest migration; a catalog at another one is migrated when it is opened."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Instant(TypeDecorator[datetime]):
    """A moment, as microseconds since the epoch: sorts and compares alike in every database."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else (value - _EPOCH) // timedelta(microseconds=1)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        return None if value is None else _EPOCH + timedelta(microseconds=value)


def storable(value: str) -> str:
    """Return `value` as databases can hold it: PostgreSQL has no NUL, none a lone surrogate."""
    return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


class Name(TypeDecorator[str]):
    """A text, sorted by its bytes: a prefix is an index range, and no locale can break an index."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[str]:
        return Text(collation="C") if dialect.name == "postgresql" else Text()

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else storable(value)


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {str: Name, int: BigInteger, datetime: Instant}  # noqa: RUF012 - SQLAlchemy's


class Run(Base):
    """A committed run."""

    __tablename__ = "runs"

    id: Mapped[str] = mapped_column(primary_key=True)
    job: Mapped[str]
    started: Mapped[datetime]
    ended: Mapped[datetime]
    state: Mapped[str]
    uncaptured: Mapped[str]

    outputs: Mapped[list[Output]] = relationship(order_by="Output.index", passive_deletes=True)
    tags: Mapped[list[Tag]] = relationship(order_by="Tag.key, Tag.value", passive_deletes=True)
    aliases: Mapped[list[Alias]] = relationship(passive_deletes=True)

    __table_args__ = (Index(None, "ended"), Index(None, "job", "ended"))


class Tag(Base):
    """A fact a run was tagged with."""

    __tablename__ = "tags"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[str] = mapped_column(primary_key=True)

    __table_args__ = (Index(None, "key", "value"),)


class Dataset(Base):
    """A dataset that some run wrote or read; `leaf` is the last segment of its path."""

    __tablename__ = "datasets"

    name: Mapped[str] = mapped_column(primary_key=True)
    leaf: Mapped[str] = mapped_column(index=True)


class Alias(Base):
    """A table name by which a run reached a dataset; `leaf` is its last part."""

    __tablename__ = "aliases"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    alias: Mapped[str] = mapped_column(primary_key=True)
    dataset: Mapped[str] = mapped_column(ForeignKey("datasets.name"), primary_key=True, index=True)
    leaf: Mapped[str] = mapped_column(index=True)


class Output(Base):
    """One write; `ended` is its run's, repeated so that the newest writer is one index lookup."""

    __tablename__ = "outputs"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    index: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    dataset: Mapped[str] = mapped_column(ForeignKey("datasets.name"))
    ended: Mapped[datetime]
    mode: Mapped[str]
    snapshot_id: Mapped[str | None]
    rows: Mapped[int]
    uncaptured: Mapped[str]

    inputs: Mapped[list[Input]] = relationship(order_by="Input.ordinal", passive_deletes=True)
    artifacts: Mapped[list[SavedStep]] = relationship(
        order_by="SavedStep.ordinal", passive_deletes=True
    )

    __table_args__ = (Index(None, "dataset", "ended"), Index(None, "snapshot_id"))


class Input(Base):
    """One source of a write: the snapshot of a dataset that it read."""

    __tablename__ = "inputs"

    run_id: Mapped[str] = mapped_column(primary_key=True)
    index: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    ordinal: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    dataset: Mapped[str] = mapped_column(ForeignKey("datasets.name"))
    snapshot_id: Mapped[str]

    __table_args__ = (
        ForeignKeyConstraint(
            ["run_id", "index"], ["outputs.run_id", "outputs.index"], ondelete="CASCADE"
        ),
        Index(None, "dataset", "snapshot_id"),
    )


class SavedStep(Base):
    """A saved intermediate of a write."""

    __tablename__ = "artifacts"

    run_id: Mapped[str] = mapped_column(primary_key=True)
    index: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    ordinal: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    step: Mapped[int]
    rows: Mapped[int]
    bytes: Mapped[int]
    how: Mapped[str]

    __table_args__ = (
        ForeignKeyConstraint(
            ["run_id", "index"], ["outputs.run_id", "outputs.index"], ondelete="CASCADE"
        ),
    )
