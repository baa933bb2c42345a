"""The contract of an artifact store, on every kind of filesystem, and the commit protocol."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable
from pathlib import Path

import pyarrow.fs as pafs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lineage_core import codec
from lineage_core.datasets import local_path
from lineage_core.errors import (
    AmbiguousError,
    CorruptError,
    LineageError,
    NotFoundError,
    UnsupportedError,
)
from lineage_core.filesystems import resolve
from lineage_core.store import ArtifactStore
from lineage_core.store.backends import Remote, open_backend
from lineage_core.store.manifest import RunRecord

Make = Callable[..., RunRecord]

OUTSIDE = [
    "",
    "/",
    ".",
    "..",
    "../x",
    "a/../../x",
    "a/./b",
    "/etc/passwd",
    "a//b",
    "a/",
    "a\0b",
]
NO_IDS = [
    "",
    "1",
    "../../etc",
    "..",
    "%2e%2e",
    "{0b0e8a9e-1111-4222-8333-444455556666}",
    "urn:uuid:0b0e8a9e-1111-4222-8333-444455556666",
    "0b0e8a9e111142228333444455556666",
    "0B0E8A9E-1111-4222-8333-444455556666",
    "0b0e8a9e-1111-4222-8333-444455556666/",
    "0b0e8a9e-1111-4222-8333-444455556666\n",
    "\u0660b0e8a9e-1111-4222-8333-444455556666",
]


def manifest_of(store: ArtifactStore, run_id: str) -> Path:
    path = local_path(store.uri(f"{store.run_path(run_id)}/manifest.json"))
    assert path is not None
    return Path(path)


def test_files_are_written_replaced_and_removed(store: ArtifactStore) -> None:
    assert not store.exists("a/b c/ü#%.bin")
    store.write("a/b c/ü#%.bin", b"1")
    store.write("a/b c/ü#%.bin", b"22")
    store.write("a/empty", b"")
    assert store.read("a/b c/ü#%.bin") == b"22"
    assert store.read("a/empty") == b""
    assert store.exists("a/b c/ü#%.bin") and store.exists("a/b c") and store.exists("a")
    store.remove("a/empty")
    assert not store.exists("a/empty") and store.exists("a/b c")
    store.remove("a")
    store.remove("a")
    assert not store.exists("a/b c/ü#%.bin") and not store.exists("a")


def test_an_uri_leads_to_the_file(store: ArtifactStore) -> None:
    store.write("runs/b c/ü#%.bin", b"1")
    filesystem, path = resolve(store.uri("runs/b c/ü#%.bin"))
    assert filesystem.get_file_info(path).type == pafs.FileType.File
    assert store.uri("x").startswith(f"{store.url}/")


def test_a_missing_file_is_named(store: ArtifactStore) -> None:
    store.write("folder/x", b"")
    for path in ("nothing", "nothing/below", "folder"):
        with pytest.raises(NotFoundError, match=f"{path}"):
            store.read(path)


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_path_leaves_the_store(store: ArtifactStore, path: str) -> None:
    for act in (store.read, store.exists, store.remove, store.uri):
        with pytest.raises(UnsupportedError, match="not a path inside the store"):
            act(path)
    with pytest.raises(UnsupportedError):
        store.write(path, b"")


@pytest.mark.parametrize("run_id", NO_IDS)
def test_no_hostile_id_is_a_run(store: ArtifactStore, record: Make, run_id: str) -> None:
    for act in (store.run_path, store.load, store.sweep, store.delete):
        with pytest.raises(NotFoundError, match="not a run id"):
            act(run_id)
    if run_id:
        with pytest.raises(NotFoundError):
            store.commit(record(run_id))


def test_a_committed_run_reads_back(store: ArtifactStore, record: Make) -> None:
    runs = [record() for _ in range(3)]
    for run in runs:
        store.write(f"{store.run_path(run.id)}/saved/part.parquet", b"x")
        store.commit(run)
    again = ArtifactStore(store.url)
    assert again.runs() == sorted(run.id for run in runs)
    assert [again.load(run.id) for run in runs] == runs
    assert again.uncommitted() == []


def test_a_plan_of_any_depth_is_committed(store: ArtifactStore, record: Make) -> None:
    run = record(depth=3000)
    store.commit(run)
    assert codec.dumps(store.load(run.id)) == codec.dumps(run)


def test_a_run_without_manifest_is_no_run(store: ArtifactStore, record: Make) -> None:
    run, other = record(), record()
    store.write(f"{store.run_path(run.id)}/saved/part.parquet", b"x")
    store.commit(other)
    store.write("runs/not-a-run/x", b"")
    store.write("runs/file", b"")
    assert store.runs() == [other.id]
    assert store.uncommitted() == [run.id]
    with pytest.raises(NotFoundError, match=run.id):
        store.load(run.id)
    store.sweep(run.id)
    store.sweep(run.id)
    assert store.uncommitted() == [] and not store.exists(store.run_path(run.id))
    with pytest.raises(AmbiguousError, match="committed"):
        store.sweep(other.id)
    assert store.load(other.id) == other
    store.delete(other.id)
    assert store.runs() == [] and not store.exists(store.run_path(other.id))


def test_a_run_is_committed_once(store: ArtifactStore, record: Make) -> None:
    run = record()
    store.commit(run)
    with pytest.raises(AmbiguousError, match=run.id):
        store.commit(record(run.id, job="another"))
    assert store.load(run.id) == run


def test_an_unknown_run_has_suggestions(store: ArtifactStore, record: Make) -> None:
    run = record()
    store.commit(run)
    near = run.id[:-1] + ("0" if run.id[-1] != "0" else "1")
    with pytest.raises(NotFoundError, match=run.id) as caught:
        store.load(near)
    assert "did you mean" in caught.value.hint
    with pytest.raises(NotFoundError, match="has no run"):
        ArtifactStore(store.url + "/empty").load(near)


def test_an_empty_store_has_no_runs(store: ArtifactStore) -> None:
    assert (store.runs(), store.uncommitted()) == ([], [])


def test_a_store_that_cannot_be_read_is_named(
    local: ArtifactStore, record: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = record()
    local.commit(run)

    def fail(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", fail)
    monkeypatch.setattr(os, "scandir", fail)
    acts: list[Callable[[], object]] = [
        local.runs,
        local.uncommitted,
        lambda: local.load(run.id),
        lambda: local.read("x"),
    ]
    for act in acts:
        with pytest.raises(NotFoundError, match=r"file:///\S+ cannot be read: Permission denied"):
            act()


# Manifests that are not as they were committed


def test_a_manifest_cut_short_anywhere_is_corrupt(local: ArtifactStore, record: Make) -> None:
    run = record()
    local.commit(run)
    path = manifest_of(local, run.id)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(CorruptError, match=r"manifest\.json"):
            local.load(run.id)
    path.write_bytes(whole)
    assert local.load(run.id) == run


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 10**6), flip=st.integers(1, 255))
def test_a_manifest_with_any_byte_changed_is_corrupt(
    local: ArtifactStore, record: Make, at: int, flip: int
) -> None:
    run = record()
    local.commit(run)
    path = manifest_of(local, run.id)
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= flip
    path.write_bytes(data)
    with pytest.raises(CorruptError, match=r"manifest\.json"):
        local.load(run.id)


def test_a_manifest_of_another_version_is_refused(local: ArtifactStore, record: Make) -> None:
    run = record()
    local.commit(run)
    path = manifest_of(local, run.id)
    path.write_bytes(path.read_bytes().replace(b'"version":2', b'"version":3', 1))
    with pytest.raises(CorruptError, match=r"form 3.*reads form 2") as caught:
        local.load(run.id)
    assert "upgrade" in caught.value.hint
    path.write_bytes(b'{"version":3,"everything":"different"}')
    with pytest.raises(CorruptError, match="form 3"):
        local.load(run.id)


def test_a_manifest_moved_to_another_run_is_corrupt(local: ArtifactStore, record: Make) -> None:
    run, other = record(), record()
    local.commit(run)
    local.commit(other)
    manifest_of(local, other.id).write_bytes(manifest_of(local, run.id).read_bytes())
    with pytest.raises(CorruptError, match=f"of another run, {run.id}"):
        local.load(other.id)


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"\xff" * 100, b"null", b"[" * 10**6])
def test_anything_else_for_a_manifest_is_corrupt(
    local: ArtifactStore, record: Make, data: bytes
) -> None:
    run = record()
    local.write(f"{local.run_path(run.id)}/manifest.json", data)
    with pytest.raises(CorruptError, match=r"manifest\.json"):
        local.load(run.id)


def test_a_digest_does_not_excuse_a_wrong_record(local: ArtifactStore, record: Make) -> None:
    import hashlib

    text = b'{"nodes":[],"value":{"$":"RunRecord"}}'
    digest = hashlib.sha256(text).hexdigest().encode()
    run = record()
    data = b'{"version":2,"digest":"%s","record":%s}\n' % (digest, text)
    local.write(f"{local.run_path(run.id)}/manifest.json", data)
    with pytest.raises(CorruptError, match=r"manifest\.json: RunRecord"):
        local.load(run.id)


# Local disks: atomicity, privacy


def files_of(store: ArtifactStore) -> list[Path]:
    root = Path(local_path(store.url) or "")
    return sorted(path for path in root.rglob("*") if path.is_file())


def test_of_concurrent_commits_one_succeeds(local: ArtifactStore, record: Make) -> None:
    run_id = str(uuid.uuid4())
    runs = [record(run_id, job=f"writer {i}") for i in range(8)]
    start = threading.Barrier(len(runs))
    won: list[RunRecord] = []
    lost: list[LineageError] = []

    def commit(run: RunRecord) -> None:
        start.wait()
        try:
            local.commit(run)
            won.append(run)
        except AmbiguousError as error:
            lost.append(error)

    threads = [threading.Thread(target=commit, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(lost)) == (1, 7)
    assert local.load(run_id) == won[0]
    assert files_of(local) == [manifest_of(local, run_id)]


@pytest.mark.parametrize("broken", ["link", "fsync", "write"])
@pytest.mark.parametrize("error", [OSError("no space"), KeyboardInterrupt()])
def test_a_commit_that_breaks_off_leaves_nothing(
    local: ArtifactStore,
    record: Make,
    monkeypatch: pytest.MonkeyPatch,
    broken: str,
    error: BaseException,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    run = record()
    with monkeypatch.context() as patched:
        if broken == "write":
            patched.setattr(os, "fdopen", fail)
        else:
            patched.setattr(os, broken, fail)
        with pytest.raises(type(error)):
            local.commit(run)
    assert local.runs() == [] and files_of(local) == []
    local.commit(run)
    assert local.load(run.id) == run


@pytest.mark.parametrize("broken", ["replace", "fsync"])
def test_a_write_that_breaks_off_leaves_the_old_content(
    local: ArtifactStore, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no space")

    local.write("x", b"old")
    with monkeypatch.context() as patched:
        patched.setattr(os, broken, fail)
        with pytest.raises(OSError, match="no space"):
            local.write("x", b"new")
    assert local.read("x") == b"old"
    assert [path.name for path in files_of(local)] == ["x"]


def test_a_manifest_is_synced_before_it_is_visible(
    local: ArtifactStore, record: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = record()
    seen: list[bool] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        seen.append(bool(local.runs()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    local.commit(run)
    assert seen[-1] and not any(seen[:-1])  # the file's content before, its directory after
    assert len(seen) >= 2


def test_the_store_is_private(tmp_path: Path, record: Make) -> None:
    old = os.umask(0)
    try:
        store = ArtifactStore(str(tmp_path / "new" / "store"))
        run = record()
        store.write(f"{store.run_path(run.id)}/saved/a/b.parquet", b"x")
        store.commit(run)
    finally:
        os.umask(old)
    root = tmp_path / "new" / "store"
    modes = {path: path.stat().st_mode & 0o777 for path in [root, *root.rglob("*")]}
    assert len(modes) == 7
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}


def test_removing_a_link_keeps_what_it_leads_to(local: ArtifactStore, tmp_path: Path) -> None:
    local.write("folder/x", b"")
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_bytes(b"1")
    root = Path(local_path(local.url) or "")
    (root / "folder" / "link").symlink_to(tmp_path / "precious")
    (root / "direct").symlink_to(tmp_path / "precious")
    local.remove("folder")
    local.remove("direct")
    assert (tmp_path / "precious" / "file").read_bytes() == b"1"
    assert not local.exists("folder") and not local.exists("direct")


# URLs


def test_a_relative_path_is_fixed_when_the_store_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = ArtifactStore("lineage/")
    monkeypatch.chdir("/")
    store.write("x", b"1")
    assert (tmp_path / "lineage" / "x").read_bytes() == b"1"
    assert store.url == f"file://{tmp_path}/lineage"


@pytest.mark.parametrize("url", ["nosuch://x/y", "", "ftp+weird://x"])
def test_an_url_nobody_knows_is_refused(url: str) -> None:
    with pytest.raises(UnsupportedError):
        ArtifactStore(url)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("s3://key:secret@bucket/lineage", "s3://bucket/lineage"),
        ("s3a://bucket/lineage/", "s3://bucket/lineage"),
        ("s3://bucket/l?endpoint_override=localhost:1&scheme=http&region=x", "s3://bucket/l"),
    ],
)
def test_no_credentials_or_options_in_names(url: str, expected: str) -> None:
    separator = "&" if "?" in url else "?"
    backend = open_backend(f"{url}{separator}region=eu-west-1")
    assert isinstance(backend, Remote)
    assert backend.uri == expected
    assert "secret" not in repr(ArtifactStore(f"{url}{separator}region=eu-west-1"))
