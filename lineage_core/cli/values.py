"""Values of rows as text.

They come from users' data, so on a terminal they are text only, never codes that it obeys.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any


def printable(text: str) -> str:
    """Return `text` with what a terminal would obey written as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def text(value: object) -> str:
    """Return `value` as a cell of a table; nothing for null."""
    simple = plain(value)
    if simple is None:
        return ""
    return simple if isinstance(simple, str) else json.dumps(simple, ensure_ascii=False)


def plain(value: Any) -> Any:
    """Return `value` as JSON can hold it."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case bytes():
            return value.hex()
        case datetime() | date() | time():
            return value.isoformat()
        case Decimal() | timedelta():
            return str(value)
    return str(value)
