"""Filters of LlamaIndex as filters of ragdb, or as the ids of the nodes that they leave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)

from ragdb.adapters.stored import field_of

Find = Callable[["dict[str, Any] | None"], "set[str]"]
"""The ids of the chunks that a filter of ragdb leaves."""

OPERATORS = {
    FilterOperator.EQ: "eq", FilterOperator.NE: "ne", FilterOperator.GT: "gt",
    FilterOperator.GTE: "gte", FilterOperator.LT: "lt", FilterOperator.LTE: "lte",
    FilterOperator.IN: "in", FilterOperator.ANY: "any", FilterOperator.ALL: "all",
}  # fmt: skip


def simple(filters: MetadataFilters | None) -> dict[str, Any] | None:
    """One filter of ragdb that says the same: None for no filter. Raises LookupError without."""
    if filters is None or not filters.filters:
        return None
    if (filters.condition or FilterCondition.AND) != FilterCondition.AND and (
        len(filters.filters) > 1 or filters.condition == FilterCondition.NOT
    ):
        raise LookupError
    made: dict[str, Any] = {}
    for one in filters.filters:
        parts = simple(one) or {} if isinstance(one, MetadataFilters) else _condition(one)
        for field, operators in parts.items():
            if made.get(field, {}).keys() & operators.keys():
                raise LookupError
            made.setdefault(field, {}).update(operators)
    return made


def ids(filters: MetadataFilters, find: Find) -> set[str]:
    """The chunks that any filters leave, each condition asked by itself."""
    found = [
        ids(one, find) if isinstance(one, MetadataFilters) else _ids(one, find)
        for one in filters.filters
    ]
    if filters.condition == FilterCondition.OR:
        return set().union(*found)
    if filters.condition == FilterCondition.NOT:
        return find(None).difference(*found)
    return set.intersection(*found) if found else find(None)


def _ids(one: MetadataFilter, find: Find) -> set[str]:
    if one.operator == FilterOperator.NIN:
        return find(None) - find({field_of(one.key): {"in": one.value}})
    if one.operator == FilterOperator.IS_EMPTY:
        field = field_of(one.key)
        empty = find({field: {"exists": False}}) | find({field: {"in": [None, ""]}})
        return empty | find({field: {"eq": []}})
    return find(_condition(one))


def _condition(one: MetadataFilter) -> dict[str, dict[str, Any]]:
    """A condition of ragdb. Raises LookupError where it takes several, ValueError without any."""
    field = field_of(one.key)
    if one.operator in OPERATORS:
        return {field: {OPERATORS[one.operator]: one.value}}
    if one.operator == FilterOperator.CONTAINS:
        return {field: {"any": [one.value]}}
    if one.operator == FilterOperator.TEXT_MATCH and not set("*?") & set(str(one.value)):
        return {field: {"glob": f"*{one.value}*"}}
    if one.operator in (FilterOperator.NIN, FilterOperator.IS_EMPTY):
        raise LookupError
    raise ValueError(
        f"a filter {one.operator.value} on {one.key!r} is not one that ragdb has; words of the"
        " text are for the query"
    )
