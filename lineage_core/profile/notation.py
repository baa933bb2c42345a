"""How a functional dependency is written: `zip -> city`, `zip, "street no" -> city, state`.

A name is a word without spaces, commas and quotes, or anything between double quotes or backticks,
where the quote itself is written twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lineage_core.errors import PredicateError

_TOKEN = re.compile(
    r"""\s*(?:(?P<arrow>->)
           |(?P<comma>,)
           |"(?P<double>(?:[^"]|"")+)"
           |`(?P<back>(?:[^`]|``)+)`
           |(?P<word>(?:(?!->)[^\s,"`])+))\s*""",
    re.VERBOSE,
)
_HINT = "write it as zip -> city, or zip, street -> city; other names than words in double quotes"


@dataclass(frozen=True, slots=True)
class Dependency:
    """That rows which agree in the columns `determinant` agree in the columns `dependent`, too.

    >>> str(Dependency(("zip", "street no"), ("city",)))
    'zip, "street no" -> city'
    """

    determinant: tuple[str, ...]
    dependent: tuple[str, ...]

    def __str__(self) -> str:
        return " -> ".join(
            ", ".join(map(_written, side)) for side in (self.determinant, self.dependent)
        )


def read_dependency(text: str) -> Dependency:
    """Return the dependency that a text says.

    Raises:
        PredicateError: it says none.

    >>> read_dependency('zip, "street no" -> city')
    Dependency(determinant=('zip', 'street no'), dependent=('city',))
    """
    sides: list[list[str]] = [[]]
    name_next = True
    for kind, value in _tokens(text):
        if (kind == "name") != name_next:
            raise _refusal(text, "a name is missing" if name_next else "a comma or -> is missing")
        if kind == "name":
            sides[-1].append(value)
        elif kind == "arrow":
            sides.append([])
        name_next = kind != "name"
    if name_next:
        raise _refusal(text, "a name is missing")
    if len(sides) != 2:
        raise _refusal(text, "it has to have one ->")
    for side in sides:
        if len({name.lower() for name in side}) < len(side):
            raise _refusal(text, "a column is on one side twice")
    return Dependency(tuple(sides[0]), tuple(sides[1]))


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise _refusal(text, "a quote is not closed" if text.strip() else "it is empty")
        place = match.end()
        match match.lastgroup:
            case "double":
                yield "name", match["double"].replace('""', '"')
            case "back":
                yield "name", match["back"].replace("``", "`")
            case "word":
                yield "name", match["word"]
            case kind:
                yield str(kind), ""


def _written(name: str) -> str:
    match = _TOKEN.fullmatch(name)
    plain = match is not None and match["word"] == name
    return name if plain else '"' + name.replace('"', '""') + '"'


def _refusal(text: str, why: str) -> PredicateError:
    return PredicateError(f"{text!r} is no functional dependency: {why}", hint=_HINT)
