"""Search and verification (PredTrace 4; MagicPush): the most selective candidate that is proven.

Rules propose, the prover decides. An operator without a rule, or a predicate no candidate of which
can be proven, is refused: its inputs are then taken whole, which never misses a row, and the answer
says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lineage_core.plan.expr import FALSE, TRUE, Expr, FrameUnit, WindowCall, conjuncts
from lineage_core.plan.positions import over_partitions
from lineage_core.plan.present import present
from lineage_core.plan.relation import (
    Aggregate,
    Expand,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Offset,
    Opaque,
    Plan,
    Project,
    Sort,
    Union,
    Window,
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
    push_expand,
    push_filter,
    push_generate,
    push_join,
    push_order,
    push_project,
    push_union,
    push_window,
)

Rule = Callable[[Any, Expr], tuple[tuple[Expr, ...], ...]]

RULES: tuple[tuple[type[Plan], Rule], ...] = (
    (Filter, push_filter),
    (Project, push_project),
    (Join, push_join),
    (Union, push_union),
    (Aggregate, push_aggregate),
    (Expand, push_expand),
    (Generate, push_generate),
    (Window, push_window),
    (Sort, push_order),
    (Limit, push_order),
    (Offset, push_order),
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
    if predicate == FALSE:  # no output row is meant, so none of the input is
        return tuple(Exact(FALSE) for _ in children(node))
    rule = _rule(node)
    if rule is None:
        return tuple(Refused(_why_not(node)) for _ in children(node))
    proposals = rule(node, predicate if row is None else row)
    task = replace(_task(node, predicate), saved=row is not None, premise=premise)
    outcomes = tuple(_choose(task, proposals, i, prove) for i in range(len(proposals)))
    exact = tuple(outcome.predicate for outcome in outcomes if isinstance(outcome, Exact))
    # An offset counts rows that are no lineage of those it hands on: nothing less than all its
    # input gives its output again.
    if len(exact) == len(outcomes) and not isinstance(node, Offset):
        whole = replace(task, pushed=exact, claim=Claim.REPRODUCES)
        if not isinstance(prove(whole), Proved):
            why = f"{place(node)}: the selected rows are not proven to give its output again"
            return tuple(Superset(TRUE, why) for _ in outcomes)
    return outcomes


def reduce(node: Plan, predicate: Expr, prove: Prover) -> tuple[Expr, ...]:
    """Return for each input of `node` which of its rows are enough to compute the rows of its
    output that satisfy `predicate`; TRUE where nothing less than all is proven to be.

    Whether there are such output rows is not assumed, and each input's predicate `G` is proven by
    itself (`Claim.REDUCES`), for whatever rows the inputs have: `F(Op(X, Y)) = F(Op(G(X), Y))`.
    So inputs can be reduced one after the other, `F(Op(X, Y)) = F(Op(G(X), Y)) = F(Op(G(X), H(Y)))`
    by the second claim for the input `G(X)`, and so can inputs of inputs: where `X = Op'(Z)`, what
    `F` needs of `X` is `G(X)`, and `G(Op'(Z)) = G(Op'(K(Z)))`. `F(Op(Op'(Z))) = F(Op(G(Op'(Z))))
    = F(Op(G(Op'(K(Z))))) = F(Op(Op'(K(Z))))`, the last by the claim for `Op` again, now over
    `Op'(K(Z))`: no predicate has to be applied between operators, only to the sources in the end.
    Equality is that of bags (`verify.prove`).
    """
    node = over_partitions(node)
    rule = _rule(node)
    if rule is None:
        return tuple(TRUE for _ in children(node))
    proposals = rule(node, predicate)
    task = replace(_task(node, predicate), claim=Claim.REDUCES, premise=False)
    return tuple(
        next(
            candidate
            for candidate in (*dict.fromkeys(proposals[i]), TRUE)
            if candidate == TRUE or isinstance(prove(_at(task, proposals, i, candidate)), Proved)
        )
        for i in range(len(proposals))
    )


def always_from(node: Plan) -> tuple[bool, ...]:
    """Return for each input whether some row of it is lineage of every output row of `node`.

    Only then, when the output is known to have a row asked for, is the input known to have one.
    """
    match node:
        case Join(kind=kind):
            paired = (JoinKind.INNER, JoinKind.LEFT_SEMI, JoinKind.RIGHT_OUTER)
            return (not kind.keeps_right, kind in paired)
        case Union():
            return tuple(len(node.inputs) == 1 for _ in node.inputs)
        case Aggregate():
            return (bool(node.keys),)
        case _:
            return tuple(not isinstance(node, Opaque) for _ in children(node))


def _rule(node: Plan) -> Rule | None:
    return next((rule for kind, rule in RULES if isinstance(node, kind)), None)


def _task(node: Plan, predicate: Expr) -> Obligation:
    inputs = children(node)
    unique = tuple(map(keys, inputs))
    filled = tuple(tuple(sorted(present(child))) for child in inputs)
    return Obligation(node, predicate, (), 0, Claim.COVERS, keys=unique, present=filled)


def _at(
    task: Obligation, proposals: tuple[tuple[Expr, ...], ...], position: int, candidate: Expr
) -> Obligation:
    """Return the claim about one input, with the others taken whole."""
    pushed = tuple(candidate if i == position else TRUE for i in range(len(proposals)))
    return replace(task, pushed=pushed, input=position)


def _choose(
    task: Obligation, proposals: tuple[tuple[Expr, ...], ...], position: int, prove: Prover
) -> Outcome:
    covering: list[Expr] = []
    for candidate in dict.fromkeys(proposals[position]):
        covers = _at(task, proposals, position, candidate)
        if not isinstance(prove(covers), Proved):
            continue
        if isinstance(prove(replace(covers, claim=Claim.PRECISE)), Proved):
            return Exact(candidate)
        covering.append(candidate)
    where = f"{place(task.operator)}{_input_name(task.operator, position)}"
    if not covering:
        return Refused(f"{where}: no predicate on its input is proven to keep all lineage rows")
    # Of the predicates that keep them all, the one that says most.
    closest = max(covering, key=lambda candidate: len(conjuncts(candidate)))
    return Superset(closest, f"{where}: {_blur(task.operator)}")


def _input_name(node: Plan, position: int) -> str:
    if isinstance(node, Join):
        return f" ({('left', 'right')[position]} input)"
    return f" (input {position + 1})" if len(children(node)) > 1 else ""


def _blur(node: Plan) -> str:
    if isinstance(node, Window) and any(_counts_rows(column.expr) for column in node.columns):
        return (
            "its frame counts rows (ROWS), and the output row does not tell their order: "
            "ties in it, and where the frame ends"
        )
    return "the output row does not tell its input rows apart from others"


def _counts_rows(call: Expr) -> bool:
    return isinstance(call, WindowCall) and call.frame.unit is FrameUnit.ROWS


def _why_not(node: Plan) -> str:
    return (
        f"{place(node)}: {node.why}" if isinstance(node, Opaque) else f"{place(node)} has no rule"
    )
