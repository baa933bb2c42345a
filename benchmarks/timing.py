"""Times of actions that are compared: in turns, after a warm-up, in one process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

Action: TypeAlias = Callable[[int], object]
"""What is timed, given the number of the round."""


@dataclass
class Times:
    """Seconds an action took, one a round; or why it could not be done.

    `cpu` are the processor's seconds in this process alone: other processes, Spark's among them, do
    not count, and others on the machine disturb it less. `cold` says that the action took so long
    that its warm-up is all there is.
    """

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    cold: bool = False
    failure: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return what a results file keeps: every measured second, and their median."""
        if self.failure:
            return {"failure": self.failure}
        found = {
            "median": round(statistics.median(self.seconds), 5),
            "cpu": round(statistics.median(self.cpu), 5),
            "seconds": [round(second, 5) for second in self.seconds],
        }
        return {**found, "cold": True} if self.cold else found


def in_turns(actions: Mapping[str, Action], rounds: int, patience: float = 60) -> dict[str, Times]:
    """Return the times of actions that take turns, each round beginning with another one.

    Each is done once beforehand and not counted. One that has taken more than `patience` seconds
    is not repeated any more.
    """
    times = {name: Times() for name in actions}
    spent = dict.fromkeys(actions, 0.0)
    names = list(actions)
    for round in range(-1, rounds):
        first = round % len(names)
        for name in names[first:] + names[:first]:
            if times[name].failure or spent[name] > patience:
                continue
            try:
                took, cpu = timed(partial(actions[name], max(round, 0)))
            except Exception as error:  # a peer or a strategy that cannot: part of the result
                times[name] = Times(failure=f"{type(error).__name__}: {str(error)[:160]}")
                continue
            spent[name] += took
            if round >= 0:
                times[name].seconds.append(took)
                times[name].cpu.append(cpu)
            elif took > patience:
                times[name] = Times([took], [cpu], cold=True)
    return times


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds that `action` took, by the clock and of this process's processors."""
    start, cpu = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - start, time.process_time() - cpu
