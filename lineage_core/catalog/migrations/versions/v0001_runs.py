"""Runs, what they wrote and read, and the names of datasets."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table("datasets", _name("name"), _name("leaf"), _key("datasets", "name"))
    op.create_index("ix_datasets_leaf", "datasets", ["leaf"])
    op.create_table(
        "runs",
        _name("id"),
        _name("job"),
        _number("started"),
        _number("ended"),
        _name("state"),
        _name("uncaptured"),
        _key("runs", "id"),
    )
    op.create_index("ix_runs_ended", "runs", ["ended"])
    op.create_index("ix_runs_job_ended", "runs", ["job", "ended"])
    _create_of_run()
    _create_of_output()


def downgrade() -> None:
    for table in ("inputs", "artifacts", "outputs", "aliases", "tags", "runs", "datasets"):
        op.drop_table(table)


def _create_of_run() -> None:
    op.create_table(
        "tags",
        _name("run_id"),
        _name("key"),
        _name("value"),
        _run("tags"),
        _key("tags", "run_id", "key", "value"),
    )
    op.create_index("ix_tags_key_value", "tags", ["key", "value"])
    op.create_table(
        "aliases",
        _name("run_id"),
        _name("alias"),
        _name("dataset"),
        _name("leaf"),
        _run("aliases"),
        _dataset("aliases"),
        _key("aliases", "run_id", "alias", "dataset"),
    )
    op.create_index("ix_aliases_dataset", "aliases", ["dataset"])
    op.create_index("ix_aliases_leaf", "aliases", ["leaf"])
    op.create_table(
        "outputs",
        _name("run_id"),
        _number("index"),
        _name("dataset"),
        _number("ended"),
        _name("mode"),
        sa.Column("snapshot_id", _NAME, nullable=True),
        _number("rows"),
        _name("uncaptured"),
        _run("outputs"),
        _dataset("outputs"),
        _key("outputs", "run_id", "index"),
    )
    op.create_index("ix_outputs_dataset_ended", "outputs", ["dataset", "ended"])
    op.create_index("ix_outputs_snapshot_id", "outputs", ["snapshot_id"])


def _create_of_output() -> None:
    op.create_table(
        "inputs",
        _name("run_id"),
        _number("index"),
        _number("ordinal"),
        _name("dataset"),
        _name("snapshot_id"),
        _output("inputs"),
        _dataset("inputs"),
        _key("inputs", "run_id", "index", "ordinal"),
    )
    op.create_index("ix_inputs_dataset_snapshot_id", "inputs", ["dataset", "snapshot_id"])
    op.create_table(
        "artifacts",
        _name("run_id"),
        _number("index"),
        _number("ordinal"),
        _number("step"),
        _number("rows"),
        _number("bytes"),
        _name("how"),
        _output("artifacts"),
        _key("artifacts", "run_id", "index", "ordinal"),
    )


def _name(column: str) -> sa.Column[str]:
    return sa.Column(column, _NAME, nullable=False)


def _number(column: str) -> sa.Column[int]:
    return sa.Column(column, sa.BigInteger(), autoincrement=False, nullable=False)


def _key(table: str, *columns: str) -> sa.PrimaryKeyConstraint:
    return sa.PrimaryKeyConstraint(*columns, name=f"pk_{table}")


def _run(table: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_run_id_runs"
    return sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=name, ondelete="CASCADE")


def _dataset(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["dataset"], ["datasets.name"], name=f"fk_{table}_dataset_datasets"
    )


def _output(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["run_id", "index"],
        ["outputs.run_id", "outputs.index"],
        name=f"fk_{table}_run_id_index_outputs",
        ondelete="CASCADE",
    )
