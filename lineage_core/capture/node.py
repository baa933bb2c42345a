"""One operator of a Catalyst plan, with its inputs already read: what every rule of `operators`
is given.

Catalyst's attribute ids are not unique: a union hands on its first input's ids, a common table
expression that is read twice repeats all of its own. An IR id is, so an attribute is resolved among
what the operator's inputs offer, and gets a new id wherever it stands for a new value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import count
from typing import Any

from pyspark.sql import SparkSession

from lineage_core.capture.expressions import Scope, read
from lineage_core.capture.literals import read_type
from lineage_core.capture.met import Met, class_name
from lineage_core.capture.sources import Source, identify
from lineage_core.capture.subqueries import Subquery
from lineage_core.execute.jvm import LOGICAL, items, scala_object, seq
from lineage_core.plan.expr import Column, Expr, data_type
from lineage_core.plan.relation import Field, Named, Opaque, Plan, SortKey, output

Tree = dict[str, Any]


@dataclass
class Reading:
    """What a plan and those of its subqueries number together.

    Attributes:
        spark: the session.
        read: reads the Java plan of a subquery.
        next_at: the next free place.
        numbers: the column ids that are still free.
        sources: the number of each source.
        leaves: source number and Java node of each scan.
        expr_ids: the Catalyst attribute id behind each column id.
    """

    spark: SparkSession
    read: Callable[[Any], Plan]
    next_at: int = 0
    numbers: Iterator[int] = field(default_factory=count)
    sources: dict[Source, int] = field(default_factory=dict)
    leaves: list[tuple[int, Any]] = field(default_factory=list)
    expr_ids: dict[int, int] = field(default_factory=dict)

    def places(self, number: int) -> int:
        """Return the first of `number` new places."""
        first = self.next_at
        self.next_at += number
        return first

    def column(self, expr_id: int) -> int:
        """Return a new id for a value of the Catalyst attribute `expr_id`."""
        id = next(self.numbers)
        self.expr_ids[id] = expr_id
        return id

    def source(self, leaf: Any, kind: str) -> tuple[int, Source]:
        """Return number and identity of the source that a Java leaf of class `kind` reads."""
        source = identify(leaf, kind, len(self.sources))
        number = self.sources.setdefault(source, len(self.sources))
        self.leaves.append((number, leaf))
        return number, source

    def offered(self, plan: Plan) -> dict[int, int]:
        """Return the column behind each Catalyst attribute that `plan` offers."""
        fields = reversed(output(plan))  # of equal attributes Spark takes the first
        return {self.expr_ids[f.id]: f.id for f in fields if f.id in self.expr_ids}


@dataclass(frozen=True)
class Node:
    """One Catalyst operator with its inputs already read.

    Attributes:
        reading: what is numbered together.
        at: the operator's place.
        tree: its JSON.
        above: the JSON of the operator that it is an input of; empty for the root.
        children: its inputs.
        find: gives the Java node.
        subqueries: those met in its expressions so far, by their Catalyst id.
    """

    reading: Reading
    at: int
    tree: Tree
    above: Tree
    children: tuple[Plan, ...]
    find: Callable[[], Any]
    subqueries: dict[int, Subquery] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return class_name(self.tree)

    @cached_property
    def java(self) -> Any:
        return self.find()

    @cached_property
    def roots(self) -> list[Any]:
        """The operator's Java expressions, in the order of its JSON fields."""
        return items(self.java.expressions())

    @cached_property
    def offered(self) -> list[dict[int, int]]:
        """The column behind each Catalyst attribute, for each input."""
        return [self.reading.offered(child) for child in self.children]

    @cached_property
    def scope(self) -> Scope:
        """What the operator's expressions refer to."""
        ids: dict[int, int] = {}
        for offered in reversed(self.offered):
            ids |= offered
        return Scope(ids, self._subquery)

    def _subquery(self, met: Met) -> Expr | None:
        if met.args:
            return None  # refers to the rows around it
        number = met.tree["exprId"]["id"]
        if number not in self.subqueries:
            plan = self.reading.read(met.java().plan())
            exists = Field(next(self.reading.numbers), "exists", "boolean")
            self.subqueries[number] = Subquery.of(plan, exists)
        return self.subqueries[number].value

    def opaque(self, why: str, name: str = "") -> Opaque:
        """Return the operator as one without IR form."""
        return Opaque(self.at, name or self.name, why, self.output(), self.children)

    def output(self) -> tuple[Field, ...]:
        """Return the columns the operator offers; those of its inputs keep their ids."""
        if "output" in self.tree:
            return self.handed_on(self.tree["output"])
        # A relation without rows prints its output as JSON in one call.
        spark = self.reading.spark
        relation = scala_object(spark, f"{LOGICAL}.LocalRelation").apply(
            self.java.output(), seq(spark, []), False, scala_object(spark, "scala.None")
        )
        return self.handed_on(json.loads(relation.toJSON())[0]["output"])

    def handed_on(self, attributes: list[list[Tree]]) -> tuple[Field, ...]:
        """Return columns that are the inputs', where an input has the attribute, or new."""
        ids = self.scope.ids
        return tuple(
            _field(a, ids[expr_id] if expr_id in ids else self.reading.column(expr_id))
            for (a,) in attributes
            for expr_id in [a["exprId"]["id"]]
        )

    def made(self, attributes: list[list[Tree]]) -> tuple[Field, ...]:
        """Return columns that hold values of their own."""
        return tuple(_field(a, self.reading.column(a["exprId"]["id"])) for (a,) in attributes)

    def expression(self, tree: list[Tree], number: int, *path: str) -> Expr:
        """Return expression `number` of the operator, or a part of it, whose JSON is `tree`.

        Args:
            path: the Scala fields to follow from the expression to the part.
        """

        def root() -> Any:
            return reduce(lambda java, name: getattr(java, name)(), path, self.roots[number])

        return read(tree, self.scope, root)

    def order(self, trees: list[list[Tree]], first: int) -> tuple[SortKey, ...]:
        """Return the keys of an ordering; the JSON of the first is expression number `first`."""
        return tuple(
            SortKey(
                self.expression(tree, number),
                class_name({"class": tree[0]["direction"]["object"]}) == "Ascending",
                class_name({"class": tree[0]["nullOrdering"]["object"]}) == "NullsFirst",
            )
            for number, tree in enumerate(trees, first)
        )

    def named(self, trees: list[list[Tree]], first: int) -> tuple[Named, ...]:
        """Return output columns; the JSON of the first is expression number `first`."""
        found = []
        for number, tree in enumerate(trees, first):
            expr = self.expression(tree, number)
            id = self.id(tree[0]["exprId"]["id"], expr)
            found.append(Named(id, tree[0]["name"], expr, data_type(expr)))
        return tuple(found)

    def id(self, expr_id: int, expr: Expr) -> int:
        """Return the column of an attribute that is `expr` from here on."""
        if isinstance(expr, Column) and self.scope.ids.get(expr_id) == expr.id:
            return expr.id
        return self.reading.column(expr_id)


def _field(attribute: Mapping[str, Any], id: int) -> Field:
    return Field(id, attribute["name"], read_type(attribute["dataType"]))
