"""The prover: asks z3 for a table on which a claim about a pushdown fails (PredTrace 4.2, DESIGN
4.4).

No such bounded table means that there is none of any size (`operators` has the argument). The
answer is `Proved` only on *unsat*; running out of the resource limit is `Undecided`, which nobody
takes for a proof. Limits count solver steps, not seconds, so a verdict is the same on every
machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
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
from lineage_core.verify.operators import Output, Table, apply, identical_rows
from lineage_core.verify.shape import shape
from lineage_core.verify.symbols import Cell, Row, Symbols, Term

ROWS = 2
RESOURCES = 20_000_000

_lock = Lock()  # z3's default context is not thread-safe


def prove(obligation: Obligation, *, rows: int = ROWS) -> Verdict:
    """Answer whether the claim of `obligation` holds, for tables of any size.

    Verdicts are remembered by the obligation's shape.
    """
    return _prove(shape(obligation), rows)


@lru_cache(maxsize=8192)
def _prove(obligation: Obligation, rows: int) -> Verdict:
    with _lock:
        setting = _Setting(obligation, rows)
        solver = z3.Solver()
        solver.set("rlimit", RESOURCES)
        solver.add(setting.premise(), setting.violation())
        match solver.check():
            case z3.unsat:
                return Proved()
            case z3.sat:
                return Refuted(setting.describe(solver.model()))
            case _:
                return Undecided(solver.reason_unknown())


class _Setting:
    """The symbolic tables of one proof, with the operator applied to them."""

    def __init__(self, obligation: Obligation, rows: int) -> None:
        self.obligation = obligation
        self.symbols = Symbols()
        self.anchor = self._anchor()
        self.inputs = [
            tuple(
                self.symbols.row(f"t{t}.r{r}", r, [(f.id, f.type) for f in output(child)])
                for r in range(rows)
            )
            for t, child in enumerate(children(obligation.operator))
        ]
        self.outputs = apply(obligation.operator, self.inputs, self.symbols)

    def premise(self) -> Term:
        """Some output row satisfies the predicate: the row a question is about exists."""
        return z3.Or([self._wanted(out) for out in self.outputs])

    def violation(self) -> Term:
        match self.obligation.claim:
            case Claim.COVERS:
                return z3.Or(
                    [
                        z3.And(self._wanted(out), contributes, z3.Not(selected))
                        for out in self.outputs
                        for contributes, selected in zip(
                            out.contributes[self.obligation.input],
                            self._selected(self.obligation.input),
                            strict=True,
                        )
                    ]
                )
            case Claim.PRECISE:
                return z3.Or(
                    [
                        z3.And(row.exists, selected, z3.Not(self._contributed(i)))
                        for i, (row, selected) in enumerate(
                            zip(
                                self.inputs[self.obligation.input],
                                self._selected(self.obligation.input),
                                strict=True,
                            )
                        )
                    ]
                )
            case Claim.REPRODUCES:
                again = apply(self.obligation.operator, self._restricted(), self.symbols)
                return z3.Or(
                    [
                        z3.And(
                            self._wanted(out),
                            *(
                                z3.Not(z3.And(o.row.exists, identical_rows(out.row, o.row)))
                                for o in again
                            ),
                        )
                        for out in self.outputs
                    ]
                )

    def _wanted(self, out: Output) -> Term:
        holds = self.symbols.holds(self.obligation.predicate, out.row, self.anchor)
        return z3.And(out.row.exists, holds)

    def _contributed(self, position: int) -> Term:
        parts = [
            z3.And(self._wanted(out), out.contributes[self.obligation.input][position])
            for out in self.outputs
        ]
        return z3.Or(parts)

    def _selected(self, input: int) -> tuple[Term, ...]:
        """Return which rows of an input the pushed predicate selects."""
        pushed, table = self.obligation.pushed[input], self.inputs[input]
        if not self.obligation.saved:
            return tuple(self.symbols.holds(pushed, row, self.anchor) for row in table)
        return tuple(
            z3.Or(
                [
                    z3.And(self._wanted(out), self.symbols.holds(pushed, row, out.row.cells))
                    for out in self.outputs
                ]
            )
            for row in table
        )

    def _restricted(self) -> list[Table]:
        return [
            tuple(
                Row(z3.And(row.exists, selected), row.cells, row.number)
                for row, selected in zip(table, self._selected(i), strict=True)
            )
            for i, table in enumerate(self.inputs)
        ]

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
