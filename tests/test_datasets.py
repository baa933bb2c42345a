"""Dataset names: all spellings of a dataset have one canonical URI, no two datasets share it."""

from __future__ import annotations

import doctest
import os
from pathlib import Path

import pyarrow.fs as pafs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_core import datasets
from lineage_core.datasets import canonical, display, local_path, openlineage_name
from lineage_core.errors import UnsupportedError


def test_the_examples_in_the_documentation() -> None:
    result = doctest.testmod(datasets)
    assert result.attempted >= 8 and result.failed == 0


@pytest.mark.parametrize(
    "name",
    [
        "/data/my orders",
        "/data/my orders/",
        "//data//my orders///",
        "/data/./x/../my orders",
        "file:/data/my orders",
        "file:/data/my%20orders",
        "file:///data/my%20orders/",
        "file:///data/%6Dy%20orders",
        "file:///data/x/%2e%2e/my orders",
        "FILE:///data/my orders",
        "file://localhost/data/my%20orders",
        "file//data/my orders",
        "/../data/my orders",
    ],
)
def test_spellings_of_a_local_dataset(name: str) -> None:
    assert canonical(name) == "file:///data/my%20orders"


@pytest.mark.parametrize(
    "name",
    [
        "s3://bucket/a/b",
        "s3a://bucket/a/b/",
        "s3n://bucket//a/./b",
        "S3A://bucket/a/c/../b",
        "s3://bucket/../a/b",
    ],
)
def test_spellings_of_an_object_store_dataset(name: str) -> None:
    assert canonical(name) == "s3://bucket/a/b"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("/", "file:///"),
        ("file:///", "file:///"),
        ("s3://bucket", "s3://bucket"),
        ("s3://bucket/", "s3://bucket"),
        ("gcs://b/k", "gs://b/k"),
        ("hdfs://nn:8020/a", "hdfs://nn:8020/a"),
        ("hdfs:/a", "hdfs:///a"),
        (
            "abfss://box@account.dfs.core.windows.net/a",
            "abfss://box@account.dfs.core.windows.net/a",
        ),
        ("file://nas/share/a", "file://nas/share/a"),
        ("jdbc:postgresql://h:1/db?x=%20#/../y", "jdbc:postgresql://h:1/db?x=%20#/../y"),
        ("s3://key:secret@bucket/a", "s3://bucket/a"),
        ("jdbc:postgresql://u:p@h:1/db?user=u&ssl=1&password=p", "jdbc:postgresql://h:1/db&ssl=1"),
        ("jdbc:sqlserver://h;databaseName=d;User=u;PWD=p", "jdbc:sqlserver://h;databaseName=d"),
        ("jdbc:postgresql://h:1/db?x=a@b", "jdbc:postgresql://h:1/db?x=a@b"),
        ("jdbc:oracle:thin:scott/tiger@//h:1521/s", "jdbc:oracle:thin://h:1521/s"),
        ("/a%20b", "file:///a%2520b"),
        ("file:///a%20b", "file:///a%20b"),
        ("/100%", "file:///100%25"),
        ("s3://b/100%", "s3://b/100%25"),
        ("/a#b?c", "file:///a%23b%3Fc"),
        ("file:/a#b?c", "file:///a%23b%3Fc"),
        ('/it\'s "q"', "file:///it's%20%22q%22"),
        ("/größe/日本", "file:///gr%C3%B6%C3%9Fe/%E6%97%A5%E6%9C%AC"),
        ("file:/größe", "file:///gr%C3%B6%C3%9Fe"),
        ("/dt=2024-01-01/h:1", "file:///dt=2024-01-01/h:1"),
        ("/back\\slash", "file:///back%5Cslash"),
        ("/new\nline", "file:///new%0Aline"),
        ("/ lead", "file:///%20lead"),
    ],
)
def test_what_each_name_means(name: str, expected: str) -> None:
    assert canonical(name) == expected


def test_a_relative_path_is_below_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    here = f"file://{tmp_path}"
    for name in ("out/q4", "./out/q4/", "out/../out/q4", "file:out/q4"):
        assert canonical(name) == f"{here}/out/q4"
    assert canonical(".") == here
    assert canonical("orders:v2") == f"{here}/orders:v2"  # a scheme has a path after it
    assert canonical("c:/x") == f"{here}/c:/x"


@pytest.mark.parametrize("name", ["", " ", "\n", "a\0b", "s3://b/a\0", "/\ud800", "s3://b/%00"])
def test_no_names(name: str) -> None:
    with pytest.raises(UnsupportedError, match="is no dataset name"):
        canonical(name)


PATHS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


@given(PATHS)
def test_a_path_means_exactly_the_file_of_that_path(text: str) -> None:
    path = "/" + text
    uri = canonical(path)
    assert canonical(uri) == uri
    assert local_path(uri) == "/" + os.path.normpath(path).lstrip("/")
    filesystem, inner = pafs.FileSystem.from_uri(uri)
    assert (filesystem.type_name, inner) == ("local", local_path(uri))
    assert canonical(display(uri)) == uri
    assert canonical("/".join(openlineage_name(uri))) == uri


@given(PATHS, st.sampled_from(["s3", "gs", "hdfs", "abfss"]))
def test_any_uri_is_canonical_after_one_step(text: str, scheme: str) -> None:
    uri = canonical(f"{scheme}://host/{text}")
    assert canonical(uri) == uri
    assert uri.isascii() and not uri.endswith("/")
    namespace, name = openlineage_name(uri)
    assert namespace == f"{scheme}://host"
    assert canonical(display(uri)) == uri
    if "%" not in name:  # in a URI, an escape and what it stands for are the same thing
        assert canonical(f"{namespace}/{name}") == uri


@given(PATHS, PATHS)
def test_different_files_have_different_names(one: str, other: str) -> None:
    same = os.path.normpath(f"/{one}").lstrip("/") == os.path.normpath(f"/{other}").lstrip("/")
    assert (canonical(f"/{one}") == canonical(f"/{other}")) == same


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("file:///", ("file", "/")),
        ("file:///a%20b/c", ("file", "/a b/c")),
        ("file://nas/share", ("file://nas", "/share")),
        ("s3://bucket/a/b%23c", ("s3://bucket", "a/b#c")),
        ("s3://bucket", ("s3://bucket", "/")),
        ("gs://bucket/a", ("gs://bucket", "a")),
        ("hdfs://nn:8020/a", ("hdfs://nn:8020", "/a")),
        ("jdbc:postgresql://h/db", ("jdbc", "postgresql://h/db")),
        ("spark:LogicalRDD/0", ("spark", "LogicalRDD/0")),
        ("abfss://box@acc.dfs.core.windows.net/a", ("abfss://box@acc.dfs.core.windows.net", "/a")),
    ],
)
def test_openlineage_names(uri: str, expected: tuple[str, str]) -> None:
    assert openlineage_name(uri) == expected


@pytest.mark.parametrize(
    "name",
    ["q4", "a b/c", "file/x", "s3:/x", "file:x", "jdbc:x", " ", "100%", "a%20b", "-x", "it's", "#"],
)
def test_a_name_below_the_working_directory_is_short_and_reads_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    uri = canonical(str(tmp_path / name))
    assert canonical(display(uri)) == uri
    assert display(uri).removeprefix("./") == name
    assert display(canonical(str(tmp_path))) == "."
    assert display(canonical(str(tmp_path.parent))) == str(tmp_path.parent)
    assert display(canonical(str(tmp_path) + "x")) == str(tmp_path) + "x"
