"""Names of environment variables that hold secrets, and text without their values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

# A word of the name, between underscores, that ends in one of these: GPG_SIGNING_KEY, DB_CREDENTIAL, PGPASSWORD.
_WORD = re.compile(r"(?:^|_)[A-Z0-9]*(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|KEY)S?(?:_|$)")
_LAST_WORD = re.compile(r"_(?:PAT|PASS|PWD)$")  # PWD alone is the working folder
_SHORTEST = 6  # characters of a value that is redacted: shorter ones are part of ordinary words


def is_secret(name: str) -> bool:
    """Return whether a variable holds a secret, by its name alone. Upper and lower case are equal."""
    upper = name.upper()
    return bool(_WORD.search(upper) or _LAST_WORD.search(upper))


def redact(text: str, environ: Mapping[str, str]) -> str:
    """Replace the values of secret variables with ``<NAME>``, both as they are and as JSON strings contain them."""
    secrets = {name: value for name, value in environ.items() if len(value) >= _SHORTEST and is_secret(name)}
    for name, value in sorted(secrets.items(), key=lambda pair: -len(pair[1])):
        for written in {value, json.dumps(value)[1:-1]}:
            text = text.replace(written, f"<{name}>")
    return text
