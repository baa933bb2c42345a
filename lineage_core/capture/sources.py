"""What a scan of a plan reads: which dataset, and its files as they were when it was read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from posixpath import commonpath
from typing import Any

from lineage_core.datasets import canonical
from lineage_core.execute.jvm import items, option, simple_name

_ROW_OPTIONS = frozenset(
    [
        "allowbackslashescapinganycharacter",
        "allowcomments",
        "allowsinglequotes",
        "allowunquotedfieldnames",
        "chartoescapequoteescaping",
        "columnnameofcorruptrecord",
        "comment",
        "datetimerebasemode",
        "delimiter",
        "dateformat",
        "dropfieldifallnull",
        "emptyvalue",
        "enabledatetimeparsingfallback",
        "encoding",
        "charset",
        "enforceschema",
        "escape",
        "header",
        "ignoreleadingwhitespace",
        "ignoretrailingwhitespace",
        "inferschema",
        "lineterminator",
        "linesep",
        "locale",
        "maxcharspercolumn",
        "maxcolumns",
        "mergeschema",
        "mode",
        "multiline",
        "nanvalue",
        "negativeinf",
        "nullvalue",
        "positiveinf",
        "prefersdate",
        "primitivesasstring",
        "quote",
        "recursivefilelookup",
        "pathglobfilter",
        "modifiedafter",
        "modifiedbefore",
        "rowtag",
        "samplingratio",
        "sep",
        "timestampformat",
        "timestampntzformat",
        "timezone",
        "unescapedquotehandling",
        "wholetext",
    ]
)
"""Reader options that change what the rows are. No other is recorded: it may be a secret."""


@dataclass(frozen=True, slots=True)
class Source:
    """The dataset behind a scan; two scans of the same one are two occurrences of one source.

    Attributes:
        dataset: its canonical URI, or a made-up name where nothing identifies it.
        format: `parquet`, `csv`, ...; empty when its identity is unknown.
        alias: the table name it was reached by; empty for a path.
        roots: the paths given, as URIs; one, or several that make one dataset.
        options: reader options that change what the rows are.
        schema: the columns and types it was read with, as Spark prints them.
    """

    dataset: str
    format: str = ""
    alias: str = ""
    roots: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    schema: str = ""


def identify(leaf: Any, number: int) -> Source:
    """Return the dataset that a Java leaf of an optimised plan scans.

    Args:
        leaf: any leaf operator; what is not a file relation has no known identity.
        number: makes the name of a source that has none unlike other names.
    """
    kind = simple_name(leaf)
    if kind != "LogicalRelation":
        return Source(_table_name(leaf) or f"spark:{kind}/{number}")
    relation = leaf.relation()
    if simple_name(relation) != "HadoopFsRelation":
        return Source(_jdbc_name(relation) or f"spark:{simple_name(relation)}/{number}")
    roots = tuple(sorted(uri(path) for path in items(relation.location().rootPaths())))
    table = option(leaf.catalogTable())
    return Source(
        _common(roots),
        file_format(relation.fileFormat()),
        qualified_name(table.identifier()) if table is not None else "",
        roots,
        row_options(_entries(relation.options())),
        str(relation.schema().simpleString()),
    )


def uri(path: Any) -> str:
    """Return the canonical URI of a Hadoop `Path`."""
    return canonical(str(path.toUri()))


def file_format(java: Any) -> str:
    """Return the short name of a Java `FileFormat` (`parquet`)."""
    name = simple_name(java)
    return name.removesuffix("FileFormat").lower()


def qualified_name(identifier: Any) -> str:
    """Return a table's full name, unquoted (`spark_catalog.default.orders`)."""
    parts = (option(identifier.catalog()), option(identifier.database()), identifier.table())
    return ".".join(str(part) for part in parts if part)


def row_options(options: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return those of a reader's options that change what the rows are, in order of their names."""
    kept = {k.lower(): v for k, v in options.items() if k.lower() in _ROW_OPTIONS}
    return tuple(sorted(kept.items()))


def _entries(java_map: Any) -> dict[str, str]:
    pairs = items(java_map.toSeq())
    return {str(pair._1()): str(pair._2()) for pair in pairs}


def _common(roots: tuple[str, ...]) -> str:
    if len(roots) == 1:
        return roots[0]
    scheme, _, _ = roots[0].partition("://")
    shared = commonpath([root.partition("://")[2] for root in roots])
    return canonical(f"{scheme}://{shared}")


def _table_name(leaf: Any) -> str:
    """Return the name of the table behind a data source v2 relation; empty for anything else."""
    if not simple_name(leaf).startswith(("DataSourceV2", "StreamingDataSourceV2")):
        return ""
    relation = leaf.relation() if simple_name(leaf) == "DataSourceV2ScanRelation" else leaf
    return f"table:{relation.table().name()}"


def _jdbc_name(relation: Any) -> str:
    """Return URL and table of a JDBC relation, without user, password and parameters."""
    if simple_name(relation) != "JDBCRelation":
        return ""
    options = relation.jdbcOptions()
    url = re.split(r"[?;]", str(options.url()))[0]
    url = re.sub(r"(?<=[:/])[^:/@]*(:|/)[^@]*@", "", url)
    return f"{url}/{options.tableOrQuery()}" if _is_name(options.tableOrQuery()) else url


def _is_name(table: str) -> bool:
    return re.fullmatch(r"[\w.\"`]+", table) is not None
