"""Rids as columns of a Spark plan: what they are computed from, and how groups gather them.

A plan knows the path of a row's file, not the file's number, which is given when the snapshot is
taken. In its place a rid carries some bits of the path's hash; they are told apart beforehand, and
put right when the rids are read (`query.carried`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from lineage_core.datasets import canonical
from lineage_core.execute.jvm import (
    EXPRESSIONS,
    items,
    java_class,
    none,
    scala_object,
    seq,
    simple_name,
    some,
)
from lineage_core.plan.expr import Frame
from lineage_core.snapshot import RID_SHIFT

MOST_FILES = 2000
"""Files of a source whose paths are told apart by their hashes; of more, some would be alike."""

_CODES = (1 << 23) - 1
"""The hashes of paths: what is left of 63 bits of a rid above the row's place."""


def coded_rid(spark: SparkSession, relation: Any) -> Any | None:
    """Return the Java expression of the rids of a file relation; None where it has none.

    They are of the rows of `relation.withMetadataColumns()`.
    """
    if not _numbers_rows(relation):
        return None
    metadata = items(relation.withMetadataColumns().output())[-1]
    if metadata.name() != "_metadata":
        return None
    names = [str(field.name()) for field in metadata.dataType().fields()]

    def part(name: str) -> Any:
        place = names.index(name)
        return java_class(spark, f"{EXPRESSIONS}.GetStructField")(
            metadata, place, some(spark, name)
        )

    bits = java_class(spark, f"{EXPRESSIONS}.ShiftLeft")(
        _code(spark, part("file_path")), _literal(spark, str(RID_SHIFT))
    )
    return java_class(spark, f"{EXPRESSIONS}.BitwiseOr")(bits, part("row_index"))


def codes(spark: SparkSession, relation: Any) -> Mapping[int, str] | None:
    """Return the canonical URI of each file of a relation, by what its rids carry in its place.

    None if there are too many, or two that are alike.
    """
    paths = [str(path) for path in relation.relation().location().inputFiles()]
    if len(paths) > MOST_FILES:
        return None
    found = {
        int(_code(spark, _text(spark, spelled(path))).eval(None)): canonical(path)
        for path in paths
    }
    return found if len(found) == len(set(paths)) else None


def gathered(spark: SparkSession, rids: Any, *, repeated: bool) -> Any:
    """Return the Java expression of the rids of a group's rows, which may have arrays of them.

    Args:
        repeated: whether a group may have many rows of one rid, so that it is worth gathering each
            once: a join of many to many could have more rows than there is memory.
    """
    every = _collected(spark, rids, "CollectSet" if repeated else "CollectList")
    return _flat(spark, every) if _has_arrays(rids) else every


def framed(spark: SparkSession, rids: Any, window: Any, frame: Frame) -> Any:
    """Return the Java expression of the rids of the rows in a frame, to be `united`.

    Args:
        rids: those of one row.
        window: the Java `Window`.
        frame: a frame of order values, whose bounds are the current row or none.
    """
    lower = "UnboundedPreceding" if frame.lower is None else "CurrentRow"
    upper = "UnboundedFollowing" if frame.upper is None else "CurrentRow"
    bounds = [scala_object(spark, f"{EXPRESSIONS}.{bound}") for bound in (lower, upper)]
    range_frame = scala_object(spark, f"{EXPRESSIONS}.RangeFrame")
    rows = java_class(spark, f"{EXPRESSIONS}.SpecifiedWindowFrame")(range_frame, *bounds)
    spec = java_class(spark, f"{EXPRESSIONS}.WindowSpecDefinition")(
        window.partitionSpec(), window.orderSpec(), rows
    )
    every = _collected(spark, rids, "CollectSet")
    return java_class(spark, f"{EXPRESSIONS}.WindowExpression")(every, spec)


def united(spark: SparkSession, rids: Any, arrays: list[Any], *, own: bool) -> Any:
    """Return the Java expression of all rids in `arrays`, of several frames, of a row.

    Args:
        rids: those of the row alone.
        arrays: attributes of what `framed` gave.
        own: whether those of the row itself are not in a frame.
    """
    found = [_flat(spark, array) for array in arrays] if _has_arrays(rids) else arrays
    if own:
        single = java_class(spark, f"{EXPRESSIONS}.CreateArray")(seq(spark, [rids]), False)
        found = [*found, rids if _has_arrays(rids) else single]
    if len(found) == 1:
        return found[0]
    return java_class(spark, f"{EXPRESSIONS}.Concat")(seq(spark, found))


def _has_arrays(rids: Any) -> bool:
    return bool(rids.dataType().typeName() == "array")


def _flat(spark: SparkSession, arrays: Any) -> Any:
    return java_class(spark, f"{EXPRESSIONS}.Flatten")(arrays)


def _collected(spark: SparkSession, rids: Any, kind: str) -> Any:
    return scala_object(spark, f"{EXPRESSIONS}.aggregate.AggregateExpression").apply(
        java_class(spark, f"{EXPRESSIONS}.aggregate.{kind}")(rids),
        scala_object(spark, f"{EXPRESSIONS}.aggregate.Complete"),
        False,
        none(spark),
        scala_object(spark, f"{EXPRESSIONS}.NamedExpression").newExprId(),
    )


def _numbers_rows(relation: Any) -> bool:
    """Whether the files of a relation number their rows."""
    files = relation.relation()
    is_files = simple_name(files) == "HadoopFsRelation"
    return is_files and simple_name(files.fileFormat()) == "ParquetFileFormat"


def _code(spark: SparkSession, path: Any) -> Any:
    hashed = java_class(spark, f"{EXPRESSIONS}.XxHash64")(seq(spark, [path]), 42)
    return java_class(spark, f"{EXPRESSIONS}.BitwiseAnd")(hashed, _literal(spark, f"{_CODES}L"))


def _literal(spark: SparkSession, text: str) -> Any:
    """Return a constant as SQL spells it: py4j tells no long from an int."""
    return spark._jsparkSession.sessionState().sqlParser().parseExpression(text)


def _text(spark: SparkSession, value: str) -> Any:
    return scala_object(spark, f"{EXPRESSIONS}.Literal").apply(value)


def spelled(path: str) -> str:
    """Return a path of `inputFiles` as `_metadata.file_path` spells it: without empty authority."""
    return f"file:/{path.removeprefix('file:///')}" if path.startswith("file:///") else path
