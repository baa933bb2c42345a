"""Arguments that a task's function gets from us, not from whoever calls it in the DAG file."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

INJECTED = ("spark", "run")
"""Names of the parameters that are filled in when the task runs, if the function has them."""


_ORIGINAL = "__row_lineage_original__"


def wanted(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return which of `INJECTED` the function asks for."""
    parameters = inspect.signature(_original(function)).parameters
    return tuple(name for name in INJECTED if name in parameters)


def injected(function: Callable[..., Any], values: Mapping[str, object]) -> Callable[..., Any]:
    """Return `function` without its injected parameters, whose values are `values`.

    Airflow binds a call's arguments to the signature, so it must not show the parameters that the
    caller does not fill; positional arguments then go to the ones that remain.
    """
    function = _original(function)
    signature = inspect.signature(function)
    shown = [p for p in signature.parameters.values() if p.name not in INJECTED]
    rest = signature.replace(parameters=shown)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = rest.bind(*args, **kwargs).arguments | dict(values)
        ordered = {name: given[name] for name in signature.parameters if name in given}
        bound = inspect.BoundArguments(signature, ordered)
        return function(*bound.args, **bound.kwargs)

    call.__dict__.update({"__signature__": rest, _ORIGINAL: function})
    return call


def _original(function: Callable[..., Any]) -> Callable[..., Any]:
    # Not `__wrapped__`: that may be a decorator of the user's, which must not be undone.
    return getattr(function, _ORIGINAL, function)
