"""What a query says of one of its relations: `backward(...)` or `forward(...)`, as plain data.

Arguments are constants or parameters; a query whose parameters have no values yet is a template.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

from sqlglot import exp

from lineage_core.errors import PredicateError
from lineage_core.index.record import Direction
from lineage_core.query.columns import close_matches

ARGUMENTS = ("where", "rids", "run", "as_of", "hops", "strategy")
"""Names of the arguments that are given by name."""

_CONSTANTS = "arguments are strings, numbers, lists of them and parameters"


@dataclass(frozen=True, slots=True)
class Parameter:
    """Stands for a value that is given with the query; `$7` and the seventh `?` are called `7`."""

    name: str


Argument: TypeAlias = str | int | Parameter | tuple[int | Parameter, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """One relation of a query: the rows of `other` in the lineage of rows of `dataset`.

    Attributes:
        direction: whether `other` is a source of the dataset or an output of it.
        dataset: what is asked about.
        other: whose rows are wanted; None when the answer has one dataset only.
        arguments: the named arguments with their names, in the order of these.
    """

    direction: Direction
    dataset: str | Parameter
    other: str | Parameter | None
    arguments: tuple[tuple[str, Argument], ...] = ()

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters that it refers to."""
        return tuple(parameter.name for parameter in self._parameters())

    def _parameters(self) -> Iterator[Parameter]:
        for value in (self.dataset, self.other, *(value for _, value in self.arguments)):
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, Parameter):
                    yield item


@dataclass(frozen=True, slots=True)
class Asked:
    """A call whose parameters have their values: the arguments of one lineage question."""

    direction: Direction
    dataset: str
    other: str | None
    arguments: Mapping[str, Any]


def read_call(function: exp.Anonymous) -> Call:
    """Return what a call of `backward` or `forward` says.

    Raises:
        PredicateError: an argument is unknown, missing, given twice or no constant.
    """
    name = function.name.lower()
    given = list(function.expressions)
    plain = [node for node in given if not isinstance(node, exp.Kwarg | exp.PropertyEQ)]
    if not 1 <= len(plain) <= 2 or given[: len(plain)] != plain:
        raise _refusal(name, "takes a dataset, and whose rows are wanted of its lineage")
    dataset = _text(name, plain[0])
    other = _text(name, plain[1]) if len(plain) > 1 else None
    named = dict(_named(name, given[len(plain) :]))
    if len(named) < len(given) - len(plain):
        raise _refusal(name, "is given an argument twice")
    return Call(Direction(name), dataset, other, tuple(sorted(named.items())))


def filled(call: Call, values: Mapping[str, Any]) -> Asked:
    """Return the question of a call, given the values of parameters.

    Raises:
        PredicateError: a value is not of its argument's type.
    """

    def fill(argument: Argument | None) -> Any:
        if isinstance(argument, tuple):
            return [fill(item) for item in argument]
        return values[argument.name] if isinstance(argument, Parameter) else argument

    name = call.direction.value
    dataset, other = fill(call.dataset), fill(call.other)
    if not isinstance(dataset, str) or not isinstance(other, str | None):
        raise _refusal(name, "takes names of datasets, which are strings")
    arguments = {key: _typed(name, key, fill(value)) for key, value in call.arguments}
    return Asked(call.direction, dataset, other, arguments)


def _named(function: str, nodes: list[exp.Expr]) -> Iterator[tuple[str, Argument]]:
    for node in nodes:
        if not isinstance(node, exp.Kwarg | exp.PropertyEQ):
            raise _refusal(function, "takes names of datasets first, named arguments after them")
        key = node.this.name.lower()
        if key not in ARGUMENTS:
            hint = f"{close_matches(key, list(ARGUMENTS))} (known: {', '.join(ARGUMENTS)})"
            raise _refusal(function, f"has no argument {key!r}", hint)
        yield key, _argument(function, node.expression)


def _argument(function: str, node: exp.Expr) -> Argument:
    if isinstance(node, exp.Array):
        return tuple(_number(function, item) for item in node.expressions)
    if isinstance(node, exp.Literal) and node.is_string:
        return str(node.this)
    return _number(function, node)


def _text(function: str, node: exp.Expr) -> str | Parameter:
    if isinstance(node, exp.Placeholder):
        return Parameter(node.name)
    if isinstance(node, exp.Literal) and node.is_string:
        return str(node.this)
    raise _refusal(function, "is given something other than a constant", _CONSTANTS)


def _number(function: str, node: exp.Expr) -> int | Parameter:
    if isinstance(node, exp.Placeholder):
        return Parameter(node.name)
    sign, literal = (-1, node.this) if isinstance(node, exp.Neg) else (1, node)
    if isinstance(literal, exp.Literal) and not literal.is_string and literal.name.isdecimal():
        return sign * int(literal.name)
    raise _refusal(function, "is given something other than a constant", _CONSTANTS)


def _typed(function: str, key: str, value: Any) -> Any:
    match key, value:
        case "as_of", str():
            try:
                value = datetime.fromisoformat(value)
            except ValueError:
                raise _refusal(function, "needs as_of as an ISO 8601 time") from None
            return value if value.tzinfo else value.replace(tzinfo=UTC)
        case "as_of", datetime():
            return value if value.tzinfo else value.replace(tzinfo=UTC)
        case (("where" | "run" | "strategy"), str()):
            return value
        case "hops", int() if not isinstance(value, bool):
            return value
        case "rids", _ if not isinstance(value, str | int | None):
            return value
    raise _refusal(function, f"does not take this type of value for {key}")


def _refusal(function: str, what: str, hint: str = "") -> PredicateError:
    example = "backward('out/report', 'orders', where => 'country = ''DK''')"
    return PredicateError(f"{function}(...) {what}", hint=hint or f"write it as {example}")
