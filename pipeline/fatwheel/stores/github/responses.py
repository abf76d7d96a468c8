"""Classifies error responses of GitHub by status, code and message."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

from fatwheel.stores.store_errors import FailureKind, StoreFailure

_LIMITS = re.compile(r"secondary rate|rate limit|abuse detection|too many requests", re.IGNORECASE)


def classify_response(
    status: int, headers: Mapping[str, str], text: str, *, now: float, sent_all: bool = False
) -> StoreFailure:
    """Return the failure for a response. ``now``: seconds since 1970, used if the response has no Date."""
    document = _parse_object(text)
    message = _get_message(document, text)
    what = f"{status} {message}".strip()
    wait = requested_wait(headers, now)
    if wait:
        what += f" (asks to wait {wait:,.0f} s)"
    if status == 429 or (status == 403 and (wait is not None or _LIMITS.search(message))):
        return StoreFailure(what, FailureKind.LIMITED, wait=wait)
    if status == 401:
        return StoreFailure(
            what, FailureKind.RELEASE, help="GITHUB_TOKEN is missing, invalid or expired; create a new one"
        )
    if status == 403:
        return StoreFailure(
            what, FailureKind.RELEASE, help="the token needs the `contents: write` permission for this repository"
        )
    if status == 404:
        return StoreFailure(what, FailureKind.GONE)
    if status == 422:
        return StoreFailure(what, _classify_unprocessable(document, message), sent_all=sent_all)
    if status >= 500:
        return StoreFailure(what, FailureKind.AMBIGUOUS, wait=wait, sent_all=sent_all)
    if status in {408, 409, 425}:
        return StoreFailure(what, FailureKind.AMBIGUOUS, wait=wait, sent_all=sent_all)
    return StoreFailure(what, FailureKind.ASSET)


def requested_wait(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that a response asks to wait, from Retry-After or the reset of an exhausted limit; else None.

    Dates are compared with the Date of the response, so that a wrong local clock does not matter.
    """
    here = _date(headers.get("date", ""))
    here = now if here is None else here
    if after := headers.get("retry-after", "").strip():
        if re.fullmatch(r"\d+(\.\d+)?", after):
            return float(after)
        until = _date(after)
        if until is not None:
            return max(0.0, until - here)
    if headers.get("x-ratelimit-remaining") == "0":
        reset = headers.get("x-ratelimit-reset", "")
        if reset.isdigit():
            return max(0.0, float(reset) - here)
    return None


def _date(text: str) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _classify_unprocessable(document: dict[str, Any], message: str) -> FailureKind:
    errors = [error for error in document.get("errors") or [] if isinstance(error, dict)]
    fields = {(error.get("code"), error.get("field")) for error in errors}
    if "reference does not exist" in message.lower():  # the tag is already deleted
        return FailureKind.GONE
    if "immutable" in message.lower():
        return FailureKind.RELEASE
    if ("already_exists", "name") in fields or ("already_exists", "tag_name") in fields or "already_exists" in message:
        return FailureKind.TAKEN
    if any(field == "file_count" for _, field in fields) or "file_count" in message:
        return FailureKind.RELEASE
    return FailureKind.ASSET


def _parse_object(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _get_message(document: dict[str, Any], text: str) -> str:
    """Return the message of a response in one line; empty for an HTML page."""
    if not document:
        return "" if "<" in text else " ".join(text.split())[:200]
    parts = [str(document.get("message", ""))]
    for error in document.get("errors") or []:
        if isinstance(error, dict):
            values = (error.get(key) for key in ("message", "field", "code"))
            parts.append(" ".join(str(value) for value in values if value))
        else:
            parts.append(str(error))
    return ": ".join(part for part in parts if part)[:300]
