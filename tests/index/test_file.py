"""Index files: what was written is found, by few blocks; what was damaged is an error."""

from __future__ import annotations

import io
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_core.errors import CorruptError
from lineage_core.index import Relation, block, file, relation
from lineage_core.index.cells import cells
from lineage_core.index.file import Index, IndexFile, IndexWriter
from lineage_core.index.provrc import decode
from tests.index.test_provrc import Pairs, made_of, pairs_of, relations

SUBJECT = "out <- in"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make chunks and blocks so small that a few pairs take several."""
    monkeypatch.setattr(file, "CHUNK", 7)
    monkeypatch.setattr(block, "MOST_ROWS", 3)


def written(pairs: Relation, shape: list[int], cuts: tuple[int, ...] = ()) -> bytes:
    sink = io.BytesIO()
    writer = IndexWriter(sink, shape, len(pairs.keys), SUBJECT)
    for begin, end in zip((0, *cuts), (*cuts, len(pairs)), strict=True):
        writer.add(Relation(pairs.keys[:, begin:end], pairs.values[:, begin:end]))
    writer.finish()
    return sink.getvalue()


def opened(data: bytes, subject: str = SUBJECT) -> Index:
    return Index(memoryview(data), subject)


def listed(index: Index, wanted: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    found = index.related(cells([[cell[a] for cell in wanted] for a in range(index.keys)]))
    return [tuple(cell) for cell in found.to_numpy().T.tolist()]


def all_pairs(index: Index) -> list[tuple[int, ...]]:
    return sorted(pair for ranges in index.ranges() for pair in pairs_of(decode(ranges, 10**6)))


@pytest.mark.usefixtures("small")
class TestSmallBlocks:
    @given(relations(), st.data())
    def test_what_was_written_is_found(
        self, case: tuple[Pairs, int, int], data: st.DataObject
    ) -> None:
        pairs, keys, values = case
        made = made_of(pairs, keys, values)
        cuts = data.draw(st.lists(st.integers(0, len(made)), max_size=3).map(sorted).map(tuple))
        whole = written(made, [16] * (keys + values))
        assert written(made, [16] * (keys + values), cuts) == whole, "the pieces make no difference"
        index = opened(whole)
        assert (index.pairs, index.shape.tolist()) == (len(pairs), [16] * (keys + values))
        assert all_pairs(index) == sorted(pairs)
        cell = st.tuples(*[st.integers(0, 6)] * keys)
        wanted = data.draw(st.lists(cell, max_size=8))
        assert listed(index, wanted) == sorted({p[keys:] for p in pairs if p[:keys] in wanted})

    def test_a_form_goes_on_through_chunks(self) -> None:
        index = opened(written(made_of({(i, i) for i in range(100)}, 1, 1), [100, 100]))
        assert [len(ranges) for ranges in index.ranges()] == [1]

    def test_the_pairs_of_one_key_may_be_many_chunks(self) -> None:
        pairs = {(4, 3 * i) for i in range(50)} | {(5, 0)}
        assert all_pairs(opened(written(made_of(pairs, 1, 1), [9, 200]))) == sorted(pairs)


def shuffled(count: int) -> Relation:
    values = np.random.default_rng(3).permutation(count)
    return relation([np.arange(count)], [values])


def test_a_lookup_reads_the_blocks_it_needs(tmp_path: Path) -> None:
    count = 200_000
    pairs = shuffled(count)
    (tmp_path / "i").write_bytes(written(pairs, [count, count]))
    with IndexFile(tmp_path / "i", SUBJECT) as index:
        assert index.blocks == -(-count // block.MOST_ROWS)
        assert listed(index, [(77_777,)]) == [(int(pairs.values[0, 77_777]),)]
        assert index.blocks_read == 1
        near = [(20_000,), (20_001,), (19_999,)]
        assert listed(index, near) == sorted((int(pairs.values[0, i]),) for (i,) in near)
        assert listed(index, [(77_778,)]) and index.blocks_read == 2, "what was read is kept"
        wide = [(3,), (count - 1,)]
        assert listed(index, wide) == sorted((int(pairs.values[0, i]),) for (i,) in wide)
        assert index.blocks_read == 4
        assert listed(index, [(count,), (count + 5,)]) == []
        assert index.blocks_read == 4


def test_a_second_key_leaves_blocks_out() -> None:
    count = 100_000
    values = np.random.default_rng(4).permutation(count)
    index = opened(
        written(relation([np.zeros(count, int), np.arange(count)], [values]), [1, count, count])
    )
    assert index.blocks > 4
    assert listed(index, [(0, 77_777)]) == [(int(values[77_777]),)]
    assert index.blocks_read == 1
    assert listed(index, [(1, 5), (2, 6)]) == [] and index.blocks_read == 1
    assert listed(index, [(0, 3), (0, 4)]) == sorted((int(values[i]),) for i in (3, 4))
    assert index.blocks_read == 2


def test_a_form_is_small() -> None:
    count = 1_000_000
    rows = np.arange(count)
    data = written(relation([rows], [rows]), [count, count])
    assert len(data) < 1024
    index = opened(data)
    assert index.related(cells([[5, 999_999]])).to_numpy().tolist() == [[5, 999_999]]


def test_another_relations_index_is_refused() -> None:
    data = written(shuffled(10), [10, 10])
    with pytest.raises(CorruptError, match="another relation"):
        opened(data, "in <- out")


def test_a_newer_version_is_refused() -> None:
    data = bytearray(written(shuffled(10), [10, 10]))
    place = data.rindex(b"RLINDEX") - 8
    assert data[place : place + 2] == b"\2\0"
    data[place] = 9
    with pytest.raises(CorruptError, match="version 9"):
        opened(bytes(data))


def test_cells_beyond_the_arrays_are_refused() -> None:
    index = opened(written(shuffled(10), [10, 9]))
    with pytest.raises(CorruptError, match="beyond"):
        listed(index, [(3,)])


def mutated(data: bytes, other: bytes, choose: random.Random) -> bytes:
    """Return damaged bytes: changed, cut off, doubled, swapped within or with another file."""
    made = bytearray(data)
    match choose.randrange(5):
        case 0:
            for _ in range(choose.randint(1, 5)):
                made[choose.randrange(len(made))] ^= choose.randint(1, 255)
        case 1:
            del made[choose.randrange(len(made)) :]
        case 2:
            place = choose.randrange(len(made))
            made[place:place] = made[: choose.randint(1, 40)]
        case 3:
            size = choose.randint(1, 60)
            a, b = (choose.randrange(len(made) - size) for _ in range(2))
            made[a : a + size], made[b : b + size] = made[b : b + size], made[a : a + size]
        case _:
            place = choose.randrange(min(len(made), len(other)))
            made[place:] = other[place:]
    return bytes(made)


def relations_of(keys: int) -> list[Pairs]:
    """Return two relations of so many key axes, of several blocks each."""
    values = shuffled(100).values[0].tolist()
    places = [
        (i,) if keys == 1 else (i // 9, i % 9 * 2, *([i % 2] * (keys - 2))) for i in range(100)
    ]
    return [
        {(*key, value) for key, value in zip(places, values, strict=True)},
        {(*key, value) for key in places[:20] for value in range(sum(key) % 7)},
    ]


@pytest.mark.parametrize("keys", [1, 2, 3])
def test_damaged_files_are_errors(monkeypatch: pytest.MonkeyPatch, keys: int) -> None:
    monkeypatch.setattr(block, "MOST_ROWS", 16)
    choose = random.Random(5)
    pairs = [made_of(each, keys, 1) for each in relations_of(keys)]
    files = [written(each, [100] * (keys + 1)) for each in pairs]
    expected = [pairs_of(each) for each in pairs]
    refused = 0
    for number in range(2000):
        data = mutated(files[number % 2], files[(number + 1) % 2], choose)
        try:
            found = all_pairs(opened(data))
        except CorruptError:
            refused += 1
        else:
            assert found == expected[number % 2] or found == expected[(number + 1) % 2]
            assert data in files
    assert refused > 1800


def test_an_empty_file_is_no_index(tmp_path: Path) -> None:
    (tmp_path / "i").touch()
    with pytest.raises(CorruptError, match="empty"):
        IndexFile(tmp_path / "i", SUBJECT)
