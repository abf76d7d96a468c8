"""The token goes to the hosts that it belongs to, and to no others."""

from __future__ import annotations

import pytest

from fatwheel.errors import UsageError
from fatwheel.stores.github.hosts import check_api, trusted

COM, TENANT, SERVER = "https://api.github.com/", "https://api.acme.ghe.com/", "https://git.acme.example/api/v3/"
LOCAL = "http://127.0.0.1:8080/"


@pytest.mark.parametrize(
    ("url", "api", "may"),
    [
        ("https://uploads.github.com/repos/o/r/releases/1/assets", COM, True),
        ("https://api.github.com/repos/o/r", COM, True),
        ("http://uploads.github.com/repos/o/r", COM, False),
        ("https://uploads.github.com.evil.example/", COM, False),
        ("https://evil.example/uploads.github.com", COM, False),
        ("https://user@uploads.github.com/", COM, False),
        ("https://uploads.github.com:8443/", COM, False),
        ("https://github.com/", COM, False),
        ("https://uploads.acme.ghe.com/repos", TENANT, True),
        ("https://uploads.other.ghe.com/repos", TENANT, False),
        ("https://git.acme.example/api/uploads/repos", SERVER, True),
        ("https://uploads.git.acme.example/", SERVER, False),
        ("http://git.acme.example/api/uploads/repos", SERVER, False),
        ("http://127.0.0.1:9090/x", LOCAL, True),
        ("http://localhost:9090/x", LOCAL, True),
        ("https://api.github.com/", LOCAL, False),
        ("not a url", COM, False),
    ],
)
def test_which_host_may_have_the_token(url: str, api: str, may: bool) -> None:
    assert trusted(url, api) is may


@pytest.mark.parametrize("url", ["http://git.acme.example/api/v3", "ftp://x", "", "api.github.com", "https://u:p@h/"])
def test_an_api_that_would_leak_the_token_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        check_api(url)


@pytest.mark.parametrize("url", [COM, SERVER, "http://localhost:1", "http://[::1]:2/api/v3"])
def test_other_apis_get_a_slash(url: str) -> None:
    assert check_api(url).endswith("/")
