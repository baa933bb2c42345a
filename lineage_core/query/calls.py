"""Compile calls of aggregate and window functions with their FILTER and OVER clauses."""

from __future__ import annotations

from sqlglot import exp

from lineage_core.errors import UnsupportedError
from lineage_core.plan.expr import AggregateCall, Expr, Frame, FrameUnit, Literal, WindowCall
from lineage_core.plan.functions import UNFRAMED
from lineage_core.plan.relation import Named, SortKey, Window, place
from lineage_core.query.compile import Clause, Dialect, Resolve, Sql, compile_expr, literal, null
from lineage_core.query.draft import ordered


def compile_aggregate(call: AggregateCall, resolve: Resolve, dialect: Dialect) -> Sql:
    """Return the SQL of `call` over the rows of a group.

    Raises:
        UnsupportedError: the engine lacks the function in exactly Spark's meaning.
    """
    return _built(call, resolve, dialect, _filtered(call, resolve, dialect))


def compile_window(node: Window, column: Named, resolve: Resolve, dialect: Dialect) -> Sql:
    """Return the SQL of a column of `node`.

    Raises:
        UnsupportedError: the engine lacks the function or frame in exactly Spark's meaning.
    """
    call = column.expr
    if not isinstance(call, WindowCall):
        raise UnsupportedError(f"column {column.name} of {place(node)} is no window function")
    filtered = _filtered(call, resolve, dialect)
    framed = call.name not in UNFRAMED

    def over(bare: Sql) -> Sql:
        keys = [_key(key, call, framed, resolve, dialect) for key in node.order]
        return exp.Window(
            this=filtered(bare),
            partition_by=[compile_expr(key, resolve, dialect) for key in node.partition],
            order=exp.Order(expressions=keys) if keys else None,
            spec=_frame(call.frame, dialect) if framed else None,
        )

    return _built(call, resolve, dialect, over)


def _built(
    call: AggregateCall | WindowCall, resolve: Resolve, dialect: Dialect, clause: Clause
) -> Sql:
    function = dialect.aggregates.get(call.name)
    if isinstance(call, WindowCall):
        function = dialect.windows.get(call.name, function)
    if function is None:
        raise UnsupportedError(
            f"the {dialect.engine} engine does not have function {call.name} in Spark's meaning",
            hint="ask with engine='spark'",
        )
    args = [_argument(arg, resolve, dialect) for arg in call.args]
    return function(call, args, clause)


def _argument(arg: Expr, resolve: Resolve, dialect: Dialect) -> Sql:
    match arg:
        case Literal(None, type):
            return null(type)  # what `lag` gives where there is no row may have no type of its own
        case _:
            return compile_expr(arg, resolve, dialect)


def _filtered(call: AggregateCall | WindowCall, resolve: Resolve, dialect: Dialect) -> Clause:
    if call.filter is None:
        return lambda bare: bare
    condition = compile_expr(call.filter, resolve, dialect)
    return lambda bare: exp.Filter(this=bare, expression=exp.Where(this=condition.copy()))


def _key(
    key: SortKey, call: WindowCall, framed: bool, resolve: Resolve, dialect: Dialect
) -> exp.Ordered:
    sql = compile_expr(key.expr, resolve, dialect)
    if framed and call.frame.unit is FrameUnit.RANGE and _has_distance(call.frame):
        sql = dialect.distance(key.expr, sql)
    return ordered(sql, key.ascending, key.nulls_first)


def _has_distance(frame: Frame) -> bool:
    return any(bound is not None and not _is_zero(bound) for bound in (frame.lower, frame.upper))


def _frame(frame: Frame, dialect: Dialect) -> exp.WindowSpec:
    start, start_side = _bound(frame.lower, "PRECEDING", frame.unit, dialect)
    end, end_side = _bound(frame.upper, "FOLLOWING", frame.unit, dialect)
    return exp.WindowSpec(
        kind=frame.unit.upper(), start=start, start_side=start_side, end=end, end_side=end_side
    )


def _bound(
    bound: Literal | None, open_side: str, unit: FrameUnit, dialect: Dialect
) -> tuple[str | Sql, str | None]:
    if bound is None:
        return "UNBOUNDED", open_side
    if _is_zero(bound):
        return "CURRENT ROW", None
    match bound.value:
        case int() | float() as distance:
            side = "PRECEDING" if distance < 0 else "FOLLOWING"
            value: int | float | str = abs(distance)
        case str(text) if bound.type.startswith("decimal"):
            side = "PRECEDING" if text.startswith("-") else "FOLLOWING"
            value = text.lstrip("-")
        case _:
            raise UnsupportedError(f"a window frame of type {bound.type} cannot be computed again")
    if unit is FrameUnit.ROWS:
        return exp.Literal.number(str(value)), side
    return literal(Literal(value, bound.type), dialect), side


def _is_zero(bound: Literal) -> bool:
    match bound.value:
        case int() | float() as value:
            return value == 0
        case str(text):
            return not text.strip("-0.")
        case _:
            return False
