"""Trees on a terminal: chains of lines that indent only where they branch.

A chain that branches too often to stay readable is set aside, and drawn below the tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineage_core.cli.values import printable
from lineage_core.plan.relation import Plan
from lineage_core.plan.traverse import fold

if TYPE_CHECKING:
    from rich.table import Table
    from rich.tree import Tree

_DEEP = 8
"""Levels of one tree; at 80 columns it leaves room for text."""

_LONG = 1_000
"""Characters of one text that are drawn."""


@dataclass(frozen=True, slots=True)
class Line:
    """An operator: its label, what it does, and notes about it, each with a word for its kind.

    A word in capitals stands out.
    """

    label: str
    text: str
    notes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Branch:
    """A chain of lines, and the branches below the last of them; `height` counts the levels."""

    lines: tuple[Line, ...]
    below: tuple[Branch, ...] = ()
    height: int = 1


@dataclass(frozen=True, slots=True)
class Forest:
    """A tree under a title, and the parts of it that were set aside."""

    title: str
    trees: tuple[Branch, ...]


def grow(plan: Plan, line: Callable[[Plan], Line]) -> tuple[Branch, ...]:
    """Return the tree of a plan, and the parts of it that were set aside."""
    aside: list[Branch] = []

    def part(node: Plan, inputs: tuple[Branch, ...]) -> Branch:
        if len(inputs) == 1:
            (below,) = inputs
            return Branch((line(node), *below.lines), below.below, below.height)
        shown = []
        for below in inputs:
            if below.height == _DEEP:
                aside.append(below)
                below = Branch((Line(below.lines[0].label, "continued below"),))
            shown.append(below)
        height = 1 + max((below.height for below in shown), default=0)
        return Branch((line(node),), tuple(shown), height)

    return (fold(plan, part), *reversed(aside))


def draw(branch: Branch) -> Tree:
    """Return a branch as rich draws it."""
    from rich.tree import Tree

    root = Tree(_grid(branch.lines), guide_style="dim")
    waiting = [(root, branch)]
    while waiting:
        tree, drawn = waiting.pop()
        waiting.extend((tree.add(_grid(below.lines)), below) for below in drawn.below)
    return root


def _grid(lines: tuple[Line, ...]) -> Table:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for line in lines:
        grid.add_row(Text(line.label, style="bold"), Text(_shown(line.text)))
        for kind, text in line.notes:
            if kind.isupper():
                grid.add_row(Text(kind, style="bold yellow"), Text(_shown(text)))
            else:
                grid.add_row("", Text.assemble((f"{kind}: ", "cyan"), _shown(text)))
    return grid


def _shown(text: str) -> str:
    text = printable(text)
    if len(text) <= _LONG:
        return text
    return f"{text[:_LONG]}… ({len(text) - _LONG:,} more characters: --format json)"
