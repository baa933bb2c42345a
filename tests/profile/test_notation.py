"""How functional dependencies are written and read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lineage_core as lc
from lineage_core.profile import Dependency, read_dependency

NAMES = st.lists(
    st.text(st.sampled_from('ab ,"`->é\n'), min_size=1, max_size=6), min_size=1, max_size=3
).filter(lambda names: len({name.lower() for name in names}) == len(names))


@given(NAMES, NAMES)
def test_what_is_written_reads_back(left: list[str], right: list[str]) -> None:
    dependency = Dependency(tuple(left), tuple(right))
    assert read_dependency(str(dependency)) == dependency


@pytest.mark.parametrize(
    ("text", "left", "right"),
    [
        ("zip -> city", ["zip"], ["city"]),
        (" zip,street->city , state ", ["zip", "street"], ["city", "state"]),
        ('"a ""b"" ->" -> `c``,`', ['a "b" ->'], ["c`,"]),
        ("a-b -> c>d", ["a-b"], ["c>d"]),
        ("straße -> 市", ["straße"], ["市"]),
    ],
)
def test_names_and_quotes(text: str, left: list[str], right: list[str]) -> None:
    assert read_dependency(text) == Dependency(tuple(left), tuple(right))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "a name is missing"),
        ("zip", "one ->"),
        ("zip ->", "a name is missing"),
        ("-> city", "a name is missing"),
        ("zip, -> city", "a name is missing"),
        ("zip -> city -> state", "one ->"),
        ("zip street -> city", "a comma or -> is missing"),
        ("zip, Zip -> city", "twice"),
        ('"zip -> city', "not closed"),
        ("`` -> city", "not closed"),
        ('"" -> city', "not closed"),
    ],
)
def test_what_is_no_dependency_is_refused(text: str, why: str) -> None:
    with pytest.raises(lc.PredicateError, match=why) as caught:
        read_dependency(text)
    assert "zip -> city" in caught.value.hint
