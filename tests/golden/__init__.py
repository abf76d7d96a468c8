"""Golden files: what was right once, readable, renewed by UPDATE_GOLDEN=1."""

import os
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def same_as_golden(name: str, text: str) -> None:
    """Assert that a text is what the golden file of this name holds; with UPDATE_GOLDEN=1 write it first."""
    path = FOLDER / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.is_file(), f"no golden file {name}: run once with UPDATE_GOLDEN=1 and read what it writes"
    assert text == path.read_text(encoding="utf-8")
