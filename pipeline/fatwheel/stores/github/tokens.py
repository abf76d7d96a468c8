"""The token for a repository: its own variable, else GITHUB_TOKEN."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fatwheel.errors import UsageError
from fatwheel.stores.github.hosts import check_token


def token_variable(repository: str) -> str:
    """Return the name of the variable with a repository's own token: ``FATWHEEL_TOKEN_OWNER_REPO``."""
    return f"FATWHEEL_TOKEN_{re.sub('[^A-Z0-9]', '_', repository.upper())}"


def token_for(repository: str, environment: Mapping[str, str]) -> str | None:
    """Return the repository's own token, else GITHUB_TOKEN or GH_TOKEN.

    Raises `UsageError` if its own variable is set but empty, as an undefined secret is: GITHUB_TOKEN usually cannot
    write to another repository.
    """
    own = token_variable(repository)
    if own in environment:
        token = check_token(environment[own])
        if token is None:
            raise UsageError(
                f"no token for {repository}: {own} is empty", where=own,
                help="set the secret that matrix.yaml names for it, in the repository or the environment of the job",
            )  # fmt: skip
        return token
    return check_token(environment.get("GITHUB_TOKEN") or environment.get("GH_TOKEN"))
