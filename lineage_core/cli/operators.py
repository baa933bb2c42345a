"""The operators of a plan in words: a label for each, and what it does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from lineage_core.cli.expressions import describe, identifier
from lineage_core.datasets import display
from lineage_core.plan.expr import TRUE, Column, Expr
from lineage_core.plan.relation import (
    Aggregate,
    Expand,
    Field,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Named,
    Offset,
    Opaque,
    Plan,
    Project,
    Scan,
    Sort,
    SortKey,
    Union,
    Values,
    Window,
    children,
    is_rid,
    output,
    rid_field,
)
from lineage_core.plan.traverse import nodes

_FEW = 8
"""Columns that are listed where they are only handed on."""

_JOINS = {
    JoinKind.INNER: "inner",
    JoinKind.LEFT_OUTER: "left outer",
    JoinKind.RIGHT_OUTER: "right outer",
    JoinKind.FULL_OUTER: "full outer",
    JoinKind.LEFT_SEMI: "semi",
    JoinKind.LEFT_ANTI: "anti",
    JoinKind.EXISTENCE: "existence",
}


@dataclass(frozen=True, slots=True)
class Labels:
    """How the operators of a plan are called, by place, and columns whose name is not enough.

    Attributes:
        operators: `join4` for the join at place 4.
        makers: by column id, the label of the operator that makes the column.
        columns: by id, the name it gives the column.
        rids: by id of a rid column, what it is in words.
    """

    operators: Mapping[int, str]
    makers: Mapping[int, str]
    columns: Mapping[int, str]
    rids: Mapping[int, str]

    def name(self, fields: Sequence[Field]) -> dict[int, str]:
        """Return by id how columns that are seen together are written."""
        # A grouping column that a query did not select has no name where it is kept for lineage.
        names = {f.id: f.name or self.columns.get(f.id, "") for f in fields}
        times = Counter(names.values())
        found = {}
        for id, plain in names.items():
            name = identifier(plain)
            if times[plain] > 1 and id in self.makers:
                name = f"{self.makers[id]}.{name}"
            found[id] = self.rids.get(id, "(row id)") if is_rid(id) else name
        return found


def labels(plan: Plan) -> Labels:
    """Return how the operators and columns of `plan` are called."""
    operators = {node.at: f"{type(node).__name__.lower()}{node.at}" for node in nodes(plan)}
    makers: dict[int, str] = {}
    columns: dict[int, str] = {}
    for node in nodes(plan):
        for column in _made(node):
            makers[column.id], columns[column.id] = operators[node.at], column.name
    scans = [node for node in nodes(plan) if isinstance(node, Scan)]
    times = Counter(short(scan.name) for scan in scans)
    rids = {}
    for scan in scans:
        name = short(scan.name)
        called = operators[scan.at] if times[name] > 1 else identifier(name)
        rids[rid_field(scan).id] = f"(row id of {called})"
    return Labels(operators, makers, columns, rids)


def short(dataset: str) -> str:
    """Return the last part of a dataset's name, without the extension of a file.

    >>> short("file:///data/my%20orders.parquet")
    'my orders'
    """
    path = PurePosixPath(display(dataset))
    return path.stem or path.name or str(path)


def does(node: Plan, called: Labels) -> str:
    """Return what an operator does."""
    fields = [field for child in children(node) for field in output(child)]
    row = called.name(fields)
    match node:
        case Scan():
            return f"reads {display(node.name)}"
        case Values():
            return f"rows of no dataset: {_listed(f.name for f in node.columns)}"
        case Filter():
            return f"where {_text(node.condition, row)}"
        case Project():
            return _computed(node.columns, fields, row)
        case Join():
            return _join(node, row)
        case Union():
            return f"all rows of {len(node.inputs)} inputs"
        case Aggregate():
            return _aggregate(node, row)
        case Opaque():
            return f"{node.name}: {node.why}"
        case _:
            return _does_more(node, row)


def _does_more(
    node: Expand | Generate | Window | Sort | Limit | Offset, row: Mapping[int, str]
) -> str:
    match node:
        case Expand():
            return _expand(node, row)
        case Generate():
            made = _listed(f.name for f in node.generated)
            kept = ", rows without any too" if node.outer else ""
            return f"each row with every row of {_text(node.generator, row)} as {made}{kept}"
        case Window():
            return _window(node, row)
        case Sort():
            within = "" if node.everywhere else " within partitions"
            return f"by {_order(node.keys, row)}{within}"
        case Limit():
            return f"at most {node.count} rows"
        case Offset():
            return f"without the first {node.count} rows"


def _made(node: Plan) -> Iterable[Field | Named]:
    """Return the columns that are not handed on by `node` but begin there."""
    match node:
        case Scan() | Values() | Opaque() | Union():
            return node.columns
        case Expand() | Project() | Aggregate() | Window():
            kept = {f.id for f in output(node.child)}
            return (c for c in node.columns if c.id not in kept)
        case Generate():
            return node.generated
        case Join() if node.exists is not None:
            return (node.exists,)
        case _:
            return ()


def _join(node: Join, row: Mapping[int, str]) -> str:
    adds = "" if node.exists is None else f"; adds {identifier(node.exists.name)}"
    if node.condition == TRUE:
        kind = "cross" if node.kind is JoinKind.INNER else _JOINS[node.kind]
        return f"{kind}, every pair of rows{adds}"
    return f"{_JOINS[node.kind]} on {_text(node.condition, row)}{adds}"


def _aggregate(node: Aggregate, row: Mapping[int, str]) -> str:
    made = [_named(c, row) for c in node.columns if c.expr not in node.keys]
    keys = ", ".join(_text(key, row) for key in node.keys)
    if not made:
        return f"distinct {keys}" if keys else "one row"
    groups = f"group by {keys}" if keys else "all rows as one group"
    return f"{groups}: {', '.join(made)}"


def _computed(columns: Sequence[Named], fields: Sequence[Field], row: Mapping[int, str]) -> str:
    names = {f.id: f.name for f in fields}
    kept = [c for c in columns if isinstance(c.expr, Column) and c.name == names.get(c.expr.id)]
    made = [_named(c, row) for c in columns if c not in kept]
    if kept:
        listed = _listed(c.name for c in kept) if len(kept) <= _FEW else f"{len(kept)} columns"
        made.append(f"keeps {listed}")
    return "; ".join(made) or "no column"


def _expand(node: Expand, row: Mapping[int, str]) -> str:
    differ = [i for i in range(len(node.columns)) if len({p[i] for p in node.projections}) > 1]
    texts = (", ".join(_text(p[i], row) for i in differ) for p in node.projections)
    names = _listed(node.columns[i].name for i in differ)
    values = ", ".join(f"({text})" for text in texts)
    return f"each row {len(node.projections)} times, with {names} as {values}"


def _window(node: Window, row: Mapping[int, str]) -> str:
    made = ", ".join(_named(column, row) for column in node.columns)
    keys = ", ".join(_text(key, row) for key in node.partition)
    over = f"partition by {keys}" if keys else "all rows as one partition"
    order = f", order by {_order(node.order, row)}" if node.order else ""
    return f"{over}{order}: {made}"


def _order(keys: Sequence[SortKey], row: Mapping[int, str]) -> str:
    return ", ".join(_key(key, row) for key in keys)


def _key(key: SortKey, row: Mapping[int, str]) -> str:
    text = _text(key.expr, row) + ("" if key.ascending else " DESC")
    if key.nulls_first == key.ascending:  # as it is when a query does not say
        return text
    return f"{text} NULLS {'FIRST' if key.nulls_first else 'LAST'}"


def _named(column: Named, row: Mapping[int, str]) -> str:
    return f"{identifier(column.name)} = {_text(column.expr, row)}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(identifier, names))


def _text(expr: Expr, row: Mapping[int, str]) -> str:
    return describe(expr, row, {})
