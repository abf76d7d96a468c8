"""Checks of API URLs, tokens, and the hosts that a token may be sent to."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

from fatwheel.errors import UsageError

DEFAULT_API = "https://api.github.com"


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_api(url: str) -> str:
    """Return the base URL of the API, ending in a slash. Raises `UsageError`; plain http requires a loopback host."""
    parts = _split(url)
    odd = parts is None or "@" in parts.netloc or parts.query or parts.fragment
    if parts is None or odd or parts.scheme not in {"http", "https"} or not parts.hostname:
        shown = "it" if "@" in url else repr(url)  # the part before an @ may be a password
        raise UsageError(f"invalid API URL: {shown}", where="GITHUB_API_URL", help="use https://HOST/api/v3")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise UsageError(
            f"{url} is plain http, which would expose the token",
            where="GITHUB_API_URL",
            help="use https; plain http is only accepted for this machine",
        )
    return url.rstrip("/") + "/"


def trusted(url: str, api: str) -> bool:
    """Whether ``url`` belongs to the service at ``api``, so that its token may be sent there.

    Uploads to api.github.com go to uploads.github.com, to api.TENANT.ghe.com to uploads.TENANT.ghe.com, and to an
    Enterprise server to the same host. On loopback, the ports may differ.
    """
    there, here = _split(url), _split(api)
    if not there or not here or not there.hostname or not here.hostname or "@" in there.netloc:
        return False
    if is_loopback(here.hostname):
        return is_loopback(there.hostname)
    if there.scheme != "https" or _port(there) != _port(here):
        return False
    hosts = {here.hostname}
    if here.hostname.startswith("api."):
        hosts.add("uploads." + here.hostname.removeprefix("api."))
    return there.hostname in hosts


def check_token(token: str | None) -> str | None:
    """Return a token without surrounding whitespace. Raises `UsageError`, which does not contain the token."""
    token = (token or "").strip()
    if not re.fullmatch(r"[!-~]*", token):
        raise UsageError(
            "invalid characters in the token", where="GITHUB_TOKEN", help="remove spaces, quotes and line breaks"
        )
    return token or None


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _port(parts)
    except ValueError:
        return None
    return parts


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)
