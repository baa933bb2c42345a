"""Decides obligations: asks z3 for a table on which a claim about a pushdown fails (PredTrace 4.2,
DESIGN 4.4).

No such bounded table means that there is none of any size (`operators` has the argument). The
answer is `Proved` only on *unsat*; running out of the resource limit is `Undecided`, which nobody
takes for a proof. Limits count solver steps, not seconds, so a verdict is the same on every
machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from threading import Lock

import z3

from lineage_core.plan.expr import Anchor, Expr
from lineage_core.plan.relation import children, output
from lineage_core.plan.traverse import walk
from lineage_core.pushdown.obligation import (
    Claim,
    Obligation,
    Proved,
    Refuted,
    Undecided,
    Verdict,
)
from lineage_core.verify.memory import RESOURCE_LIMIT
from lineage_core.verify.operators import apply, sizes
from lineage_core.verify.symbols import Cell, Row, Symbols, same
from lineage_core.verify.tables import Output, identical_rows
from lineage_core.verify.terms import TRUE, Term, all_of, any_of, equal, negation

RESOURCES = 20_000_000

_LIMIT_REACHED = ("canceled", "max. resource limit exceeded")  # how z3 says so; depends on where

_lock = Lock()  # z3's default context is not thread-safe


def decide(obligation: Obligation, extra: int) -> Verdict:
    """Answer whether the claim of a canonical obligation (see `shape`) holds.

    Args:
        obligation: what is claimed.
        extra: rows to have in each table beyond those that are enough (`operators.sizes`).

    Raises:
        KeyboardInterrupt: as ever; z3 takes the signal for itself and gives up.
    """
    with _lock:
        setting = _Setting(obligation, extra)
        solver = z3.SimpleSolver()  # asked once: no tactic pays for its preparations
        solver.set("rlimit", RESOURCES)
        solver.add(setting.premise(), *setting.keys(), setting.violation())
        match solver.check():
            case z3.unsat:
                return Proved()
            case z3.sat:
                return Refuted(setting.describe(solver.model()))
            case _:
                return _given_up(solver.reason_unknown())


def _given_up(reason: str) -> Undecided:
    """Return the verdict for the reason z3 gives for not knowing."""
    if reason.startswith("interrupted"):
        raise KeyboardInterrupt
    return Undecided(RESOURCE_LIMIT if reason in _LIMIT_REACHED else reason)


class _Setting:
    """The symbolic tables of one proof, with the operator applied to them."""

    def __init__(self, obligation: Obligation, extra: int) -> None:
        self.obligation = obligation
        self.symbols = Symbols()
        self.anchor = self._anchor()
        rows = sizes(obligation.operator, obligation.claim, obligation.input)
        self.inputs = [
            tuple(
                self.symbols.row(f"t{t}.r{r}", r, [(f.id, f.type) for f in output(child)])
                for r in range(rows[t] + extra)
            )
            for t, child in enumerate(children(obligation.operator))
        ]
        self.outputs = apply(obligation.operator, self.inputs, self.symbols)
        # Each term is made once: making them takes longer than solving.
        self.wanted = [self._wanted(out) for out in self.outputs]
        self.selected = [self._selected(i) for i in range(len(self.inputs))]

    def premise(self) -> Term:
        """Some output row satisfies the predicate: the row a question is about exists."""
        return any_of(*self.wanted) if self.obligation.premise else TRUE

    def keys(self) -> Iterator[Term]:
        """No two rows of an input agree on a key of it; what is always present is not null."""
        for table, ids in zip(self.inputs, self.obligation.present, strict=False):
            # Abstraction may have put another input in place of one whose rows play no part.
            known = [id for id in ids if id in table[0].cells]
            yield from (negation(row.cells[id].null) for row in table for id in known)
        for table, unique in zip(self.inputs, self.obligation.keys, strict=False):
            for key in (key for key in unique if key <= table[0].cells.keys()):
                for a, b in combinations(table, 2):
                    agree = [same(a.cells[id], b.cells[id]) for id in sorted(key)]
                    yield negation(all_of(a.exists, b.exists, *agree))

    def violation(self) -> Term:
        """The claim fails somewhere in these tables."""
        match self.obligation.claim:
            case Claim.COVERS:
                return any_of(*self._missed())
            case Claim.PRECISE:
                return any_of(*self._superfluous())
            case Claim.REPRODUCES:
                return any_of(*self._lost())
            case Claim.REDUCES:
                return any_of(*self._changed())

    def _missed(self) -> Iterator[Term]:
        input = self.obligation.input
        for out, wanted in zip(self.outputs, self.wanted, strict=True):
            pairs = zip(out.contributes[input], self.selected[input], strict=True)
            missed = [all_of(contributes, negation(selected)) for contributes, selected in pairs]
            yield all_of(wanted, any_of(*missed))

    def _superfluous(self) -> Iterator[Term]:
        input = self.obligation.input
        pairs = zip(self.inputs[input], self.selected[input], strict=True)
        for i, (row, selected) in enumerate(pairs):
            outputs = zip(self.outputs, self.wanted, strict=True)
            contributed = [all_of(wanted, out.contributes[input][i]) for out, wanted in outputs]
            yield all_of(row.exists, selected, negation(any_of(*contributed)))

    def _lost(self) -> Iterator[Term]:
        """A wanted row is not there again, in its place (`operators.apply`)."""
        for out, wanted, again in self._compared():
            there = all_of(again.row.exists, identical_rows(out.row, again.row))
            yield all_of(wanted, negation(there))

    def _changed(self) -> Iterator[Term]:
        """In some place the wanted rows of all inputs and of the selected rows differ."""
        for out, wanted, again in self._compared():
            yield negation(equal(wanted, self._wanted(again)))
            yield all_of(wanted, negation(identical_rows(out.row, again.row)))

    def _compared(self) -> Iterator[tuple[Output, Term, Output]]:
        return zip(self.outputs, self.wanted, self._over_selected(), strict=True)

    def _over_selected(self) -> tuple[Output, ...]:
        """Return the output over the selected rows alone."""
        restricted = [
            tuple(
                Row(all_of(row.exists, chosen), row.cells, row.number)
                for row, chosen in zip(table, selected, strict=True)
            )
            for table, selected in zip(self.inputs, self.selected, strict=True)
        ]
        return apply(self.obligation.operator, restricted, self.symbols)

    def _wanted(self, out: Output) -> Term:
        holds = self.symbols.holds(self.obligation.predicate, out.row, self.anchor)
        return all_of(out.row.exists, holds)

    def _selected(self, input: int) -> tuple[Term, ...]:
        """Return which rows of an input the pushed predicate selects."""
        pushed, table = self.obligation.pushed[input], self.inputs[input]
        if not self.obligation.saved:
            return tuple(self.symbols.holds(pushed, row, self.anchor) for row in table)
        return tuple(
            any_of(
                *(
                    all_of(wanted, self.symbols.holds(pushed, row, out.row.cells))
                    for out, wanted in zip(self.outputs, self.wanted, strict=True)
                )
            )
            for row in table
        )

    def _anchor(self) -> Mapping[int, Cell]:
        predicates: Sequence[Expr] = (self.obligation.predicate,)
        if not self.obligation.saved:
            predicates = (*predicates, *self.obligation.pushed)
        found = {e.id: e.type for p in predicates for e in walk(p) if isinstance(e, Anchor)}
        return {id: self.symbols.cell(f"a.c{id}", kind) for id, kind in found.items()}

    def describe(self, model: Term) -> str:
        """Return the tables of a counterexample; values are made up by the solver."""
        lines = []
        for t, table in enumerate(self.inputs):
            present = [row for row in table if z3.is_true(model.eval(row.exists, True))]
            rows = ", ".join(_cells(row.cells, model) for row in present)
            lines.append(f"input {t}: {rows or 'empty'}")
        return "; ".join([*lines, f"anchor: {_cells(self.anchor, model)}"])


def _cells(cells: Mapping[int, Cell], model: Term) -> str:
    def text(cell: Cell) -> str:
        null = z3.is_true(model.eval(cell.null, True))
        return "null" if null else str(model.eval(cell.value, True))

    return "(" + ", ".join(f"c{id}={text(cell)}" for id, cell in sorted(cells.items())) + ")"
