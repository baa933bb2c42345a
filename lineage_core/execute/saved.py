"""Saved intermediates: rows of a plan written as Parquet files of a run, and the record of them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from lineage_core import snapshot
from lineage_core.datasets import local_path
from lineage_core.execute.jvm import java_class, seq
from lineage_core.snapshot import ColumnType
from lineage_core.store.filesystem import ArtifactStore
from lineage_core.store.manifest import Artifact, Materialize


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

    def folder(self, step: int) -> str:
        """Return the folder of a saved step, relative to the store."""
        return f"{self.store.run_path(self.run_id)}/saved/{self.output}-{step}"

    def reserve(self, step: int) -> str:
        """Return the URI of a saved step's folder, its parents being there and private."""
        folder = self.folder(step)
        local = local_path(self.store.uri(folder))
        if local is not None:
            root = local_path(self.store.url) or ""
            for parent in reversed(Path(local).parents):
                if not parent.exists():
                    parent.mkdir(mode=0o700 if str(parent).startswith(root) else 0o755)
        return self.store.uri(folder)

    def remove(self) -> None:
        """Delete everything saved for the output."""
        folder = f"{self.store.run_path(self.run_id)}/saved"
        uri = self.store.uri(folder)
        filesystem, root = pafs.FileSystem.from_uri(uri)
        found = filesystem.get_file_info(pafs.FileSelector(root, allow_not_found=True))
        for info in found:
            if info.base_name.startswith(f"{self.output}-"):
                self.store.remove(f"{folder}/{info.base_name}")


def dataset(spark: SparkSession, plan: Any) -> Any:
    """Return the Java `Dataset` of a Java plan."""
    return java_class(spark, "org.apache.spark.sql.classic.Dataset").ofRows(
        spark._jsparkSession, plan
    )


def named(spark: SparkSession, plan: Any, names: Sequence[str]) -> Any:
    """Return the Java `Dataset` of a Java plan under other column names.

    A plan without columns gets one, `x0`: rows without columns count too, but have no file format.
    """
    rows = dataset(spark, plan)
    if names:
        return rows.toDF(seq(spark, names))
    one = java_class(spark, "org.apache.spark.sql.functions").lit(True)
    return rows.select(seq(spark, [one.alias("x0")]))


def write(spark: SparkSession, rows: Any, uri: str) -> None:
    """Write a Java `Dataset` as Parquet files at `uri`."""
    rows.write().option("compression", "zstd").parquet(spark_path(spark, uri))


def spark_path(spark: SparkSession, uri: str) -> str:
    """Return a canonical URI as Spark's readers and writers want it: decoded, and `s3a`."""
    uri = uri.replace("s3://", "s3a://", 1) if uri.startswith("s3://") else uri
    path = java_class(spark, "org.apache.hadoop.fs.Path")(java_class(spark, "java.net.URI")(uri))
    return str(path.toString())


def artifact(place: Place, step: int, types: Mapping[str, str], how: Materialize) -> Artifact:
    """Return the record of the files saved for `step`, whose columns have these types."""
    folder = place.folder(step)
    uri = place.store.uri(folder)
    filesystem, root = pafs.FileSystem.from_uri(uri)
    found = filesystem.get_file_info(pafs.FileSelector(root))
    names = sorted(info.base_name for info in found if info.extension == "parquet")
    columns = [ColumnType(name, type) for name, type in types.items()]
    taken = snapshot.take(folder, "parquet", columns, [(f"{uri}/{name}", ()) for name in names])
    files = (replace(f, path=f"{folder}/{os.path.basename(f.path)}") for f in taken.files)
    rows = sum(_rows(filesystem, f"{root}/{name}") for name in names)
    return Artifact(step, replace(taken, files=tuple(files)), rows, how)


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
