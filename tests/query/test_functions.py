"""Spark's functions computed again, from the plan that was recorded: they give what Spark wrote.

The pipeline runs in one time zone, the question is asked in another.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lineage_core as lc
from lineage_core.plan.expr import Unknown
from lineage_core.plan.relation import Named, Plan, Project
from lineage_core.plan.traverse import nodes, walk
from lineage_core.query.engines.choice import Engines
from lineage_core.query.evaluate import computed_query
from lineage_core.query.plans import column_name
from lineage_core.query.protocol import Engine
from lineage_core.query.relations import compute
from tests.sessions import configured

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = (
    "id int, i int, l bigint, d double, c decimal(10,2), s string, u string, b binary, dt date, "
    "ts timestamp, n timestamp_ntz, a array<string>, ai array<int>, m map<string,int>, "
    "st struct<f:int,`g h`:string>, ast array<struct<f:int>>"
)

ROWS: list[tuple[Any, ...]] = [
    (
        *(1, 7, 10**12, 2.5, Decimal("12.35"), "a,b;c", "2026-03-29 02:30:00", b"\x00x"),
        *(date(2024, 2, 29), datetime(2026, 3, 29, 1, 30, tzinfo=UTC)),
        *(datetime(2026, 3, 29, 2, 30), ["x", "y", "x", None], [3, 1, 2], {"k": 1, "z": 2}),
        *((5, "p"), [(1,), None, (3,)]),
    ),
    (
        *(2, -7, -3, -0.0, Decimal("-0.05"), "", "no time", b""),
        *(date(1969, 12, 31), datetime(2026, 10, 25, 0, 30, 1, 999999, tzinfo=UTC)),
        *(datetime(1969, 12, 31, 23, 59, 59), [], [None], {"k": None}, (None, None), []),
    ),
    (
        *(3, 0, 0, float("nan"), Decimal("99999999.99"), "Ünï 🙈", '{"a": {"b": 1}}', b"\xff"),
        *(date(1850, 1, 1), datetime(1850, 1, 1, 12, tzinfo=UTC)),
        *(datetime(2026, 10, 25, 2, 30), ["k"], [0], {}, (0, ""), [(None,)]),
    ),
    (4, *[None] * 15),
]

FUNCTIONS = """
st.f; st.`g h`; ast.f; ast[0].f; m['k']; a[0]; element_at(a, -1); element_at(m, 'z');
try_element_at(ai, 9); size(a); cardinality(m); array_contains(a, 'x'); array_position(a, 'y');
split(s, ','); split(s, '[,|]', 2); map_keys(m); map_values(m); array_distinct(a);
array_union(a, array(s)); array_intersect(a, array(u)); sort_array(ai, false);
array_except(a, array(s)); array_join(a, '-'); array_join(a, '-', '?'); reverse(a); reverse(s);
arrays_overlap(a, array(s)); flatten(array(a, a)); array_max(ai); array_min(ai); concat(a, a);
array_remove(a, 'x'); map_contains_key(m, 'k'); md5(s); sha1(b); sha2(s, 256); crc32(s);
hash(i, s, a); xxhash64(l, st); hex(s); hex(l); ascii(s); chr(l); octet_length(s); bit_length(s);
substring_index(s, ',', 1); right(s, 2); left(s, 2); substring(s, -3, 2); substr(s, i, 2);
locate('b', s); position('b', s, 2); overlay(s placing 'QQ' from 2); soundex(s);
levenshtein(s, u); format_number(d, 2); find_in_set('b', s); get_json_object(u, '$.a.b');
regexp_extract_all(s, '([a-z])', 1); i div 2; i div l; l div i; pmod(i, 3); pmod(i, l); i & 6;
i | 8; i ^ 5; ~i; shiftleft(i, 2); shiftright(i, 1); shiftrightunsigned(i, 1); signum(d); cbrt(d);
log10(d); log2(d); log(2, d); log1p(d); expm1(d); sin(d); cos(d); tan(d); asin(d); atan2(d, 1);
degrees(d); radians(d); rint(d); bround(c, 1); floor(c, 1); ceil(c, 1); nanvl(d, 1); hypot(d, 1);
unix_date(dt); date_from_unix_date(i); weekday(dt); trunc(dt, 'MM'); trunc(ts, 'week');
unix_seconds(ts); unix_millis(ts); unix_micros(ts); from_utc_timestamp(ts, 'Asia/Tokyo');
to_utc_timestamp(ts, 'Asia/Tokyo'); to_date(ts); cast(ts as string); cast(dt as timestamp);
cast(n as timestamp); cast(ts as timestamp_ntz); try_cast(u as timestamp); hour(ts); minute(ts);
second(ts); hour(n); year(ts); dayofmonth(ts); extract(week from ts); datediff(ts, dt);
date_add(ts, 1); last_day(ts); date_trunc('day', ts); date_trunc('HOUR', ts);
date_trunc('year', dt); date_format(ts, 'yyyy-MM-dd HH z'); date_format(dt, 'EEE');
from_unixtime(l div 1000); from_unixtime(i, 'yyyy'); unix_timestamp(ts); unix_timestamp(u);
try_to_timestamp(u, 'yyyy-MM-dd HH:mm:ss'); try_to_date(u, 'yyyy-MM-dd HH:mm:ss');
months_between(ts, dt); add_months(ts, 1)
"""

WRITTEN_IN, ASKED_IN = "Europe/Copenhagen", "America/New_York"


@pytest.fixture
def data(spark: SparkSession, tmp_path: Path) -> str:
    spark.createDataFrame(ROWS, SCHEMA).coalesce(1).write.parquet(str(tmp_path / "data"))
    spark.read.parquet(str(tmp_path / "data")).createOrReplaceTempView("functions")
    return str(tmp_path / "data")


def captured(spark: SparkSession, folder: Path, columns: list[str]) -> Any:
    """Write `columns` under capture and return the record of the output."""
    store = lc.open_store(str(folder / "store"))
    query = f"select {', '.join(columns)} from functions"
    with store.capture(spark, job="functions") as run:
        spark.sql(query).coalesce(1).write.parquet(str(folder / "out"))
    (output,) = run.outputs
    assert output.uncaptured == ""
    return output


def named(plan: Plan) -> list[Named]:
    return [column for n in nodes(plan) if isinstance(n, Project) for column in n.columns]


def text(rows: list[Any]) -> list[str]:
    return [repr(row) for row in rows]


@pytest.mark.usefixtures("data")
def test_functions_are_computed_again_in_the_zone_they_were_computed_in(
    spark: SparkSession, tmp_path: Path
) -> None:
    calls = [call.strip() for call in FUNCTIONS.split(";") if call.strip()]
    columns = ["id", *(f"{call} as c{i}" for i, call in enumerate(calls))]
    with configured(spark, zone=WRITTEN_IN, ansi="false"):
        output = captured(spark, tmp_path, columns)
        expected = spark.read.parquet(str(tmp_path / "out")).orderBy("id").toArrow()
    unread = [
        calls[int(column.name.removeprefix("c"))]
        for column in named(output.plan)
        if any(isinstance(part, Unknown) for part in walk(column.expr))
    ]
    assert unread == [], unread

    computed = compute(output, output.plan)

    def ask(engine: Engine) -> Any:
        return engine.run(computed_query(computed, engine), {})

    with configured(spark, zone=ASKED_IN, ansi="true"):
        found = Engines().ask("spark", ask)
        assert spark.conf.get("spark.sql.session.timeZone") == ASKED_IN
        assert type(spark).getActiveSession() is spark
    ids = {column.name: column_name(column.id) for column in named(output.plan)[: len(columns)]}
    found = found.sort_by(ids["id"])
    for i, call in enumerate(calls):
        here = text(found.column(ids[f"c{i}"]).to_pylist())
        assert here == text(expected.column(f"c{i}").to_pylist()), call
