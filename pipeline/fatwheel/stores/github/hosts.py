"""Which hosts a token may be sent to: those of the API it was given for, and no others."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

from fatwheel.errors import UsageError

DEFAULT_API = "https://api.github.com"


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine itself."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_api(url: str) -> str:
    """The API's base URL with a slash at its end. Raises `UsageError`; plain http is for loopback only."""
    parts = _split(url)
    odd = parts is None or "@" in parts.netloc or parts.query or parts.fragment
    if parts is None or odd or parts.scheme not in {"http", "https"} or not parts.hostname:
        shown = "it" if "@" in url else repr(url)  # what stands before an @ may be a password
        raise UsageError(f"{shown} is no API URL", where="GITHUB_API_URL", help="as in https://HOST/api/v3")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise UsageError(
            f"{url} is plain http: a token sent there can be read by others",
            where="GITHUB_API_URL",
            help="use https; plain http is for this machine itself only",
        )
    return url.rstrip("/") + "/"


def trusted(url: str, api: str) -> bool:
    """Whether ``url`` belongs to the service at ``api``, so that its token may go there.

    Uploads of api.github.com go to uploads.github.com, of api.TENANT.ghe.com to uploads.TENANT.ghe.com, and of an
    Enterprise server to the same host. On loopback a port of its own is as good as a host of its own.
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
    """A token that can stand in a header; a line end around it is forgiven. Raises `UsageError` without showing it."""
    token = (token or "").strip()
    if not re.fullmatch(r"[!-~]*", token):
        raise UsageError(
            "it holds characters that no token has", where="GITHUB_TOKEN", help="look for spaces, quotes or line ends"
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
