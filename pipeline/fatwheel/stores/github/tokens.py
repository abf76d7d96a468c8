"""Which token opens a repository: its own where the environment has one, else the one for all."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fatwheel.errors import UsageError
from fatwheel.stores.github.hosts import check_token


def token_variable(repository: str) -> str:
    """The variable with a repository's own token: ``FATWHEEL_TOKEN_OWNER_REPO``."""
    return f"FATWHEEL_TOKEN_{re.sub('[^A-Z0-9]', '_', repository.upper())}"


def token_for(repository: str, environment: Mapping[str, str]) -> str | None:
    """The repository's own token, else GITHUB_TOKEN or GH_TOKEN.

    Raises `UsageError` where its own variable is there and empty, as a secret is that nobody has set, rather than try
    with a token that cannot write there.
    """
    own = token_variable(repository)
    if own in environment:
        token = check_token(environment[own])
        if token is None:
            raise UsageError(
                f"there is no token for {repository}: {own} is empty", where=own,
                help="set the secret that matrix.yaml names for it, in the repository or in the job's environment",
            )  # fmt: skip
        return token
    return check_token(environment.get("GITHUB_TOKEN") or environment.get("GH_TOKEN"))
