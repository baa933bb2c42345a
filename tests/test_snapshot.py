"""Snapshots: every way a file can stop being what was recorded is noticed and names the file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

from lineage_core import filesystems, snapshot
from lineage_core.datasets import canonical
from lineage_core.errors import ChangedError, UnsupportedError
from lineage_core.snapshot import DataFile, Snapshot, data_file, take, verify

BIG = 300_000  # rows: more than the end of a file that one read fetches


def write(path: Path, values: list[int], **options: object) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"k": values}), path, **options)
    return canonical(str(path))


def of(*paths: str, format: str = "parquet") -> Snapshot:
    return take("file:///data/t", format, (), [(path, ()) for path in paths])


def patch(path: Path, offset: int, data: bytes) -> None:
    """Overwrite bytes in place, keeping size and times."""
    times = path.stat()
    with path.open("r+b") as file:
        file.seek(offset, os.SEEK_END if offset < 0 else os.SEEK_SET)
        file.write(data)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def rewrite(path: Path) -> None:
    write(path, list(range(1, BIG + 1)))


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def cut_to_footer(path: Path) -> None:
    path.write_bytes(path.read_bytes()[-200:])


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"x")


def empty(path: Path) -> None:
    path.write_bytes(b"")


def scramble_footer(path: Path) -> None:
    patch(path, -100, b"\0\0\0\0")


def lie_about_footer(path: Path) -> None:
    patch(path, -8, b"\xff\xff\xff\xff")


def unmagic(path: Path) -> None:
    patch(path, -4, b"XXXX")


def random_bytes(path: Path) -> None:
    path.write_bytes(os.urandom(path.stat().st_size))


@pytest.mark.parametrize(
    "change",
    [
        rewrite,
        truncate,
        cut_to_footer,
        append,
        empty,
        scramble_footer,
        lie_about_footer,
        unmagic,
        random_bytes,
    ],
)
def test_a_changed_file_is_named(tmp_path: Path, change: Callable[[Path], None]) -> None:
    good = write(tmp_path / "a.parquet", [1])
    bad = write(tmp_path / "b.parquet", list(range(BIG)))
    recorded = of(good, bad)
    verify(recorded)
    change(tmp_path / "b.parquet")
    with pytest.raises(
        ChangedError, match=r"source file:///data/t: file \S+/b\.parquet was changed"
    ):
        verify(recorded, what="source")


def test_the_rows_of_a_small_file_in_another_order_are_noticed(tmp_path: Path) -> None:
    plain = {"compression": "none", "use_dictionary": False, "write_page_index": False}
    path = tmp_path / "a.parquet"
    recorded = of(write(path, [1, 2, 3], **plain))
    before = path.read_bytes()
    write(path, [1, 2, 3][::-1], **plain)
    after = path.read_bytes()
    length = int.from_bytes(before[-8:-4], "little") + 8
    assert before[-length:] == after[-length:] and before != after  # the footers are equal
    with pytest.raises(ChangedError, match="was changed"):
        verify(recorded)


@pytest.mark.parametrize("put", ["nothing", "directory"])
def test_a_removed_file_is_named(tmp_path: Path, put: str) -> None:
    recorded = of(write(tmp_path / "a.parquet", [1]))
    (tmp_path / "a.parquet").unlink()
    if put == "directory":
        (tmp_path / "a.parquet").mkdir()
    with pytest.raises(ChangedError, match=r"a\.parquet was removed"):
        verify(recorded)
    with pytest.raises(ChangedError, match=r"a\.parquet was removed"):
        of(recorded.files[0].path)


def test_a_copy_put_back_later_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    recorded = of(write(path, [1, 2]))
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)
    os.utime(path, (1, 1))
    verify(recorded)


@pytest.mark.parametrize("where", [0, 150_000, 299_999])
def test_other_formats_are_digested_whole(tmp_path: Path, where: int) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"1" * 300_000)
    recorded = of(canonical(str(path)), format="csv")
    patch(path, where, b"2")
    with pytest.raises(ChangedError, match="was changed"):
        verify(recorded)


@pytest.mark.parametrize("footer", [b"\xff\xff\xff\xff", b"\x00\x00\x00\x00", b"\x00\x10\x00\x00"])
def test_a_lying_footer_length_is_survived(tmp_path: Path, footer: bytes) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1" + os.urandom(500_000) + footer + b"PAR1")
    recorded = of(canonical(str(path)))
    verify(recorded)
    patch(path, -20, b"\0\1\2\3")
    with pytest.raises(ChangedError, match="was changed"):
        verify(recorded)


def test_a_file_shorter_than_a_footer_has_a_record(tmp_path: Path) -> None:
    for size in range(13):
        path = tmp_path / f"{size:02}.parquet"
        path.write_bytes(b"PAR1PAR1PAR1"[-size:] if size else b"")
        recorded = data_file(canonical(str(path)))
        assert recorded.size == size
        verify(Snapshot("file:///t", "parquet", (), (recorded,)))


def test_a_huge_footer_is_digested_from_its_start(tmp_path: Path) -> None:
    wide = pa.table({f"column_with_a_long_name_{i}": [i] for i in range(3000)})
    path = tmp_path / "wide.parquet"
    pq.write_table(wide, path)
    footer = int.from_bytes(path.read_bytes()[-8:-4], "little")
    assert footer > 1 << 17
    recorded = of(canonical(str(path)))
    patch(path, -footer, b"\0\0")
    with pytest.raises(ChangedError, match="was changed"):
        verify(recorded)


@pytest.mark.parametrize("name", ["ü ö", "100%", "a%20b", "#1?x=y", 'it\'s "q"', "日本", "a+b&c=d"])
def test_any_file_name_works(tmp_path: Path, name: str) -> None:
    path = tmp_path / name / "part=1" / f"{name}.parquet"
    recorded = of(write(path, [1]))
    verify(recorded)
    write(path, [2])
    with pytest.raises(ChangedError, match="was changed"):
        verify(recorded)


def test_a_uri_as_java_writes_it_is_understood(tmp_path: Path) -> None:
    write(tmp_path / "ü b.parquet", [1])
    uri = f"file:{tmp_path}/ü%20b.parquet"
    assert data_file(uri).path == uri  # kept as it was given: rids are matched by it


def test_the_first_changed_file_of_many_is_named(tmp_path: Path) -> None:
    content = (tmp_path / "x", write(tmp_path / "x", [1]))[0].read_bytes()
    paths = []
    for i in range(1000):
        path = tmp_path / f"{i:04}.parquet"
        path.write_bytes(content)
        paths.append(canonical(str(path)))
    recorded = of(*reversed(paths))
    assert [file.path for file in recorded.files] == paths
    verify(recorded)
    (tmp_path / "0999.parquet").unlink()
    (tmp_path / "0400.parquet").write_bytes(b"")
    with pytest.raises(ChangedError, match=r"0400\.parquet was changed"):
        verify(recorded)


def test_files_of_one_place_share_one_filesystem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    resolve = filesystems.resolve

    def counted(uri: str) -> tuple[pafs.FileSystem, str]:
        asked.append(uri)
        return resolve(uri)

    monkeypatch.setattr(filesystems, "resolve", counted)
    of(*[write(tmp_path / f"{i}.parquet", [i]) for i in range(20)])
    assert len(asked) == 1


def test_a_snapshot_in_an_fsspec_filesystem() -> None:
    filesystem, path = filesystems.resolve("memory:///snapshots/a.parquet")
    pq.write_table(pa.table({"k": [1]}), path, filesystem=filesystem)
    recorded = of("memory:///snapshots/a.parquet")
    verify(recorded)
    pq.write_table(pa.table({"k": [2]}), path, filesystem=filesystem)
    with pytest.raises(ChangedError):
        verify(recorded)


def test_a_scheme_nobody_knows_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="nosuch://"):
        of("nosuch://host/a.parquet")


def test_the_id_is_of_content_and_place() -> None:
    file = DataFile("file:///t/a", 1, 5, "d")
    base = Snapshot("file:///t", "parquet", (), (file,))
    later = Snapshot("file:///t", "parquet", (), (DataFile("file:///t/a", 1, 6, "d"),), alias="t")
    assert later.id == base.id
    others = [
        Snapshot("file:///u", "parquet", (), (file,)),
        Snapshot("file:///t", "parquet", (), (DataFile("file:///t/b", 1, 5, "d"),)),
        Snapshot("file:///t", "parquet", (), (DataFile("file:///t/a", 2, 5, "d"),)),
        Snapshot("file:///t", "parquet", (), (DataFile("file:///t/a", 1, 5, "e"),)),
        Snapshot("file:///t", "parquet", (), (file, file)),
        Snapshot("file:///t", "parquet", (), ()),
    ]
    assert len({base.id, *(other.id for other in others)}) == 7


def test_no_thread_outlives_a_check(tmp_path: Path) -> None:
    import threading

    recorded = of(*[write(tmp_path / f"{i}.parquet", [i]) for i in range(30)])
    before = threading.active_count()
    (tmp_path / "0.parquet").unlink()
    with pytest.raises(ChangedError):
        verify(recorded)
    assert threading.active_count() == before
    assert snapshot.RID_SHIFT == 40
