"""Row-level lineage of Spark pipelines: capture what a run computes, then ask about single rows.

    store = open_store("lineage/")
    with store.capture(spark, job="orders") as run:
        spark.sql(...).write.parquet("out/orders")
    for source in store.backward("out/orders", where="id = 7").sources:
        print(source.dataset, source.precision, source.count())

Importing this package loads neither Spark nor DuckDB, z3 nor SQLAlchemy; what needs one imports it.
"""

from lineage_core.errors import (
    AmbiguousError,
    ChangedError,
    CorruptError,
    LineageError,
    MissingExtraError,
    NotFoundError,
    PredicateError,
    UncapturedError,
    UnsupportedError,
)
from lineage_core.lineage import LineageStore, open_store

__all__ = [
    "AmbiguousError",
    "ChangedError",
    "CorruptError",
    "LineageError",
    "LineageStore",
    "MissingExtraError",
    "NotFoundError",
    "PredicateError",
    "UncapturedError",
    "UnsupportedError",
    "open_store",
]
