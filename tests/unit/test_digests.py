"""The digest type: its two forms, and what is not one."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from fatwheel.digests import Digest, file_digest, raw_digest, stream_digest
from fatwheel.records.release import HashedFile

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_digest_is_its_digits_and_has_a_prefixed_form() -> None:
    digest = Digest(f"sha256:{ABC}")
    assert digest == ABC == Digest.of(b"abc")
    assert digest.prefixed == f"sha256:{ABC}"
    assert digest.short == "ba7816bf8f01"


@pytest.mark.parametrize("text", ["", "sha256:", ABC[:-1], ABC.upper(), f"md5:{ABC}", f"sha512:{ABC}", f"{ABC}\n"])
def test_anything_else_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="is not a SHA-256 digest"):
        Digest(text)
    assert Digest.from_api(text) is None


def test_an_api_may_give_none() -> None:
    assert Digest.from_api(None) is None
    assert Digest.from_api(f"sha256:{ABC}") == ABC


def test_files_and_streams_have_the_digest_of_their_bytes(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"abc")
    assert file_digest(file) == stream_digest([b"a", b"", b"bc"]) == ABC
    assert raw_digest([b"abc"]) == hashlib.sha256(b"abc").digest()


def test_records_hold_the_bare_digits() -> None:
    record = HashedFile(path="/x", size=3, mtime_ns=0, sha256=Digest(ABC))
    assert f'"sha256": "{ABC}"' in record.to_json()
    again = HashedFile.model_validate_json(record.to_json())
    assert isinstance(again.sha256, Digest)
    assert again == record
