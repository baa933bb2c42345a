"""All checks, in the order in which one needs the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lineage_core.doctor.check import Check, Subject, failed
from lineage_core.doctor.libraries import libraries
from lineage_core.doctor.openlineage import openlineage
from lineage_core.doctor.places import catalog, store
from lineage_core.doctor.spark import java, pandas, pyspark, python_udf, workers

CHECKS: tuple[Callable[[Subject], Iterator[Check]], ...] = (
    java,
    pyspark,
    workers,
    pandas,
    python_udf,
    libraries,
    store,
    catalog,
    openlineage,
)


def examine(subject: Subject) -> Iterator[Check]:
    """Yield the answer of every check; one that breaks is a failed one."""
    for check in CHECKS:
        try:
            yield from check(subject)
        except Exception as error:
            name = check.__name__
            yield failed(name, f"the check broke: {type(error).__name__}: {error}", "report this")
