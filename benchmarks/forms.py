"""The forms that a relation is written in: text, a numpy array, Parquet, and an index.

A relation is a sequence of chunks in the order of its keys; no form needs more than one of them in
memory. What text and numpy arrays would take is worked out where writing them would fill a disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from lineage_core.index import Relation
from lineage_core.index.file import IndexWriter

CODECS = {"parquet": "none", "gzip": "gzip", "zstd": "zstd"}
MOST_WRITTEN = 100_000_000
"""Relations of more pairs are not written as text or numpy arrays."""


def write(form: str, chunks: Sequence[Relation], path: Path) -> None:
    """Write a relation as `csv`, `npy`, or Parquet with one of `CODECS`."""
    match form:
        case "csv":
            with pa.csv.CSVWriter(path, table_of(chunks[0]).schema) as text:
                for chunk in chunks:
                    text.write_table(table_of(chunk))
        case "npy":
            whole = [np.concatenate((chunk.keys, chunk.values)) for chunk in chunks]
            np.save(path.open("wb"), np.concatenate(whole, axis=1))
        case _:
            schema = table_of(chunks[0]).schema
            with pq.ParquetWriter(path, schema, compression=CODECS[form]) as file:
                for chunk in chunks:
                    file.write_table(table_of(chunk))


def estimated(form: str, chunks: Sequence[Relation], folder: Path) -> int:
    """Return how many bytes `csv` or `npy` would take: as many a pair as the middle chunk."""
    middle = chunks[len(chunks) // 2]
    path = folder / f"chunk.{form}"
    write(form, [middle], path)
    return path.stat().st_size * len(chunks)


def write_index(chunks: Sequence[Relation], shape: Sequence[int], path: Path) -> None:
    with path.open("wb") as file:
        writer = IndexWriter(file, shape, len(chunks[0].keys), "")
        for chunk in chunks:
            writer.add(chunk)
        writer.finish()


def table_of(pairs: Relation) -> pa.Table:
    """Return a relation as a table: `k0`, `k1`, ... and `v0`, ..."""
    names = [f"k{i}" for i in range(len(pairs.keys))] + [f"v{i}" for i in range(len(pairs.values))]
    return pa.table([*pairs.keys, *pairs.values], names=names)
