"""A made dataset like Medicare's physicians, as HoloClean and Smoke 6.5.2 use it, with errors.

Each physician (NPI) has some places of work and one PAC_ID; a zip lies in one city of one state;
an organisation (LBN1) has one hospital number (CCN1). In some rows one of those is another one, or
missing.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

DEPENDENCIES = ("NPI -> PAC_ID", "Zip -> State", "Zip -> City", "LBN1 -> CCN1")

_FILES = 4
_ZIPS, _CITIES, _STATES, _NAMES, _HOSPITALS = 38_000, 17_000, 56, 62_000, 5_400
_ERRORS = {"PAC_ID": 2e-5, "State": 1e-4, "City": 1e-3, "CCN1": 5e-4}
_MISSING = {"Zip": 1e-3, "LBN1": 0.05, "CCN1": 0.3}


def generate(folder: Path, rows: int) -> None:
    """Write the dataset into a folder that is not there yet."""
    folder.mkdir(parents=True)
    draw = np.random.default_rng(652)
    people = max(rows * 2 // 5, 1)
    npi = draw.integers(0, people, rows)
    zip_ = (draw.random(rows) ** 2 * _ZIPS).astype(np.int64)
    name = (draw.random(rows) ** 3 * _NAMES).astype(np.int64)
    codes = {
        "PAC_ID": npi * 7919 + 42_000_000,
        "City": zip_ * _CITIES // _ZIPS,
        "State": zip_ * _STATES // _ZIPS,
        "CCN1": name * 31 % _HOSPITALS,
    }
    for column, share in _ERRORS.items():
        wrong = draw.random(rows) < share
        codes[column][wrong] += draw.integers(1, 4, int(wrong.sum()))
    columns = {
        "NPI": pa.array(npi * 911 + 1_003_000_000),
        "PAC_ID": pa.array(codes["PAC_ID"]),
        "Zip": _texts(zip_, "{:05}"),
        "City": _texts(codes["City"], "CITY OF {}"),
        "State": _texts(codes["State"], "S{}"),
        "LBN1": _texts(name, "{} MEDICAL GROUP LLC"),
        "CCN1": _texts(codes["CCN1"], "{:06}"),
    }
    for column, share in _MISSING.items():
        there = pa.array(draw.random(rows) >= share)
        columns[column] = pa.compute.if_else(there, columns[column], None)
    table = pa.table(columns)
    bounds = np.linspace(0, rows, _FILES + 1).astype(np.int64)
    for number, (begin, end) in enumerate(pairwise(bounds)):
        part = table.slice(int(begin), int(end - begin))
        pq.write_table(part, folder / f"part-{number:05}.parquet")


def _texts(codes: np.ndarray, form: str) -> pa.Array:
    known, places = np.unique(codes, return_inverse=True)
    return pa.array([form.format(code) for code in known]).take(pa.array(places))
