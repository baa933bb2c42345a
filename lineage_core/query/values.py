"""Values as Spark groups them: NaN is one value, and so are 0.0 and -0.0."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def distinguished(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values of which equal ones are the same bits."""
    if not pa.types.is_floating(values.type):
        return values
    zero, nan = pa.scalar(0.0, values.type), pa.scalar(float("nan"), values.type)
    plain = pc.if_else(pc.equal(values, zero), zero, values)
    return pc.if_else(pc.is_nan(plain), nan, plain)
