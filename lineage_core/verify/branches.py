"""Abstraction of unions: a claim about one input does not need all the others.

Each output row of a union is a row of one input. What goes wrong with it goes wrong in a union of
that input alone; or, where other output rows matter, since they are known to exist (`premise`) or
select what they were made from (`saved`), of that input and one other that has any row whatever.
Hundreds of inputs are thus no more work each than two.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from lineage_core.plan.expr import TRUE, Column, Expr
from lineage_core.plan.relation import Field, Union, Values, output
from lineage_core.plan.traverse import rewrite
from lineage_core.pushdown.obligation import Claim, Obligation

_OTHERS = -(1 << 61)  # ids that no column of a plan has


def one_branch(obligation: Obligation, node: Union) -> Obligation:
    """Return an obligation on a union of few inputs that implies the given one, on `node`."""
    if obligation.claim is Claim.REPRODUCES:
        return _restricted(obligation, node, _unlike(obligation, node))
    alone = _restricted(obligation, node, [obligation.input])
    premise = obligation.premise and obligation.claim is Claim.PRECISE
    if not obligation.saved and not premise:
        return replace(alone, premise=False)
    # An arbitrary row stands for a row of any other input, whichever of the columns that has.
    rest = [taken for i, taken in enumerate(node.taken) if i != obligation.input]
    fields = tuple(Field(_OTHERS - i, "", f.type) for i, f in enumerate(node.columns))
    has = tuple(
        None if all(taken[i] is None for taken in rest) else field.id
        for i, field in enumerate(fields)
    )
    own, taken = node.inputs[obligation.input], node.taken[obligation.input]
    both = replace(node, inputs=(own, Values(0, fields)), taken=(taken, has))
    keys = (*alone.keys, ()) if alone.keys else ()
    return replace(alone, operator=both, pushed=(*alone.pushed, TRUE), keys=keys)


def _restricted(obligation: Obligation, node: Union, kept: Sequence[int]) -> Obligation:
    """Return the obligation with the `kept` inputs only, the one it is about among them."""
    inputs = tuple(node.inputs[i] for i in kept)
    taken = tuple(node.taken[i] for i in kept)
    about = kept.index(obligation.input) if obligation.input in kept else 0
    return replace(
        obligation,
        operator=replace(node, inputs=inputs, taken=taken),
        pushed=tuple(obligation.pushed[i] for i in kept),
        input=about,
        keys=tuple(obligation.keys[i] for i in kept) if obligation.keys else (),
        present=tuple(obligation.present[i] for i in kept) if obligation.present else (),
    )


def _unlike(obligation: Obligation, node: Union) -> list[int]:
    """Return one of each kind of input: those of a kind differ in nothing but column ids."""
    kinds: dict[Hashable, int] = {}
    for number, (child, taken) in enumerate(zip(node.inputs, node.taken, strict=True)):
        fields = output(child)
        position = {field.id: i for i, field in enumerate(fields)}
        unique = obligation.keys[number] if obligation.keys else ()
        filled = obligation.present[number] if obligation.present else ()
        kind = (
            tuple(field.type for field in fields),
            tuple(None if id is None else position[id] for id in taken),
            _placed(obligation.pushed[number], position),
            frozenset(frozenset(position[id] for id in key) for key in unique),
            frozenset(position[id] for id in filled),
        )
        kinds.setdefault(kind, number)
    return list(kinds.values())


def _placed(predicate: Expr, position: dict[int, int]) -> Expr:
    def placed(expr: Expr) -> Expr | None:
        return Column(position[expr.id], expr.type) if isinstance(expr, Column) else None

    return rewrite(predicate, placed)
