"""Editing headers of METADATA and WHEEL keeps every other byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fatwheel.wheels.formats.metadata import edit_headers, read_headers


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        (b"Name: a\nVersion: 1\n\nVersion: 1\n", {"Version": ["2"]}, b"Name: a\nVersion: 2\n\nVersion: 1\n"),
        (b"Name: a\r\nversion:1\r\n\r\nbody", {"Version": ["2"]}, b"Name: a\r\nversion: 2\r\n\r\nbody"),
        (b"Name: a\rVersion: 1\r\rbody", {"Version": ["2"]}, b"Name: a\rVersion: 2\r\rbody"),
        (b"Version:\n 1\n\n", {"Version": ["1"]}, b"Version:\n 1\n\n"),
        (b"Version: 1\n more\nName: a\n", {"Version": ["2"]}, b"Version: 2\nName: a\n"),
        (b"Tag: a\nBuild: 1\nTag: b\n", {"Tag": ["c", "d", "e"]}, b"Tag: c\nTag: d\nTag: e\nBuild: 1\n"),
        (b"Name: a\n\nbody", {"Tag": ["c"]}, b"Name: a\nTag: c\n\nbody"),
        (b"Name: a", {"Tag": ["c"]}, b"Name: a\nTag: c\n"),
        (b"Name: a", {"Name": ["a"]}, b"Name: a"),
        (b"Version: 1\nVersion: 1\n", {"Version": ["2"]}, b"Version: 2\n"),
        (b"Name: a\nno header\nVersion: 1\n", {"Version": ["2"]}, b"Name: a\nVersion: 2\nno header\nVersion: 1\n"),
        (b"", {"Version": ["2"]}, b"Version: 2\n"),
    ],
)
def test_edits(before, changes, after):
    assert edit_headers(before, changes) == after
    assert edit_headers(after, changes) == after


LINE = st.text(st.characters(exclude_characters="\r\n", exclude_categories=("Cs", "Cc")), max_size=20)


@given(
    fields=st.lists(st.tuples(st.sampled_from(["Name", "version", "Summary", "Requires-Dist"]), LINE), max_size=6),
    end=st.sampled_from(["\n", "\r\n"]),
    body=st.text(max_size=60),
)
def test_what_is_written_is_read_and_the_rest_stays(fields, end, body):
    head = "".join(f"{name}: {value}{end}" for name, value in fields)
    before = f"{head}{end}{body}".encode("utf-8", "surrogatepass")
    after = edit_headers(before, {"Version": ["9+new"]})
    assert after.endswith(f"{end}{body}".encode("utf-8", "surrogatepass"))
    old, new = read_headers(before), read_headers(after)
    assert new.get_all("Version") == ["9+new"]
    kept = [(name, str(value)) for name, value in old.items() if name.lower() != "version"]
    assert [(name, str(value)) for name, value in new.items() if name.lower() != "version"] == kept
