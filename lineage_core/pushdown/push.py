"""Search and verification (PredTrace 4; MagicPush): the most selective candidate that is proven.

Rules propose, the prover decides. An operator without a rule, or a predicate no candidate of which
can be proven, is refused: its inputs are then taken whole, which never misses a row, and the answer
says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lineage_core.plan.expr import TRUE, Expr
from lineage_core.plan.relation import (
    Aggregate,
    Filter,
    Join,
    Limit,
    Opaque,
    Plan,
    Project,
    Sort,
    children,
    place,
)
from lineage_core.plan.unique import keys
from lineage_core.pushdown.obligation import (
    Claim,
    Exact,
    Obligation,
    Outcome,
    Proved,
    Prover,
    Refused,
    Superset,
)
from lineage_core.pushdown.rules import (
    push_aggregate,
    push_filter,
    push_join,
    push_order,
    push_project,
)

Rule = Callable[[Any, Expr], tuple[tuple[Expr, ...], ...]]

RULES: tuple[tuple[type[Plan], Rule], ...] = (
    (Filter, push_filter),
    (Project, push_project),
    (Join, push_join),
    (Aggregate, push_aggregate),
    (Sort, push_order),
    (Limit, push_order),
)


def push(
    node: Plan, predicate: Expr, prove: Prover, *, row: Expr | None = None, premise: bool = True
) -> tuple[Outcome, ...]:
    """Push a predicate on the output of `node` to each of its inputs.

    Args:
        node: the operator.
        predicate: `F(o, a)` on its output.
        prove: answers obligations.
        row: given when the output is saved: the row-selection predicate on it, whose anchor is the
            saved row. It is what goes down, on behalf of the rows that satisfy `predicate`.
        premise: whether some output row is known to satisfy `predicate`.

    Returns:
        One outcome per input. All are `Exact` only if together they also reproduce the output rows.
    """
    rule = next((rule for kind, rule in RULES if isinstance(node, kind)), None)
    if rule is None:
        return tuple(Refused(_why_not(node)) for _ in children(node))
    proposals = rule(node, predicate if row is None else row)
    unique = tuple(keys(child) for child in children(node))
    task = Obligation(node, predicate, (), 0, Claim.COVERS, row is not None, premise, unique)
    outcomes = tuple(_choose(task, proposals, i, prove) for i in range(len(proposals)))
    exact = tuple(outcome.predicate for outcome in outcomes if isinstance(outcome, Exact))
    if len(exact) == len(outcomes):
        whole = replace(task, pushed=exact, claim=Claim.REPRODUCES)
        if not isinstance(prove(whole), Proved):
            why = f"{place(node)}: the selected rows are not proven to give its output again"
            return tuple(Superset(TRUE, why) for _ in outcomes)
    return outcomes


def _choose(
    task: Obligation, proposals: tuple[tuple[Expr, ...], ...], position: int, prove: Prover
) -> Outcome:
    covering: Expr | None = None
    for candidate in dict.fromkeys(proposals[position]):
        pushed = tuple(candidate if i == position else TRUE for i in range(len(proposals)))
        covers = replace(task, pushed=pushed, input=position, claim=Claim.COVERS)
        if not isinstance(prove(covers), Proved):
            continue
        if isinstance(prove(replace(covers, claim=Claim.PRECISE)), Proved):
            return Exact(candidate)
        covering = candidate if covering is None else covering
    side = f" ({('left', 'right')[position]} input)" if len(proposals) > 1 else ""
    where = f"{place(task.operator)}{side}"
    if covering is None:
        return Refused(f"{where}: no predicate on its input is proven to keep all lineage rows")
    return Superset(
        covering, f"{where}: the output row does not tell its input rows apart from others"
    )


def _why_not(node: Plan) -> str:
    return (
        f"{place(node)}: {node.why}" if isinstance(node, Opaque) else f"{place(node)} has no rule"
    )
