"""GitHub's answers, told apart."""

from __future__ import annotations

import json
from email.utils import formatdate

import pytest

from pipeline.stores.failure import Kind
from pipeline.stores.github.answers import failure, wait_asked

NOW = 1_790_000_000.0


def unprocessable(**error: str) -> str:
    return json.dumps({"message": "Validation Failed", "errors": [{"resource": "ReleaseAsset", **error}]})


@pytest.mark.parametrize(
    ("status", "headers", "text", "kind"),
    [
        (401, {}, '{"message": "Bad credentials"}', Kind.RELEASE),
        (403, {}, '{"message": "Resource not accessible by integration"}', Kind.RELEASE),
        (403, {"retry-after": "3"}, "{}", Kind.LIMITED),
        (403, {}, '{"message": "You have exceeded a secondary rate limit."}', Kind.LIMITED),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1790000060"}, "{}", Kind.LIMITED),
        (403, {"x-ratelimit-remaining": "12", "x-ratelimit-reset": "1790000060"}, "{}", Kind.RELEASE),
        (429, {}, "", Kind.LIMITED),
        (404, {}, '{"message": "Not Found"}', Kind.GONE),
        (413, {}, "", Kind.ASSET),
        (422, {}, unprocessable(code="already_exists", field="name"), Kind.TAKEN),
        (422, {}, unprocessable(code="custom", field="size", message="size must be less than 2147483648"), Kind.ASSET),
        (422, {}, unprocessable(code="custom", field="file_count", message="limited to 1000"), Kind.RELEASE),
        (422, {}, '{"message": "Cannot upload assets to an immutable release."}', Kind.RELEASE),
        (422, {}, unprocessable(code="custom", message="tag_name was used by an immutable release"), Kind.RELEASE),
        (422, {}, "not json", Kind.ASSET),
        (422, {}, '{"errors": ["odd"]}', Kind.ASSET),
        (500, {}, "<html>Unicorn!</html>", Kind.AMBIGUOUS),
        (502, {}, '{"message": "Server Error"}', Kind.AMBIGUOUS),
        (503, {"retry-after": "7"}, "", Kind.AMBIGUOUS),
        (408, {}, "", Kind.AMBIGUOUS),
    ],
)
def test_each_answer_has_one_meaning(status: int, headers: dict[str, str], text: str, kind: Kind) -> None:
    problem = failure(status, headers, text, now=NOW)
    assert problem.kind is kind
    assert str(status) in problem.what
    assert "<" not in problem.what


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
    assert wait_asked(headers, NOW) == wait
