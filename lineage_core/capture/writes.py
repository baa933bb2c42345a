"""What a write is about to do, from the command that Spark's analyzer makes of it.

Every way to write (the writers' methods, SQL) becomes one of a few analyzed commands, which hold
the query with its columns already matched to the table, the target and the mode. Analysing a
command does not run it, so all of this is known before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from lineage_core.capture.sources import (
    file_format,
    qualified_name,
    table_name,
    uri,
    without_secrets,
)
from lineage_core.execute.jvm import active, items, java_class, option, simple_name, some
from lineage_core.plan.expr import Column
from lineage_core.plan.relation import Named, Plan, Project, output
from lineage_core.store.manifest import OVERWRITE_PARTITIONS

UNKNOWN = "spark:unknown"
"""The dataset of a write whose target is not known."""


@dataclass(frozen=True, slots=True)
class Write:
    """A write met before it runs.

    Attributes:
        query: the analyzed Java plan whose rows are written.
        columns: names of the written columns, in the order of the query's.
        dataset: canonical URI of the target, or a made-up name where it is no folder of files.
        mode: `overwrite`, `overwrite_partitions`, `append`, `errorifexists` or `ignore`.
        format: of the files; empty where the target is no folder of files.
        partitions: names of the partition columns.
        alias: the table's name; empty for a path.
    """

    query: Any
    columns: tuple[str, ...]
    dataset: str
    mode: str
    format: str = ""
    partitions: tuple[str, ...] = ()
    alias: str = ""


def analyse(spark: SparkSession, command: Any) -> Any:
    """Return the analyzed form of a Java logical plan, without running it if it is a command."""
    mode = java_class(spark, "org.apache.spark.sql.execution.CommandExecutionMode").SKIP()
    with active(spark):
        return spark._jsparkSession.sessionState().executePlan(command, mode).analyzed()


def describe(spark: SparkSession, analyzed: Any) -> Write | None:
    """Return what an analyzed Java command writes; None if it is not a write."""
    rule = _RULES.get(simple_name(analyzed))
    return rule(spark, analyzed) if rule else None


def parts(analyzed: Any) -> list[Any]:
    """Return the commands of an analyzed statement: several INSERTs after one FROM are a union."""
    return items(analyzed.children()) if simple_name(analyzed) == "Union" else [analyzed]


def apart(one: Write, other: Write) -> bool:
    """Whether no file can belong to what both write."""
    first, second = (f"{write.dataset.rstrip('/')}/" for write in (one, other))
    return not first.startswith(second) and not second.startswith(first)


def named(plan: Plan, columns: tuple[str, ...]) -> Plan:
    """Return `plan` with the names its columns are written under."""
    fields = output(plan)
    if tuple(f.name for f in fields) == columns:
        return plan
    renamed = (
        Named(f.id, name, Column(f.id, f.type), f.type)
        for f, name in zip(fields, columns, strict=True)
    )
    return Project(plan.at, tuple(renamed), plan)


def _files(spark: SparkSession, command: Any) -> Write:
    table = option(command.catalogTable())
    return Write(
        command.query(),
        _texts(command.outputColumnNames()),
        uri(command.outputPath()),
        _mode_of_files(command),
        file_format(command.fileFormat()),
        tuple(str(attribute.name()) for attribute in items(command.partitionColumns())),
        qualified_name(table.identifier()) if table is not None else "",
    )


def _save_as_table(spark: SparkSession, command: Any) -> Write | None:
    # What this command will run: with the columns matched to those of an existing table.
    create = java_class(spark, "org.apache.spark.sql.execution.datasources.CreateTable")(
        command.tableDesc(),
        command.mode(),
        some(spark, command.query()),
    )
    return describe(spark, analyse(spark, create))


def _create_table(spark: SparkSession, command: Any) -> Write:
    table = command.table() if hasattr(command, "table") else command.tableDesc()
    return Write(
        command.query(),
        _texts(command.outputColumnNames()),
        _folder(spark, _location(spark, table)),
        _mode(command.mode()),
        str(option(table.provider()) or "hive").lower(),
        _texts(table.partitionColumnNames()),
        qualified_name(table.identifier()),
    )


def _location(spark: SparkSession, table: Any) -> Any:
    """Return where a table that is about to be written lies, as a Java `URI`."""
    catalog = spark._jsparkSession.sessionState().catalog()
    given = option(table.storage().locationUri())
    if given is not None:
        return given
    if catalog.tableExists(table.identifier()):
        return catalog.getTableMetadata(table.identifier()).location()
    return catalog.defaultTablePath(table.identifier())


def _folder(spark: SparkSession, location: Any) -> str:
    """Return the canonical URI of a Java `URI`, which may lack its scheme."""
    path = java_class(spark, "org.apache.hadoop.fs.Path")(location)
    conf = spark._jsparkSession.sessionState().newHadoopConf()
    return uri(path.getFileSystem(conf).makeQualified(path))


def _directory(spark: SparkSession, command: Any) -> Write:
    return Write(
        command.query(),
        _names(command.query()),
        _folder(spark, option(command.storage().locationUri())),
        "overwrite" if command.overwrite() else "append",
        str(command.provider()).lower(),
    )


def _hive_table(spark: SparkSession, command: Any) -> Write:
    table = command.table()
    return Write(
        command.query(),
        _texts(command.outputColumnNames()),
        _folder(spark, table.location()),
        "overwrite" if command.overwrite() else "append",
        "hive",
        _texts(table.partitionColumnNames()),
        qualified_name(table.identifier()),
    )


def _data_source(spark: SparkSession, command: Any) -> Write:
    options = command.options()
    url, table = (option(options.get(key)) for key in ("url", "dbtable"))
    provider = simple_name(command.dataSource()).removesuffix("$")
    dataset = without_secrets(str(url), str(table or "")) if url else f"spark:{provider}"
    return Write(command.query(), _names(command.query()), dataset, _mode(command.mode()))


def _v2_table(mode: str) -> Callable[[SparkSession, Any], Write]:
    def rule(spark: SparkSession, command: Any) -> Write:
        dataset = table_name(command.table())
        return Write(command.query(), _names(command.query()), dataset, mode)

    return rule


def _v2_create(mode: str) -> Callable[[SparkSession, Any], Write]:
    def rule(spark: SparkSession, command: Any) -> Write:
        dataset = f"table:{command.tableName()}"
        return Write(command.query(), _names(command.query()), dataset, mode)

    return rule


_RULES: Mapping[str, Callable[[SparkSession, Any], Write | None]] = {
    "InsertIntoHadoopFsRelationCommand": _files,
    "SaveAsV1TableCommand": _save_as_table,
    "CreateDataSourceTableAsSelectCommand": _create_table,
    "CreateHiveTableAsSelectCommand": _create_table,
    "InsertIntoDataSourceDirCommand": _directory,
    "InsertIntoHiveTable": _hive_table,
    "SaveIntoDataSourceCommand": _data_source,
    "AppendData": _v2_table("append"),
    "OverwriteByExpression": _v2_table("overwrite"),
    "OverwritePartitionsDynamic": _v2_table("overwrite"),
    "CreateTableAsSelect": _v2_create("errorifexists"),
    "ReplaceTableAsSelect": _v2_create("overwrite"),
}
"""How each analyzed command that writes rows is read."""


def _mode(mode: Any) -> str:
    return str(mode.name()).lower()


def _mode_of_files(command: Any) -> str:
    mode = _mode(command.mode())
    some = command.dynamicPartitionOverwrite() or not command.staticPartitions().isEmpty()
    return OVERWRITE_PARTITIONS if mode == "overwrite" and some else mode


def _texts(names: Any) -> tuple[str, ...]:
    return tuple(str(name) for name in items(names))


def _names(query: Any) -> tuple[str, ...]:
    return tuple(str(attribute.name()) for attribute in items(query.output()))
