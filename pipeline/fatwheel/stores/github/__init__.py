"""Releases on github.com or on a GitHub Enterprise server."""

from __future__ import annotations

from collections.abc import Mapping

from fatwheel.clock import Clock
from fatwheel.errors import UsageError
from fatwheel.stores.github.hosts import DEFAULT_API, check_api
from fatwheel.stores.github.requests import Requests
from fatwheel.stores.github.store import GitHubStore, is_repository
from fatwheel.stores.github.tokens import token_for
from fatwheel.stores.upload_timeout import UploadLimits


def open_github(
    repository: str,
    environment: Mapping[str, str],
    *,
    limits: UploadLimits | None = None,
    clock: Clock | None = None,
) -> GitHubStore:
    """Open OWNER/REPO with GITHUB_TOKEN (or GH_TOKEN) and GITHUB_API_URL, as in GitHub Actions. Raises `UsageError`.

    The repository's own token takes precedence, see `token_variable`.
    """
    if not is_repository(repository):
        raise UsageError(f"invalid repository {repository!r}", where="--store", help="use github:OWNER/REPO")
    api = check_api(environment.get("GITHUB_API_URL") or DEFAULT_API)
    token = token_for(repository, environment)
    return GitHubStore(repository, Requests(api, token, limits or UploadLimits(), clock or Clock()))
