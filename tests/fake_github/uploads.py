"""Receiving an asset, rightly or wrongly."""

from __future__ import annotations

import hashlib
import socket
import struct
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

from tests.fake_github.faults import Fault
from tests.fake_github.names import normalise
from tests.fake_github.shapes import error
from tests.fake_github.state import STARTER, UPLOADED, Asset, Release

if TYPE_CHECKING:
    from tests.fake_github.server import Handler

KEPT = 4 << 20  # bytes of an asset that are kept, to be read back
SIZE_LIMIT = 2147483648


class Dropped(Exception):
    """The connection was broken on purpose."""


def limited(kind: str, fault: Fault, now: float) -> tuple[int, dict[str, Any], dict[str, str]] | None:
    """The answer of a rate limit, for faults of that kind."""
    secondary = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
    match kind:
        case "403-seconds":
            return 403, error(403, secondary), {"retry-after": str(int(fault.seconds))}
        case "403-silent":
            return 403, error(403, secondary), {}
        case "403-date":
            return 403, error(403, secondary), {"retry-after": formatdate(now + fault.seconds, usegmt=True)}
        case "503-wait":
            return 503, {"message": "Unavailable"}, {"retry-after": str(int(fault.seconds))}
        case "redirect-nowhere":
            return 302, {}, {}
        case "redirect-junk":
            return 307, {}, {"location": "https://[::1/"}
        case "429":
            return 429, error(429, "Too many requests"), {"retry-after": str(int(fault.seconds))}
        case "primary":
            reset = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(now + fault.seconds))}
            return 403, error(403, "API rate limit exceeded for installation."), reset
    return None


def refusal(kind: str) -> tuple[int, dict[str, Any]] | None:
    """Answers that no bytes are read for."""
    name = {"resource": "ReleaseAsset", "code": "already_exists", "field": "name"}
    size = {
        "resource": "ReleaseAsset", "code": "custom", "field": "size",
        "message": "size must be less than 2147483648",
    }  # fmt: skip
    count = {
        "resource": "ReleaseAsset", "code": "custom", "field": "file_count",
        "message": "file_count limited to 1000 assets per release",
    }  # fmt: skip
    if kind.isdigit():  # that status, and nothing to say about it
        return int(kind), error(int(kind), "No")
    return {
        "502-before": (502, {"message": "Server Error"}),
        "413": (413, error(413, "Payload too large")),
        "422-size": (422, error(422, "Validation Failed", size)),
        "422-odd": (422, error(422, "Validation Failed", {"resource": "ReleaseAsset", "code": "custom"})),
        "422-count": (422, error(422, "Validation Failed", count)),
        "422-immutable": (422, error(422, "Cannot upload assets to an immutable release.")),
        "401": (401, error(401, "Bad credentials")),
        "403-permission": (403, error(403, "Resource not accessible by integration")),
        "404": (404, error(404, "Not Found")),
        "taken": (422, error(422, "Validation Failed", name)),
    }.get(kind)


def receive(handler: Handler, release: Release, name: str, label: str | None, fault: Fault | None) -> None:
    """One upload. The order of the checks is GitHub's: release, name, length, size, count, then the body."""
    state, kind = handler.site.state, fault.kind if fault else ""
    if fault and (answer := limited(kind, fault, state.clock.wall())):
        handler.answer(*answer[:2], headers=answer[2], drain=True)
        return
    if early := refusal(kind):
        handler.answer(*early, drain=True)
        return
    if kind in {"redirect", "redirect-away"}:
        host = handler.site.uploads_url if kind == "redirect" else "https://elsewhere.example"
        handler.answer(307, {}, headers={"location": f"{host}{handler.path}"}, drain=True)
        return
    length = handler.headers.get("content-length", "")
    with state.lock:
        if release.immutable:
            problem = refusal("422-immutable")
        elif not name or not length.isdigit():
            problem = (400, error(400, "Bad Content-Length: " if name else "Empty name"))
        elif int(length) >= SIZE_LIMIT:
            problem = refusal("422-size")
        elif len(release.assets) >= 1000:
            problem = refusal("422-count")
        elif any(asset.name == normalise(name) for asset in release.assets.values()):
            problem = refusal("taken")
        else:
            problem = None
            asset = state.add_asset(release, normalise(name), label=label)
    if problem:
        handler.answer(*problem, drain=True)
        return
    if kind == "ghost":  # it broke off unseen: the row is there, the lists do not show it yet
        asset.hidden = int(fault.seconds) if fault else 0
        handler.answer(*refusal("taken") or (422, {}), drain=True)
        return
    _body(handler, release, asset, int(length), fault)


def _body(handler: Handler, release: Release, asset: Asset, length: int, fault: Fault | None) -> None:
    kind = fault.kind if fault else ""
    stops = {"502-middle", "rst", "fin", "stall-reading"}
    share = int(length * fault.at) if fault and kind in stops else length
    digest, kept = hashlib.sha256(), bytearray()
    for chunk in handler.body(share):
        if handler.site.hashing:
            digest.update(chunk)
        if length <= KEPT:
            kept += chunk
    if kind in stops:
        _break(handler, kind)
        return
    if kind in {"502-after", "500-starter", "unicorn"}:
        page = "<html><title>Unicorn! &middot; GitHub</title></html>"
        status = 500 if kind == "500-starter" else 502
        handler.answer(status, page if kind == "unicorn" else {"message": "Error creating asset temp dir"})
        return
    if kind == "stall-reply":
        handler.site.stall()
        raise Dropped
    with handler.site.state.lock:
        asset.state, asset.size, asset.content = UPLOADED, length, bytes(kept)
        asset.digest = f"sha256:{digest.hexdigest()}" if handler.site.hashing else None
        _spoil(asset, kind)
        shown = handler.site.shapes.asset(asset, release)
    _reply(handler, asset, shown, fault)


def _spoil(asset: Asset, kind: str) -> None:
    """Store something else than was sent."""
    if kind == "wrong-digest":
        asset.digest = f"sha256:{'0' * 64}"
    elif kind == "truncated":
        asset.size = max(0, asset.size - 1)
        asset.digest = f"sha256:{'1' * 64}"
    elif kind == "renamed":
        asset.name = f"renamed.{asset.name}"
    elif kind == "fin-settling":
        asset.state, asset.settling = STARTER, 2
    elif kind == "starter-201":
        asset.state, asset.size, asset.digest = STARTER, 0, None


def _reply(handler: Handler, asset: Asset, shown: dict[str, Any], fault: Fault | None) -> None:
    """Answer what has landed, or fail to."""
    kind = fault.kind if fault else ""
    if kind == "late-committed":
        asset.hidden = int(fault.seconds) if fault else 0
    if kind in {"502-committed", "late-committed"}:
        handler.answer(502, {"message": "Server Error"})
    elif kind in {"fin-committed", "fin-settling"}:
        raise Dropped
    elif kind == "stall-committed":
        handler.site.stall()
        raise Dropped
    elif kind == "html-201":
        handler.answer(201, "<html>created</html>")
    elif kind == "cut-201":
        handler.answer(201, '{"id": 1, "na')
    elif kind == "null-digest":
        handler.answer(201, shown | {"digest": None})
    else:
        handler.answer(201, shown)


def _break(handler: Handler, kind: str) -> None:
    if kind == "502-middle":
        handler.answer(502, {"message": "Server Error"}, drain=True)
        return
    if kind == "stall-reading":
        handler.site.stall()
    if kind == "rst":
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raise Dropped
