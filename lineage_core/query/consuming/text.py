"""Read and check the text of a lineage-consuming query.

A query is one SELECT. Its relations are calls of `backward` and `forward`, common table
expressions, subqueries and VALUES, nothing else. No name that the text gives to a relation is
handed on: calls and common table expressions get names of this module's, so that no engine can
take one for a file or a table. What remains is spelled from the tree, and `grammar` has the
engine's own parser confirm that it names nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from lineage_core.errors import PredicateError
from lineage_core.query.consuming.call import Call, read_call
from lineage_core.query.consuming.grammar import confirm

RELATION = "lineage_"
"""Relations that stand for calls are called so, with a number."""

_NAMED = "with_"
_FUNCTIONS = ("backward", "forward")
_FIRST = {TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.L_PAREN}
_PARAMETER = re.compile(r"[A-Za-z_]\w*|[1-9]\d*", re.ASCII)
_MAX_LENGTH = 1_000_000

_SOURCES = (
    "a query reads backward('output', 'source') and forward('source', 'output'), "
    "WITH names, subqueries and VALUES"
)
_ONE = "ask one SELECT ... FROM backward('output', 'source') ..."

_REFUSED: tuple[tuple[type[exp.Expr], str], ...] = (
    (exp.Pivot, "PIVOT"),
    (exp.TableSample, "a sample"),
    (exp.Columns, "COLUMNS(...)"),
    (exp.Into, "INTO"),
    (exp.Command, "a command"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Consuming:
    """A query that was checked.

    Attributes:
        tree: the query, in DuckDB's dialect; each call in it is a relation named `lineage_<i>`.
        calls: what these relations are, by name; equal calls are one.
        parameters: the names of all parameters, of the tree and of the calls, each once.
    """

    tree: exp.Query
    calls: dict[str, Call]
    parameters: tuple[str, ...]


def parse(text: str) -> Consuming:
    """Return the query that `text` is.

    Raises:
        PredicateError: it does not parse, is not one SELECT, or reads or calls something that a
            query may not.
    """
    try:
        tree = _tree(text)
        calls = _name_relations(tree)
        named = {cte.alias for cte in tree.find_all(exp.CTE)}
        confirm(tree, {*calls, *named})
    except RecursionError:
        raise PredicateError("the query is nested too deeply", hint=_ONE) from None
    names = [node.name for node in tree.find_all(exp.Placeholder)]
    for call in calls.values():
        names += call.parameters
    return Consuming(tree, calls, tuple(dict.fromkeys(names)))


def _tree(text: str) -> exp.Query:
    if len(text) > _MAX_LENGTH:
        raise PredicateError(f"the query is {len(text)} characters long", hint=_ONE)
    if "\0" in text:
        raise PredicateError("the query has a NUL character", hint=_ONE)
    try:
        text.encode()
        tokens = _tokens(text)
        _check_tokens(tokens)
        numbered = _numbered(text, tokens)
        found, *_ = DuckDB().parser().parse(_tokens(numbered), numbered)
    except ParseError as error:
        detail = error.errors[0] if error.errors else {}
        line, column = detail.get("line"), detail.get("col")
        place = f" at line {line}, column {column}" if line else ""
        raise PredicateError(f"the query does not parse{place}", hint=_ONE) from None
    except (SqlglotError, UnicodeEncodeError):
        raise PredicateError("the query cannot be read: mind its quotes", hint=_ONE) from None
    if not isinstance(found, exp.Query):
        raise PredicateError("the query is not a SELECT", hint=_ONE)
    for node in found.walk():
        _check_node(node)
    return found


class _Tokenizer(DuckDB.Tokenizer):
    HEREDOC_STRINGS: ClassVar[list[str | tuple[str, str]]] = []
    # sqlglot would take `$a,$b` for the beginning of a string that ends with `$a,$`.


def _tokens(text: str) -> list[Token]:
    return _Tokenizer(dialect=DuckDB()).tokenize(text)


def _check_tokens(tokens: list[Token]) -> None:
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens = tokens[:-1]
    if not tokens or tokens[0].token_type not in _FIRST:
        raise PredicateError("the query is not a SELECT", hint=_ONE)
    if any(token.token_type is TokenType.SEMICOLON for token in tokens):
        raise PredicateError("the text is more than one statement", hint=_ONE)


def _numbered(text: str, tokens: list[Token]) -> str:
    """Return the text with each `?` written as the parameter of its number."""
    parts, end = [], 0
    marks = (token for token in tokens if token.token_type is TokenType.PLACEHOLDER)
    for number, token in enumerate((t for t in marks if t.text == "?"), 1):
        parts += [text[end : token.start], f"${number}"]
        end = token.end + 1
    return "".join([*parts, text[end:]])


def _check_node(node: exp.Expr) -> None:
    for kind, name in _REFUSED:
        if isinstance(node, kind):
            raise PredicateError(f"{name} is not allowed in a query", hint=_ONE)
    match node:
        case exp.With() if node.recursive:
            raise PredicateError("WITH RECURSIVE is not allowed in a query", hint=_ONE)
        case exp.With() if len({c.alias.lower() for c in node.expressions}) < len(node.expressions):
            raise PredicateError("WITH names two relations alike", hint="give each its own name")
        case exp.Placeholder() if not _PARAMETER.fullmatch(node.name):
            raise PredicateError(
                f"{node.name!r} is no name of a parameter", hint="write $name, $1 or ?"
            )
        case exp.UDTF() if not isinstance(node, exp.Values | exp.Subquery):
            if isinstance(node.parent, exp.From | exp.Join):
                raise _no_relation(f"{node.key}(...)")


def _name_relations(tree: exp.Query) -> dict[str, Call]:
    """Give the relations of a query names of this module's; return the calls by theirs."""
    calls: dict[Call, str] = {}
    renamed: list[tuple[exp.Table, str]] = []
    ctes = {id(cte): f"{_NAMED}{i}" for i, cte in enumerate(tree.find_all(exp.CTE))}
    for table in list(tree.find_all(exp.Table, bfs=False)):
        _check_table(table)
        if isinstance(table.this, exp.Identifier):
            renamed.append((table, ctes[id(_visible(table))]))
        else:
            call = read_call(table.this)
            renamed.append((table, calls.setdefault(call, f"{RELATION}{len(calls)}")))
    for cte in tree.find_all(exp.CTE):
        cte.args["alias"].set("this", exp.to_identifier(ctes[id(cte)]))
    for table, name in renamed:
        alias = table.args.get("alias") or exp.TableAlias()
        if not alias.this:
            alias.set("this", exp.to_identifier(table.this.name.lower(), quoted=True))
        table.set("alias", alias)
        table.set("this", exp.to_identifier(name))
    return {name: call for call, name in calls.items()}


def _check_table(table: exp.Table) -> None:
    more = {key for key, value in table.args.items() if value} - {"this", "alias", "joins"}
    function = table.this
    if isinstance(function, exp.Identifier):
        if more or _visible(table) is None:
            raise _no_relation(".".join(part.name for part in table.parts))
    elif not isinstance(function, exp.Func):
        raise _no_relation("something other than a name")
    elif more or function.name.lower() not in _FUNCTIONS or type(function) is not exp.Anonymous:
        named = isinstance(function, exp.Anonymous)
        raise _no_relation(f"{function.name if named else function.sql_name().lower()}(...)")


def _visible(table: exp.Table) -> exp.CTE | None:
    """Return the common table expression that a name refers to: the innermost, if any."""
    name = table.name.lower()
    node: exp.Expr = table
    while (parent := node.parent) is not None:
        for cte in _ctes_before(node, parent):
            if cte.alias.lower() == name:
                return cte
        node = parent
    return None


def _ctes_before(node: exp.Expr, parent: exp.Expr) -> Iterator[exp.CTE]:
    """Return the common table expressions that a node's place makes visible in it."""
    if isinstance(parent, exp.With):
        yield from takewhile(lambda cte: cte is not node, parent.expressions)
    elif not isinstance(node, exp.With) and (with_ := parent.args.get("with_")):
        yield from with_.expressions


def _no_relation(name: str) -> PredicateError:
    return PredicateError(f"a query cannot read {name}", hint=_SOURCES)
