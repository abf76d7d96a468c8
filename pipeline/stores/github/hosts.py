"""Which hosts a token may be sent to: those of the API it was given for, and no others."""

from __future__ import annotations

import ipaddress
from urllib.parse import SplitResult, urlsplit

from pipeline.errors import UsageError

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
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise UsageError(f"{url!r} is no API URL", where="GITHUB_API_URL", remedy="as in https://HOST/api/v3")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise UsageError(
            f"{url} is plain http: a token sent there can be read by others",
            where="GITHUB_API_URL",
            remedy="use https; plain http is for this machine itself only",
        )
    return url.rstrip("/") + "/"


def trusted(url: str, api: str) -> bool:
    """Whether ``url`` belongs to the service at ``api``, so that its token may go there.

    Uploads of api.github.com go to uploads.github.com, of api.TENANT.ghe.com to uploads.TENANT.ghe.com, and of an
    Enterprise server to the same host. On loopback a port of its own is as good as a host of its own.
    """
    there, here = urlsplit(url), urlsplit(api)
    if not there.hostname or not here.hostname or there.username:
        return False
    if is_loopback(here.hostname):
        return is_loopback(there.hostname)
    if there.scheme != "https" or _port(there) != _port(here):
        return False
    hosts = {here.hostname}
    if here.hostname.startswith("api."):
        hosts.add("uploads." + here.hostname.removeprefix("api."))
    return there.hostname in hosts


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)
