"""Catalyst expressions whose value depends on a time zone: the IR's functions of `functions.ZONED`.

Spark's analyser has written the zone of the session into each; the IR keeps it as the last operand,
so that a question is answered alike in a session with another one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from py4j.java_gateway import JavaClass

from lineage_core.capture.met import Met
from lineage_core.plan.expr import Call, Expr, Literal, data_type

CASTS = frozenset(
    {
        ("string", "timestamp"),
        ("date", "timestamp"),
        ("timestamp_ntz", "timestamp"),
        ("timestamp", "string"),
        ("timestamp", "date"),
        ("timestamp", "timestamp_ntz"),
    }
)
"""Casts that depend on it."""

_CONF = "org.apache.spark.sql.internal.SQLConf"


def zoned_cast(met: Met, type: str) -> Expr | None:
    """Return a cast to `type`, one of `CASTS`."""
    return _in_zone(met, "zoned_cast", met.args, type)


def _in_zone(met: Met, name: str, args: tuple[Expr, ...], type: str) -> Expr | None:
    zone = met.tree["timeZoneId"]
    if zone is None or met.collated:
        return None
    return Call(name, (*args, Literal(str(zone), "string")), type)


def _function(name: str) -> Callable[[Met], Expr | None]:
    return lambda met: _in_zone(met, name, met.args, met.type)


def _formatted(name: str) -> Callable[[Met], Expr | None]:
    """A function that reads or writes text by a pattern, of which Spark has an old meaning, too."""

    def rule(met: Met) -> Expr | None:
        conf = JavaClass(_CONF, met.java()._gateway_client).get()
        old = str(conf.legacyTimeParserPolicy()).endswith("LEGACY")
        return None if old else _in_zone(met, name, met.args, met.type)

    return rule


def _parsed(met: Met) -> Expr | None:
    name = {"timestamp": "to_timestamp", "timestamp_ntz": "to_timestamp_ntz"}.get(met.type)
    return _formatted(name)(met) if name and data_type(met.args[0]) == "string" else None


RULES: Mapping[str, Callable[[Met], Expr | None]] = {
    "DateFormatClass": _formatted("date_format"),
    "FromUnixTime": _formatted("from_unixtime"),
    "GetTimestamp": _parsed,
    "Hour": _function("hour"),
    "Minute": _function("minute"),
    "MonthsBetween": _function("months_between"),
    "Second": _function("second"),
    "ToUnixTimestamp": _formatted("to_unix_timestamp"),
    "TruncTimestamp": _function("date_trunc"),
    "UnixTimestamp": _formatted("to_unix_timestamp"),
}
"""How each is read; a rule that answers None leaves it to `Unknown`."""
