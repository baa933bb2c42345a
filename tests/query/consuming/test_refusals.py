"""What a query may not do: each attempt is refused, and without its check would do harm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from sqlglot import exp, parse_one

import lineage_core as lc
from lineage_core.query.consuming.functions import AGGREGATES, FUNCTIONS
from lineage_core.query.engines.duckdb_confined import Refusal, run

FILES = (
    "select * from '{file}'",
    'select * from "{file}"',
    "from '{file}'",
    'from "{file}" select k',
    "table '{file}'",
    "select * from read_parquet('{file}')",
    "select * from read_parquet(['{file}'])",
    "select * from parquet_scan('{file}')",
    "select * from READ_PARQUET('{file}')",
    "select * from \"read_parquet\"('{file}')",
    "select * from main.read_parquet('{file}')",
    "select * from system.main.read_parquet('{file}')",
    "select * from read_csv('/etc/passwd')",
    "select * from read_csv_auto('/etc/passwd')",
    "select * from read_json('/etc/passwd')",
    "select * from read_text('/etc/passwd')",
    "select * from read_blob('/etc/passwd')",
    "select * from sniff_csv('/etc/passwd')",
    "select * from glob('/etc/*')",
    "select * from parquet_metadata('{file}')",
    "select * from sqlite_scan('{store}/catalog.db', 'runs')",
    "select * from backward('out', 'lines') a, '{file}' b",
    "select * from backward('out', 'lines') a join '{file}' b using (k)",
    "select * from (select * from '{file}')",
    "select (select count(*) from '{file}')",
    "select 1 where exists (from '{file}')",
    "select 1 where 1 in (select k from '{file}')",
    "with a as (from '{file}') select * from a",
    "select 1 union all select k from '{file}'",
    "select 1 order by (select k from '{file}' limit 1)",
    "select 1 limit (select k from '{file}' limit 1)",
    'select * from (with "{file}" as (select 1) from "{file}") x, "{file}" y',
    'with a as (from "{file}"), "{file}" as (select 1) select * from a',
    "select * from lateral (select * from '{file}') x",
    "select * from (values ((select max(k) from '{file}'))) v(x)",
    "select list_transform([1], x -> (select max(k) from '{file}'))",
    "select * from '{file}' /* backward('out', 'lines') */",
    "select * from/**/'{file}'",
    "select * from backward('out', 'lines') -- \n, '{file}'",
    "select * from $${file}$$",
    "select * from e'{file}'",
    "select * from U&'{file}'",
    "select * from \u00a0'{file}'",
    "select * from ?",
    "select * from $1",
    "select * from query('select 1')",
    "select * from query_table('{file}')",
    "select * from backward('out', 'lines') at (version => 1)",
    "select * from {bare}",
)

OTHERS = (
    "select getenv('HOME')",
    "select * from getenv('HOME')",
    "select current_setting('home_directory')",
    "select getvariable('x')",
    "select current_query()",
    "select current_database()",
    "select version()",
    "select nextval('x')",
    "select error('x')",
    "select sleep_ms(1)",
    "select pg_sleep(1)",
    "select write_log('x')",
    "select now()",
    "select current_date",
    "select current_timestamp",
    "select localtimestamp",
    "select random()",
    "select uuid()",
    "select read_text('/etc/passwd')",
    "select json_execute_serialized_sql(json_serialize_sql('select 1'))",
    "select json_serialize_sql('select 1')",
    "select main.getvariable('x')",
    "select \"getvariable\"('x')",
    "select /**/getvariable/**/('x')",
    "select system.main.sum(1)",
    "select backward('out', 'lines')",
    "select * from duckdb_settings()",
    "select * from duckdb_secrets()",
    "select * from information_schema.tables",
    "select * from pg_catalog.pg_class",
    "select * from sqlite_master",
    "select * from lineage_0",
    "select * from with_0",
    "with a as (select 1) select * from with_0",
    "select * from given",
    "select * from range(3)",
    "select * from generate_series(1, 3)",
    "select * from unnest([1])",
    "select * from repeat(1, 3)",
    "select * from pragma_version()",
    "attach '{file}' as x",
    "copy (select 1) to '{out}'",
    "copy backward to '{out}'",
    "export database '{out}'",
    "import database '{out}'",
    "install httpfs",
    "load httpfs",
    "set threads = 1",
    "set variable x = 1",
    "reset threads",
    "pragma version",
    "call pragma_version()",
    "create table t as select 1",
    "create macro f() as 1",
    "insert into t values (1)",
    "drop table t",
    "update t set a = 1",
    "delete from t",
    "prepare p as select 1",
    "execute p",
    "explain select 1",
    "explain analyze select 1",
    "describe select 1",
    "summarize select 1",
    "show tables",
    "use x",
    "begin",
    "vacuum",
    "checkpoint",
    "pivot backward('out', 'lines') on mode using count(*)",
    "select * from (pivot backward('out', 'lines') on mode using count(*))",
    "select * from backward('out', 'lines') pivot (count(*) for mode in ('AIR'))",
    "select * from backward('out', 'lines') unpivot (v for n in (k))",
    "select * from (describe select 1)",
    "select * from (show tables)",
    "select * from (summarize select 1)",
    "select columns('k') from backward('out', 'lines')",
    "select * from backward('out', 'lines') tablesample 10%",
    "select * from backward('out', 'lines') using sample 3",
    "with recursive a as (select 1 as x union all select x + 1 from a) select * from a",
    "select 1; select 2",
    "select 1; attach '{file}' as x",
    "select 1;; drop table t",
    "; select 1; ",
    "values (1)",
    "",
    ";",
    "-- nothing",
    "select 1 into t",
    "select 'a' \0",
    "select \ud800",
    "select '" + "x" * 1_000_001 + "'",
    "select " + "(" * 3000 + "1" + ")" * 3000,
    "with a as (insert into t values (1) returning 1) select * from a",
    "select * from other.backward('out', 'lines')",
    "select * from back\u200bward('out', 'lines')",
    "select * from sideways('out', 'lines')",
)


@pytest.mark.parametrize("sql", FILES + OTHERS, ids=lambda sql: repr(sql[:60]))
def test_an_attempt_is_refused(shipping: Any, sql: str, tmp_path: Path) -> None:
    file = shipping.parts.snapshot.files[0].path.removeprefix("file://")
    out = tmp_path / "leaked"
    for key, value in {
        "file": file,
        "bare": file.strip("/").replace("/", "."),
        "store": shipping.store.url.removeprefix("file://"),
        "out": str(out),
    }.items():
        sql = sql.replace(f"{{{key}}}", value)
    parameters = [file] if "?" in sql or "$1" in sql else ()
    with pytest.raises(lc.PredicateError):
        shipping.store.query(sql, parameters)
    assert not out.exists()


def test_a_refusal_names_what_it_refuses_and_what_to_use(shipping: Any) -> None:
    for sql, what in (
        ("select * from customers", "customers"),
        ("select * from a.b.c", "a.b.c"),
        ("select * from read_csv('x')", "read_csv"),
        ("select getenv('HOME')", "getenv"),
    ):
        with pytest.raises(lc.PredicateError, match=what) as caught:
            shipping.store.query(sql)
        assert caught.value.hint


@pytest.mark.parametrize(
    "sql",
    [
        "select * from read_parquet('{file}')",
        "select * from '{file}'",
        "select * from read_text('/etc/passwd')",
        "select * from glob('/etc/*')",
        "select * from held",
        "set threads = 1",
        "set enable_external_access = true",
        "copy (select 1) to '{out}'",
    ],
)
def test_the_database_is_confined_for_itself(shipping: Any, sql: str, tmp_path: Path) -> None:
    """What the text's checks might let pass has nothing to reach."""
    held = duckdb.sql("select 1")
    assert held is not None
    file = shipping.parts.snapshot.files[0].path.removeprefix("file://")
    text = sql.replace("{file}", file).replace("{out}", str(tmp_path / "leaked"))
    with pytest.raises(Refusal):
        run(parse_one(text, read="duckdb"), {}, [shipping.lines.snapshot], {})  # type: ignore[arg-type]
    assert not (tmp_path / "leaked").exists()
    allowed = "select 1 from read_parquet('{file}')".replace("{file}", file)
    query = parse_one(allowed, read="duckdb")
    assert isinstance(query, exp.Query)
    assert run(query, {}, [shipping.parts.snapshot], {}).num_rows == len(shipping.parts.rows)


def test_functions_depend_on_their_arguments_alone() -> None:
    """As far as DuckDB says so; what it says nothing of is on the list for what it is."""
    found = (
        duckdb.connect()
        .execute(
            "select distinct lower(function_name) from duckdb_functions()"
            " where stability <> 'CONSISTENT' or has_side_effects or function_type = 'pragma'"
        )
        .fetchall()
    )
    assert len(found) > 20
    assert not FUNCTIONS & {name for (name,) in found}
    aggregates = (
        duckdb.connect()
        .execute(
            "select distinct lower(function_name) from duckdb_functions()"
            " where function_type = 'aggregate'"
        )
        .fetchall()
    )
    assert FUNCTIONS & {name for (name,) in aggregates} <= AGGREGATES
