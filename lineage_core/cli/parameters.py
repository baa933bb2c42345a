"""Values of options beyond what click reads: each function is an option's callback."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TypeAlias

import click

Values: TypeAlias = tuple[str, ...]


def rids(context: click.Context, option: click.Parameter, text: str | None) -> list[int] | None:
    """Return row ids that are separated by commas."""
    if text is None:
        return None
    try:
        return [int(rid) for rid in text.split(",")]
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a list of row ids such as 3,17") from None


def rows(
    context: click.Context, option: click.Parameter, texts: Values
) -> list[dict[str, object]] | None:
    """Return rows that are given as JSON objects; None for no rows."""
    return [_row(text) for text in texts] or None


def moment(context: click.Context, option: click.Parameter, text: str | None) -> datetime | None:
    """Return a date or time in ISO 8601; without a time zone it is UTC."""
    if text is None:
        return None
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not an ISO 8601 time") from None
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def limit(context: click.Context, option: click.Parameter, text: str) -> int | None:
    """Return a number of rows; None for `all`."""
    if text == "all":
        return None
    if not text.isdecimal():
        raise click.BadParameter(f"{text!r} is neither a number of rows nor 'all'")
    return int(text)


def assignments(context: click.Context, option: click.Parameter, texts: Values) -> dict[str, str]:
    """Return what `name=path` texts say, by name."""
    pairs = [text.partition("=") for text in texts]
    for text, (name, _, path) in zip(texts, pairs, strict=True):
        if not (name and path):
            raise click.BadParameter(f"{text!r} is not of the form name=path")
    return {name: path for name, _, path in pairs}


def _row(text: str) -> dict[str, object]:
    try:
        row = json.loads(text)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        raise click.BadParameter(f'{text!r} is not a JSON object such as {{"id": 7}}')
    return row
