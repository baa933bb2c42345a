"""Saved intermediates: rows of a plan written as Parquet files of a run, and the record of them."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from lineage_core import snapshot
from lineage_core.datasets import local_path
from lineage_core.execute.jvm import (
    EXPRESSIONS,
    items,
    java_class,
    scala_object,
    seq,
    simple_name,
)
from lineage_core.execute.widen import project, renamed
from lineage_core.snapshot import ColumnType
from lineage_core.store.filesystem import ArtifactStore
from lineage_core.store.manifest import Artifact, Materialize

_DATASET = "org.apache.spark.sql.classic.Dataset"
_DATASOURCES = "org.apache.spark.sql.execution.datasources"

_SETTINGS = {
    "spark.sql.files.maxRecordsPerFile": "0",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.fieldId.write.enabled": "false",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.writeLegacyFormat": "false",
}
"""How intermediates are written."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the intermediates of one output of a run are saved.

    Attributes:
        store: the artifact store.
        run_id: the run.
        output: the output's number in its run.
    """

    store: ArtifactStore
    run_id: str
    output: int

    def folder(self, at: int) -> str:
        """Return the folder of what is saved of operator `at`, relative to the store."""
        return f"{self.store.run_path(self.run_id)}/saved/{self.output}-{at}"

    def reserve(self, at: int) -> str:
        """Return the URI of an operator's folder, its parents being there and private."""
        folder = self.folder(at)
        local = local_path(self.store.uri(folder))
        if local is not None:
            root = local_path(self.store.url) or ""
            for parent in reversed(Path(local).parents):
                if not parent.exists():
                    parent.mkdir(mode=0o700 if str(parent).startswith(root) else 0o755)
        return self.store.uri(folder)

    def remove(self, kept: Collection[int] = ()) -> None:
        """Delete what is saved for the output, but of the operators `kept`."""
        folder = f"{self.store.run_path(self.run_id)}/saved"
        uri = self.store.uri(folder)
        filesystem, root = pafs.FileSystem.from_uri(uri)
        found = filesystem.get_file_info(pafs.FileSelector(root, allow_not_found=True))
        keep = {f"{self.output}-{at}" for at in kept}
        for info in found:
            if info.base_name.startswith(f"{self.output}-") and info.base_name not in keep:
                self.store.remove(f"{folder}/{info.base_name}")


def dataset(spark: SparkSession, plan: Any) -> Any:
    """Return the Java `Dataset` of a Java plan."""
    return java_class(spark, _DATASET).ofRows(spark._jsparkSession, plan)


def rows_of(spark: SparkSession, plan: Any, columns: Mapping[int, Any]) -> Any:
    """Return the Java `Dataset` of columns of a Java plan, each named `c<id>`.

    Columns without a type hold nothing and are left out. Without columns there is one, `x0`: rows
    without columns count too, but have no file format.
    """
    typed = {id: a for id, a in columns.items() if simple_name(a.dataType()) != "NullType$"}
    named = [renamed(spark, attribute, f"c{id}") for id, attribute in typed.items()]
    if not named:
        literals = scala_object(spark, f"{EXPRESSIONS}.Literal")
        named = [renamed(spark, literals.apply(True), "x0")]
    return dataset(spark, project(spark, named, plan))


def write(spark: SparkSession, rows: Any, uri: str) -> None:
    """Write a Java `Dataset` as Parquet files at `uri`, whatever the session's settings for them.

    Those may round timestamps, or refuse some.
    """
    session = spark._jsparkSession.cloneSession()
    for key, value in _SETTINGS.items():
        session.conf().set(key, value)
    copy = java_class(spark, _DATASET).ofRows(session, rows.logicalPlan())
    copy.write().option("compression", "zstd").parquet(spark_path(spark, uri))


def read(spark: SparkSession, rows: Any, uri: str) -> tuple[Any, dict[str, Any]]:
    """Return a Java plan that reads what `write` wrote, and its columns by name.

    Spark takes all that it reads for nullable, but these files hold just what was written.
    """
    reader = spark._jsparkSession.read().schema(rows.schema())
    scan = reader.parquet(seq(spark, [spark_path(spark, uri)])).queryExecution().analyzed()
    files = scan.relation()
    relation = java_class(spark, f"{_DATASOURCES}.HadoopFsRelation")(
        files.location(),
        files.partitionSchema(),
        rows.schema(),
        files.bucketSpec(),
        files.fileFormat(),
        files.options(),
        spark._jsparkSession,
    )
    scan = scala_object(spark, f"{_DATASOURCES}.LogicalRelation").apply(relation, False)
    return scan, {str(a.name()): a for a in items(scan.output())}


def spark_path(spark: SparkSession, uri: str) -> str:
    """Return a canonical URI as Spark's readers and writers want it: decoded, and `s3a`."""
    uri = uri.replace("s3://", "s3a://", 1) if uri.startswith("s3://") else uri
    path = java_class(spark, "org.apache.hadoop.fs.Path")(java_class(spark, "java.net.URI")(uri))
    return str(path.toString())


def artifact(
    place: Place, number: int, at: int, types: Mapping[str, str], how: Materialize
) -> Artifact:
    """Return the record of what is saved of operator `at` for step `number` of a program.

    Args:
        types: the types of the saved columns, by name.
    """
    folder = place.folder(at)
    uri = place.store.uri(folder)
    filesystem, root = pafs.FileSystem.from_uri(uri)
    found = filesystem.get_file_info(pafs.FileSelector(root))
    names = sorted(info.base_name for info in found if info.extension == "parquet")
    columns = [ColumnType(name, type) for name, type in types.items()]
    taken = snapshot.take(folder, "parquet", columns, [(f"{uri}/{name}", ()) for name in names])
    files = (replace(f, path=f"{folder}/{os.path.basename(f.path)}") for f in taken.files)
    rows = sum(_rows(filesystem, f"{root}/{name}") for name in names)
    return Artifact(number, replace(taken, files=tuple(files)), rows, how)


def column_types(rows: Any) -> dict[str, str]:
    """Return the types of a Java `Dataset`'s columns, by name."""
    types = {field["name"]: field["type"] for field in json.loads(rows.schema().json())["fields"]}
    return {
        name: type if isinstance(type, str) else json.dumps(type, separators=(",", ":"))
        for name, type in types.items()
    }


def _rows(filesystem: pafs.FileSystem, path: str) -> int:
    with filesystem.open_input_file(path) as file:
        return int(pq.ParquetFile(file).metadata.num_rows)
