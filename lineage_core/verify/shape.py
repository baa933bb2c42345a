"""The shape of an obligation: what is left of it when names, numbers of columns and constants are
gone.

Obligations of one shape are proven or refuted together, so a proof is made once and found again for
every query of that shape. Columns an obligation does not mention become one column that stands for
the rest.
"""

from __future__ import annotations

from dataclasses import replace

from lineage_core.plan.expr import (
    AggregateCall,
    Anchor,
    Call,
    Column,
    DataType,
    Expr,
    Frame,
    IsIn,
    Literal,
    Unknown,
    WindowCall,
    data_type,
)
from lineage_core.plan.relation import (
    Aggregate,
    Expand,
    Field,
    Filter,
    Generate,
    Join,
    Limit,
    Named,
    Offset,
    Plan,
    Project,
    Sort,
    Union,
    Values,
    Window,
    output,
)
from lineage_core.plan.traverse import rewrite, walk
from lineage_core.plan.unique import Keys
from lineage_core.pushdown.obligation import Obligation
from lineage_core.verify.abstract import abstract
from lineage_core.verify.frames import RANKS, SHARES, STEP_DOWN, STEP_UP, sign, step
from lineage_core.verify.shades import is_shaded

_REST = "rest"
_RESTS = -(1 << 60)  # ids that no column of a plan has


def shape(obligation: Obligation) -> Obligation:
    """Return the canonical obligation of the same shape."""
    return _Shaper(obligation).result()


class _Shaper:
    def __init__(self, obligation: Obligation) -> None:
        smaller = abstract(obligation)
        self.obligation = smaller.obligation
        self.merged = smaller.merged
        self.columns: dict[int, int] = {}
        self.literals: dict[Literal, Literal] = {}
        self.sets: dict[tuple[Literal, ...], int] = {}
        self.functions: dict[tuple[str, ...], int] = {}
        self.distances = _distances(self.obligation.operator)

    def result(self) -> Obligation:
        node = self._node(self.obligation.operator)
        return Obligation(
            node,
            self._expr(self.obligation.predicate),
            tuple(self._expr(predicate) for predicate in self.obligation.pushed),
            self.obligation.input,
            self.obligation.claim,
            self.obligation.saved,
            self.obligation.premise,
            self._keys(),
            self._present(),
        )

    def _node(self, node: Plan) -> Plan:
        match node:
            case Join():
                left = self._input(node.left, [node.condition])
                right = self._input(node.right, [node.condition])
                exists = None if node.exists is None else self._field(node.exists)
                return Join(0, node.kind, self._expr(node.condition), left, right, exists)
            case Union():
                return self._union(node)
            case Aggregate():
                exprs = [*node.keys, *(column.expr for column in node.columns)]
                child = self._input(node.child, exprs)
                keys = tuple(self._expr(key) for key in node.keys)
                return Aggregate(0, keys, tuple(self._named(c) for c in node.columns), child)
            case Window():
                return self._window(node)
            case Limit():
                return Limit(0, 0, self._input(node.child, []))
            case Offset():
                return Offset(0, 0, self._input(node.child, []))
            case _:
                return self._by_row(node)

    def _by_row(self, node: Plan) -> Plan:
        match node:
            case Filter():
                child = self._input(node.child, [node.condition])
                return Filter(0, self._expr(node.condition), child)
            case Project():
                return self._project(node)
            case Expand():
                return self._expand(node)
            case Generate():
                return self._generate(node)
            case Sort():  # the order of rows is no part of any claim
                return Sort(0, (), True, self._input(node.child, []))
            case _:
                raise NotImplementedError(type(node).__name__)

    def _project(self, node: Project) -> Project:
        used = self._used()
        columns = [column for column in node.columns if column.id in used]
        child = self._input(node.child, [column.expr for column in columns])
        named = [self._named(column) for column in columns]
        rest = [f for f in child.columns if f.name == _REST]
        kept = [Named(f.id, "", Column(f.id, f.type), f.type) for f in rest]
        return Project(0, (*named, *kept), child)

    def _union(self, node: Union) -> Union:
        used = self._used()
        offered = [i for i, field in enumerate(node.columns) if field.id in used]
        taken = [[ids[i] for i in offered] for ids in node.taken]
        inputs = tuple(
            self._input(child, [Column(id, "") for id in ids if id is not None])
            for child, ids in zip(node.inputs, taken, strict=True)
        )
        columns = tuple(self._field(node.columns[i]) for i in offered)
        places = (tuple(id if id is None else self._id(id) for id in ids) for ids in taken)
        return Union(0, columns, tuple(places), inputs)

    def _expand(self, node: Expand) -> Expand:
        used = self._used()
        offered = [i for i, field in enumerate(node.columns) if field.id in used]
        # Projections that differ in nothing used make rows that differ in nothing used.
        ways = list(dict.fromkeys(tuple(p[i] for i in offered) for p in node.projections))
        child = self._input(node.child, [expr for way in ways for expr in way])
        projections = tuple(tuple(self._expr(expr) for expr in way) for way in ways)
        columns = tuple(self._field(node.columns[i]) for i in offered)
        return Expand(0, projections, columns, child)

    def _generate(self, node: Generate) -> Generate:
        used = self._used()
        child = self._input(node.child, [node.generator])
        rest = tuple(f for f in child.columns if f.name == _REST)
        kept = tuple(self._field(f) for f in node.kept if f.id in used)
        made = tuple(self._field(f) for f in node.generated if f.id in used)
        return Generate(0, self._expr(node.generator), node.outer, kept + rest, made, child)

    def _window(self, node: Window) -> Window:
        order = [key.expr for key in node.order]
        exprs = [*node.partition, *order, *(column.expr for column in node.columns)]
        child = self._input(node.child, exprs)
        keys = tuple(replace(key, expr=self._expr(key.expr)) for key in node.order)
        partition = tuple(self._expr(expr) for expr in node.partition)
        return Window(0, partition, keys, tuple(self._named(c) for c in node.columns), child)

    def _present(self) -> tuple[tuple[int, ...], ...]:
        """Return the columns without nulls, as far as they are still there.

        One that stands for others may be null where all of them are.
        """
        known = {**{id: id for id in self.columns}, **self.merged}
        return tuple(
            tuple(sorted({self.columns[known[id]] for id in ids if id in known}))
            for ids in self.obligation.present
        )

    def _keys(self) -> tuple[Keys, ...]:
        """Return the keys, as far as their columns are still there; a wider key is one, too."""
        known = {**{id: id for id in self.columns}, **self.merged}
        return tuple(
            tuple(
                dict.fromkeys(
                    frozenset(self._id(known[id]) for id in key)
                    for key in unique
                    if key <= known.keys()
                )
            )
            for unique in self.obligation.keys
        )

    def _used(self) -> set[int]:
        """Return the columns the predicates mention, as row or as saved row."""
        predicates = (self.obligation.predicate, *self.obligation.pushed)
        kinds = (Column, Anchor) if self.obligation.saved else (Column,)
        return {e.id for p in predicates for e in walk(p) if isinstance(e, kinds)}

    def _input(self, child: Plan, exprs: list[Expr]) -> Values:
        used = self._used() | {e.id for expr in exprs for e in walk(expr) if isinstance(e, Column)}
        fields = output(child)
        mentioned = [self._field(f) for f in fields if f.id in used]
        rest = [Field(self._id(_RESTS - len(self.columns)), _REST, "long")]
        whole = all(f.id in used or f.id in self.merged for f in fields)
        return Values(0, (*mentioned, *([] if whole else rest)))

    def _field(self, field: Field) -> Field:
        return Field(self._id(field.id), "", _kind(field.type))

    def _named(self, column: Named) -> Named:
        return Named(self._id(column.id), "", self._expr(column.expr), _kind(column.type))

    def _expr(self, expr: Expr) -> Expr:
        return rewrite(expr, self._leaf)

    def _leaf(self, expr: Expr) -> Expr | None:
        match expr:
            case Column() | Anchor():
                return type(expr)(self._id(expr.id), _kind(expr.type))
            case Literal():
                return self._literal(expr)
            case IsIn():  # membership in a set is any function of the value
                number = self.sets.setdefault(expr.values, len(self.sets))
                return Call(f"in:{number}", (self._expr(expr.arg),), "boolean")
            case Call() | Unknown() | AggregateCall() | WindowCall():
                return self._function(expr)
            case _:
                return None

    def _function(self, expr: Call | Unknown | AggregateCall | WindowCall) -> Expr:
        # One name over other types is another function; which one it is does not matter.
        identity = (expr.name, expr.type, *(data_type(arg) for arg in expr.args))
        number = self.functions.setdefault(identity, len(self.functions))
        args = tuple(self._expr(arg) for arg in expr.args)
        named = replace(
            expr, name=self._step(expr) or f"f{number}", type=_kind(expr.type), args=args
        )
        if isinstance(named, AggregateCall | WindowCall) and named.filter is not None:
            named = replace(named, filter=self._expr(named.filter))
        return self._window_call(expr.name, named) if isinstance(named, WindowCall) else named

    def _step(self, expr: Expr) -> str:
        """Return the canonical name of the function that steps to the bound of a frame."""
        match expr:
            case Call(called, (value, Literal() as distance)) if distance in self.distances:
                if is_shaded(data_type(value)):
                    return ""  # a sum of floating point numbers is none
                ways = ((True, STEP_UP), (False, STEP_DOWN))
                directions = {step(data_type(value), up): name for up, name in ways}
                return directions.get(called, "")
            case _:
                return ""

    def _window_call(self, name: str, named: WindowCall) -> WindowCall:
        """Return a window call with a frame of which only the signs of its bounds are left."""
        lower, upper = map(self._distance, (named.frame.lower, named.frame.upper))
        kept = name if name in RANKS | SHARES else named.name
        return replace(named, name=kept, frame=Frame(named.frame.unit, lower, upper))

    def _distance(self, bound: Literal | None) -> Literal | None:
        if bound is None or sign(bound) == 0:
            return bound and Literal(0, "long")
        return self._literal(bound)

    def _literal(self, literal: Literal) -> Literal:
        if literal.value is None or isinstance(literal.value, bool):
            return Literal(literal.value, _kind(literal.type))
        number = 1 + len(self.literals)
        if literal in self.distances:
            number *= sign(literal)
        return self.literals.setdefault(literal, Literal(number, _kind(literal.type)))

    def _id(self, id: int) -> int:
        return self.columns.setdefault(id, len(self.columns))


def _distances(node: Plan) -> frozenset[Literal]:
    """Return the bounds of a window's frames: of them, the sign matters as well."""
    calls = [c.expr for c in node.columns] if isinstance(node, Window) else []
    bounds = (
        bound
        for call in calls
        if isinstance(call, WindowCall)
        for bound in (call.frame.lower, call.frame.upper)
    )
    return frozenset(bound for bound in bounds if bound is not None and sign(bound) != 0)


def _kind(type: DataType) -> DataType:
    if type == "boolean":
        return type
    return "double" if is_shaded(type) else "long"
