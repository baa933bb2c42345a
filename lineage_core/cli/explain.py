"""A lineage program explained over its plan: as a tree for people, as a document for programs.

The tree is the plan, with what the program says of an operator beside it: of a source, which of its
rows are meant; of an intermediate, how it is had and why there. Rows of an anchor step are called
by the name of the output, or by the label of the operator whose rows the step holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lineage_core.cli.expressions import describe, identifier
from lineage_core.cli.operators import Labels, does, labels, short
from lineage_core.cli.report import Report, table
from lineage_core.cli.trees import Forest, Line, grow
from lineage_core.datasets import display
from lineage_core.plan.expr import Anchor, Column, Compare, Comparison, Expr, Literal
from lineage_core.plan.positions import numbered
from lineage_core.plan.program import Alternative, LineageProgram, Placement, Step, StepKind
from lineage_core.plan.relation import Field, Plan, Scan, Window, children, is_rid, place
from lineage_core.plan.traverse import nodes
from lineage_core.plan.uses import Role, column_roles

if TYPE_CHECKING:
    import pyarrow as pa

    from lineage_core.infer.links import Link
    from lineage_core.store.manifest import Artifact

Note = tuple[str, str]
"""A word for what is said, and the text."""

_NULL_SAFE = "x <=> y: both are equal, or both are null."

_COLUMNS = {
    "step": "int64",
    "kind": "string",
    "name": "string",
    "anchor": "int64",
    "rows": "string",
    "precision": "string",
    "reason": "string",
}


@dataclass(frozen=True, slots=True)
class Explained:
    """What is explained.

    Attributes:
        plan: the plan that wrote the output.
        program: a lineage program of it.
        strategy: the one that evaluates this program.
        links: by which its sources cut each other down.
        artifacts: the intermediates that were saved.
        run: id of the run; empty for a query that was not run.
    """

    plan: Plan
    program: LineageProgram
    strategy: str
    links: tuple[Link, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    run: str = ""

    @property
    def shown(self) -> Plan:
        """The plan that the program's steps refer to."""
        return numbered(self.plan, self.program.numbered)


def explained(subject: Explained) -> Report:
    """Return the report of what is explained."""
    telling = _Telling.of(subject)
    lines = {node.at: telling.line(node) for node in nodes(subject.shown)}
    how = f"{_precision(telling.steps)}, strategy {subject.strategy}"
    top, *aside = grow(subject.shown, lambda node: lines[node.at])
    output = Line("output", f"{telling.dataset}, of which rows are asked about")
    top = replace(top, lines=(output, *top.lines))
    tree = Forest(f"How rows of {telling.dataset} are traced: {how}", (top, *aside))
    texts = (text for line in lines.values() for _, text in (("", line.text), *line.notes))
    notes = (_NULL_SAFE,) if any("<=>" in text for text in texts) else ()
    return Report((), lambda: document(subject), _flat(telling), notes, (tree,))


def document(subject: Explained) -> Mapping[str, Any]:
    """Return the JSON document; `docs/explain.md` says what it holds."""
    telling = _Telling.of(subject)
    return {
        "dataset": telling.dataset,
        "run": subject.run or None,
        "strategy": subject.strategy,
        "precision": _precision(telling.steps),
        "operators": [telling.operator(node) for node in nodes(subject.shown)],
        "steps": [telling.step(number) for number in range(len(telling.steps))],
        "assumed": list(subject.program.assumed),
        "links": [telling.link(link) for link in subject.links],
    }


@dataclass(frozen=True, slots=True)
class _Telling:
    """What is known about a program, by what it is asked for.

    Attributes:
        names: by step, how its rows are called.
        at: by place, the numbers of the steps there.
        saved: by step, the intermediate that was saved.
        placed: by step, why it is had where it is.
        reduced: by place of a scan, the computed steps that read less of it, with what they read.
        roles: by place of a scan, its columns and how they are used.
        scans: the scans, by place.
    """

    subject: Explained
    called: Labels
    names: tuple[str, ...]
    at: Mapping[int, list[int]]
    saved: Mapping[int, Artifact]
    placed: Mapping[int, Placement]
    reduced: Mapping[int, list[tuple[int, Expr]]]
    roles: Mapping[int, Mapping[str, frozenset[Role]]]
    scans: Mapping[int, Scan]

    @classmethod
    def of(cls, subject: Explained) -> _Telling:
        program = subject.program
        called = labels(subject.shown)
        at: dict[int, list[int]] = defaultdict(list)
        reduced: dict[int, list[tuple[int, Expr]]] = defaultdict(list)
        for number, step in enumerate(program.steps[1:], start=1):
            at[step.at].append(number)
            for scan, predicate in step.reduced:
                reduced[scan].append((number, predicate))
        target = identifier(short(program.target.name))
        if target in called.operators.values():
            target = f"output.{target}"
        return cls(
            subject,
            called,
            (target, *(called.operators.get(s.at, s.name) for s in program.steps[1:])),
            at,
            {artifact.step: artifact for artifact in subject.artifacts},
            {placement.step: placement for placement in program.placements},
            reduced,
            column_roles(subject.plan),
            {node.at: node for node in nodes(subject.shown) if isinstance(node, Scan)},
        )

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.subject.program.steps

    @property
    def dataset(self) -> str:
        return display(self.steps[0].name)

    def line(self, node: Plan) -> Line:
        notes = [note for number in self.at.get(node.at, ()) for note in self.notes(number)]
        if node.at in self.subject.program.assumed:
            where = "in its order" if isinstance(node, Window) else "at its boundary"
            notes.append(("assumed", f"no rows tie {where}; the data is asked before"))
        if isinstance(node, Scan):
            notes.extend(self.of_scan(node))
        return Line(self.called.operators[node.at], does(node, self.called), tuple(notes))

    def notes(self, number: int) -> Iterator[Note]:
        """Yield what is said of a step at its operator."""
        step = self.steps[number]
        if step.kind is StepKind.SOURCE:
            yield "lineage", self.rows(number)
            for why in step.superset:
                yield "superset", why
            for link in self.subject.links:
                if link.step == number:
                    yield "linked", self.linked(link)
            return
        yield step.kind.value.upper(), self.had(number)
        yield "needed", self.needed(number)
        yield "lineage", self.rows(number)
        placed = self.placed.get(number)
        if placed and (step.kind is StepKind.SAVED or len(placed.alternatives) > 1):
            for alternative in placed.alternatives:
                yield "weighed", self.weighed(alternative)

    def of_scan(self, scan: Scan) -> Iterator[Note]:
        for number, predicate in self.reduced.get(scan.at, ()):
            text = self.where(predicate, number, scan.columns)
            yield "read", f"for {self.names[number]} only {text}"
        used = (f"{identifier(name)} ({', '.join(r)})" for name, r in self.uses(scan).items())
        if text := ", ".join(used):
            yield "columns", text

    def had(self, number: int) -> str:
        step = self.steps[number]
        columns = ", ".join(self.called.name(step.columns).values()) or "none"
        if step.kind is StepKind.COMPUTED:
            return f"again when asked for, nothing is saved; columns {columns}"
        if number not in self.saved:
            return f"but the run holds no file of it; columns {columns}"
        artifact = self.saved[number]
        size = _size(sum(file.size for file in artifact.snapshot.files))
        when = "in the job" if artifact.how.value == "inject" else "after the job"
        return f"{artifact.rows} rows, {size}, {when} ({artifact.how.value}); columns {columns}"

    def needed(self, number: int) -> str:
        at = self.steps[number].at
        label = self.names[number]
        if number in self.placed:
            needed = self.placed[number].needed
            places = {place(node): node.at for node in nodes(self.subject.shown)}
            label = self.called.operators.get(places.get(needed, at), needed)
        which = "its" if label == self.names[number] else f"{label}'s"
        return f"{which} output does not tell its input rows apart"

    def weighed(self, alternative: Alternative) -> str:
        label = self.called.operators.get(alternative.at, alternative.name)
        size = ""
        if alternative.way is StepKind.SAVED:
            known = alternative.bytes >= 0
            source = f" ({alternative.origin})" if alternative.origin else ""
            size = f", about {_size(alternative.bytes)}{source}" if known else ", of unknown size"
        return f"{label} {alternative.way.value}{size}: {alternative.verdict}"

    def linked(self, link: Link) -> str:
        mine = self.called.name(self.steps[link.step].columns)
        other = self.names[link.other]
        theirs = self.called.name(self.steps[link.other].columns)
        names = {**mine, **{id: f"{other}.{name}" for id, name in theirs.items()}}
        where = describe(link.condition, names, {})
        return f"only {'without a' if link.excludes else 'with a'} row of {other} where {where}"

    def rows(self, number: int) -> str:
        """Return which rows of a step are meant."""
        if number == 0:
            return "the rows asked about"
        return self.where(self.steps[number].predicate, number, self.steps[number].columns)

    def where(self, predicate: Expr, number: int, fields: tuple[Field, ...]) -> str:
        """Return which rows of `fields` satisfy `predicate` with the anchor of a step."""
        anchor = self.steps[number].anchor
        match predicate:
            case Literal(True):
                return "every row"
            case Literal(False):
                return "no row"
            case Compare(Comparison.SAME, Column(id=id), Anchor()) if is_rid(id):
                return f"the row whose id {self.names[anchor]} holds"
        columns = self.called.name(self.steps[anchor].columns)
        text = describe(predicate, self.called.name(fields), columns, above=self.names[anchor])
        return f"rows where {text}"

    def uses(self, scan: Scan) -> Mapping[str, list[str]]:
        """Return the columns of a scan that are used, in its order, and their roles."""
        used = self.roles.get(scan.at, {})
        return {
            f.name: [role.value for role in Role if role in used[f.name]]
            for f in scan.columns
            if f.name in used
        }

    def operator(self, node: Plan) -> Mapping[str, Any]:
        return {
            "at": node.at,
            "label": self.called.operators[node.at],
            "kind": type(node).__name__.lower(),
            "does": does(node, self.called),
            "inputs": [child.at for child in children(node)],
        }

    def step(self, number: int) -> Mapping[str, Any]:
        step = self.steps[number]
        found: dict[str, Any] = {
            "step": number,
            "kind": step.kind.value,
            "name": display(step.name) if _is_dataset(step) else step.name,
            "at": step.at,
            "label": self.names[number],
            "anchor": None if step.anchor < 0 else step.anchor,
            "rows": self.rows(number),
            "precision": "superset" if step.superset else "exact",
            "reason": "; ".join(step.superset),
            "columns": list(self.called.name(step.columns).values()),
        }
        if step.kind is StepKind.SOURCE:
            found["uses"] = self.uses(self.scans[step.at])
        if not _is_dataset(step):
            found |= self.intermediate(number)
        return found

    def intermediate(self, number: int) -> Mapping[str, Any]:
        step = self.steps[number]
        artifact, placed = self.saved.get(number), self.placed.get(number)
        return {
            "why": self.needed(number),
            "saved": None if artifact is None else _stored(artifact),
            "reduced": [
                {
                    "at": at,
                    "label": self.called.operators[at],
                    "rows": self.where(predicate, number, self.scans[at].columns),
                }
                for at, predicate in step.reduced
            ],
            "weighed": [_alternative(a) for a in placed.alternatives] if placed else [],
        }

    def link(self, link: Link) -> Mapping[str, Any]:
        return {"step": link.step, "other": link.other, "rows": self.linked(link)}


def _flat(telling: _Telling) -> pa.Table:
    steps = [telling.step(number) for number in range(len(telling.steps))]
    return table(_COLUMNS, [tuple(step[name] for name in _COLUMNS) for step in steps])


def _stored(artifact: Artifact) -> Mapping[str, Any]:
    return {
        "rows": artifact.rows,
        "bytes": sum(file.size for file in artifact.snapshot.files),
        "how": artifact.how.value,
    }


def _alternative(alternative: Alternative) -> Mapping[str, Any]:
    return {
        "at": alternative.at,
        "name": alternative.name,
        "way": alternative.way.value,
        "bytes": alternative.bytes if alternative.bytes >= 0 else None,
        "origin": alternative.origin or None,
        "verdict": alternative.verdict,
    }


def _is_dataset(step: Step) -> bool:
    return step.kind in (StepKind.TARGET, StepKind.SOURCE)


def _precision(steps: tuple[Step, ...]) -> str:
    return "superset" if any(step.superset for step in steps) else "exact"


def _size(bytes: int) -> str:
    from rich.filesize import decimal

    return decimal(bytes)
