"""z3 terms, made fast and small: what is constant is folded, and what is made is made at once.

Making a proof's terms through z3's own operators takes ten times as long as solving it: each one
looks up the sorts of its operands, casts them, and makes terms for constants again and again. Here
truth values and zero exist once and are told by identity; all else goes straight to z3's C
interface. Only the two sorts of proofs occur, so no operand ever needs a cast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import z3
from z3 import z3core

Term: TypeAlias = Any  # z3's expression classes are untyped

_CONTEXT = z3.main_ctx()
_REF = _CONTEXT.ref()

TRUE: Term = z3.BoolVal(True)
FALSE: Term = z3.BoolVal(False)
ZERO: Term = z3.IntVal(0)

_BOOL, _INT = z3.BoolSort(), z3.IntSort()


def truth(value: bool) -> Term:
    """Return a truth value."""
    return TRUE if value else FALSE


def number(value: int) -> Term:
    """Return a whole number."""
    return z3.IntVal(value) if value else ZERO


def zero(like: Term) -> Term:
    """Return the false or the zero that has the sort of a term."""
    return FALSE if is_bool(like) else ZERO


def is_bool(term: Term) -> bool:
    """Whether a term is a truth value; it is a whole number otherwise."""
    return isinstance(term, z3.BoolRef)


def all_of(*terms: Term) -> Term:
    """Return whether all are true."""
    return _joined(terms, TRUE, FALSE, z3core.Z3_mk_and)


def any_of(*terms: Term) -> Term:
    """Return whether some is true."""
    return _joined(terms, FALSE, TRUE, z3core.Z3_mk_or)


def negation(term: Term) -> Term:
    """Return whether a term is false."""
    if term is TRUE or term is FALSE:
        return truth(term is FALSE)
    return z3.BoolRef(z3core.Z3_mk_not(_REF, term.ast), _CONTEXT)


def equal(left: Term, right: Term) -> Term:
    """Return whether two terms of one sort are equal."""
    if left is right:
        return TRUE
    for one, other in ((left, right), (right, left)):
        if one is TRUE:
            return other
        if one is FALSE:
            return negation(other)
    return z3.BoolRef(z3core.Z3_mk_eq(_REF, left.ast, right.ast), _CONTEXT)


def less(left: Term, right: Term) -> Term:
    """Return whether a number is less than another."""
    return z3.BoolRef(z3core.Z3_mk_lt(_REF, left.ast, right.ast), _CONTEXT)


def either(condition: Term, then: Term, otherwise: Term) -> Term:
    """Return the one term or the other, which are of one sort."""
    if condition is TRUE or then is otherwise:
        return then
    if condition is FALSE:
        return otherwise
    if is_bool(then):
        if then is FALSE:
            return all_of(negation(condition), otherwise)
        if otherwise is FALSE:
            return all_of(condition, then)
    made = z3core.Z3_mk_ite(_REF, condition.ast, then.ast, otherwise.ast)
    return _of_sort(is_bool(then), made)


def total(*terms: Term) -> Term:
    """Return the sum of numbers."""
    kept = [term for term in terms if term is not ZERO]
    if len(kept) < 2:
        return kept[0] if kept else ZERO
    return z3.ArithRef(z3core.Z3_mk_add(_REF, len(kept), _array(kept)), _CONTEXT)


def function(name: str, inputs: Sequence[Term], *, is_bool: bool) -> Term:
    """Return the uninterpreted function that has this name and takes such inputs."""
    signature = [_BOOL if isinstance(term, z3.BoolRef) else _INT for term in inputs]
    return z3.Function(name, *signature, _BOOL if is_bool else _INT)


def applied(declared: Term, inputs: Sequence[Term], *, is_bool: bool) -> Term:
    """Return the value of a declared function."""
    made = z3core.Z3_mk_app(_REF, declared.ast, len(inputs), _array(inputs))
    return _of_sort(is_bool, made)


def _of_sort(is_bool: bool, made: Any) -> Term:
    return z3.BoolRef(made, _CONTEXT) if is_bool else z3.ArithRef(made, _CONTEXT)


def _joined(terms: Sequence[Term], neutral: Term, decisive: Term, make: Callable[..., Any]) -> Term:
    kept = []
    for term in terms:
        if term is decisive:
            return decisive
        if term is not neutral:
            kept.append(term)
    if len(kept) < 2:
        return kept[0] if kept else neutral
    return z3.BoolRef(make(_REF, len(kept), _array(kept)), _CONTEXT)


def _array(terms: Sequence[Term]) -> Any:
    return (z3.Ast * len(terms))(*[term.ast for term in terms])
