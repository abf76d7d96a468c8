"""What GitHub's answers mean: by status, code and message, and how long they ask to wait."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

from fatwheel.stores.store_errors import FailureKind, StoreFailure

_LIMITS = re.compile(r"secondary rate|rate limit|abuse detection|too many requests", re.IGNORECASE)


def failure(status: int, headers: Mapping[str, str], text: str, *, now: float, sent_all: bool = False) -> StoreFailure:
    """The failure that an answer stands for. ``now`` in seconds since 1970, used where the answer has no Date."""
    document = _document(text)
    said = _said(document, text)
    what = f"{status} {said}".strip()
    wait = wait_asked(headers, now)
    if wait:
        what += f" (asks to wait {wait:,.0f} s)"
    if status == 429 or (status == 403 and (wait is not None or _LIMITS.search(said))):
        return StoreFailure(what, FailureKind.LIMITED, wait=wait)
    if status == 401:
        return StoreFailure(what, FailureKind.RELEASE, help="GITHUB_TOKEN is missing, wrong or expired: get a new one")
    if status == 403:
        return StoreFailure(what, FailureKind.RELEASE, help="the token needs `contents: write` in this repository")
    if status == 404:
        return StoreFailure(what, FailureKind.GONE)
    if status == 422:
        return StoreFailure(what, _unprocessable(document, said), sent_all=sent_all)
    if status >= 500:
        return StoreFailure(what, FailureKind.AMBIGUOUS, wait=wait, sent_all=sent_all)
    if status in {408, 409, 425}:
        return StoreFailure(what, FailureKind.AMBIGUOUS, wait=wait, sent_all=sent_all)
    return StoreFailure(what, FailureKind.ASSET)


def wait_asked(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait: Retry-After in seconds or as a date, else the reset of an exhausted limit; None if not asked.

    Dates are held against the answer's own Date, so that a wrong local clock does no harm.
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


def _unprocessable(document: dict[str, Any], said: str) -> FailureKind:
    errors = [error for error in document.get("errors") or [] if isinstance(error, dict)]
    fields = {(error.get("code"), error.get("field")) for error in errors}
    if "reference does not exist" in said.lower():  # a tag that is gone already
        return FailureKind.GONE
    if "immutable" in said.lower():
        return FailureKind.RELEASE
    if ("already_exists", "name") in fields or ("already_exists", "tag_name") in fields or "already_exists" in said:
        return FailureKind.TAKEN
    if any(field == "file_count" for _, field in fields) or "file_count" in said:
        return FailureKind.RELEASE
    return FailureKind.ASSET


def _document(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _said(document: dict[str, Any], text: str) -> str:
    """The answer in one line; an HTML page is not shown."""
    if not document:
        return "" if "<" in text else " ".join(text.split())[:200]
    parts = [str(document.get("message", ""))]
    for error in document.get("errors") or []:
        if isinstance(error, dict):
            words = (error.get(key) for key in ("message", "field", "code"))
            parts.append(" ".join(str(word) for word in words if word))
        else:
            parts.append(str(error))
    return ": ".join(part for part in parts if part)[:300]
