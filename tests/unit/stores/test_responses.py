"""GitHub's answers, told apart."""

from __future__ import annotations

import json
from email.utils import formatdate

import pytest

from fatwheel.stores.github.responses import classify_response, requested_wait
from fatwheel.stores.store_errors import FailureKind

NOW = 1_790_000_000.0


def unprocessable(**error: str) -> str:
    return json.dumps({"message": "Validation Failed", "errors": [{"resource": "ReleaseAsset", **error}]})


@pytest.mark.parametrize(
    ("status", "headers", "text", "kind"),
    [
        (401, {}, '{"message": "Bad credentials"}', FailureKind.RELEASE),
        (403, {}, '{"message": "Resource not accessible by integration"}', FailureKind.RELEASE),
        (403, {"retry-after": "3"}, "{}", FailureKind.LIMITED),
        (403, {}, '{"message": "You have exceeded a secondary rate limit."}', FailureKind.LIMITED),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1790000060"}, "{}", FailureKind.LIMITED),
        (403, {"x-ratelimit-remaining": "12", "x-ratelimit-reset": "1790000060"}, "{}", FailureKind.RELEASE),
        (429, {}, "", FailureKind.LIMITED),
        (404, {}, '{"message": "Not Found"}', FailureKind.GONE),
        (413, {}, "", FailureKind.ASSET),
        (422, {}, unprocessable(code="already_exists", field="name"), FailureKind.TAKEN),
        (
            422,
            {},
            unprocessable(code="custom", field="size", message="size must be less than 2147483648"),
            FailureKind.ASSET,
        ),
        (422, {}, unprocessable(code="custom", field="file_count", message="limited to 1000"), FailureKind.RELEASE),
        (422, {}, '{"message": "Cannot upload assets to an immutable release."}', FailureKind.RELEASE),
        (
            422,
            {},
            unprocessable(code="custom", message="tag_name was used by an immutable release"),
            FailureKind.RELEASE,
        ),
        (422, {}, "not json", FailureKind.ASSET),
        (422, {}, '{"errors": ["odd"]}', FailureKind.ASSET),
        (500, {}, "<html>Unicorn!</html>", FailureKind.AMBIGUOUS),
        (502, {}, '{"message": "Server Error"}', FailureKind.AMBIGUOUS),
        (503, {"retry-after": "7"}, "", FailureKind.AMBIGUOUS),
        (408, {}, "", FailureKind.AMBIGUOUS),
    ],
)
def test_each_answer_has_one_meaning(status: int, headers: dict[str, str], text: str, kind: FailureKind) -> None:
    failure = classify_response(status, headers, text, now=NOW)
    assert failure.kind is kind
    assert str(status) in failure.what
    assert "<" not in failure.what


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"retry-after": "120"}, 120),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": formatdate(NOW + 30, usegmt=True)}, 30),
        ({"retry-after": formatdate(NOW - 30, usegmt=True)}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": formatdate(NOW + 30, usegmt=True), "date": formatdate(NOW + 20, usegmt=True)}, 10),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW) + 45)}, 45),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "never"}, None),
        ({"retry-after": "5", "x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW) + 45)}, 5),
    ],
)
def test_every_way_to_ask_for_a_wait_is_understood(headers: dict[str, str], wait: float | None) -> None:
    assert requested_wait(headers, NOW) == wait
