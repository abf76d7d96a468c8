"""How GitHub changes the names of assets."""

from __future__ import annotations

import re
import unicodedata


def normalise(name: str) -> str:
    """The name that an asset gets: odd characters become dots, runs of dots one, none at the ends."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = re.sub(r"[^A-Za-z0-9._+@-]", ".", plain)
    plain = re.sub(r"\.{2,}", ".", plain).rstrip(".")
    return f"default{plain}" if plain.startswith(".") else plain
