import json
import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from fatwheel.__main__ import run
from fatwheel.errors import UsageError
from fatwheel.wheels.io.block_cache import BLOCK, DIRECT
from fatwheel.wheels.io.byte_sources import Malformed
from fatwheel.wheels.io.http_file import TAIL, RemoteFile, parse_url_file_name
from fatwheel.wheels.io.http_ranges import ATTEMPTS, RemoteFailure
from fatwheel.wheels.reading.inventory import read_inventory, read_source_inventory
from tests.unit.wheels.range_server import serving
from tests.unit.wheels.synthetic import ElfFile, container, demo, entry, library

DATA = random.Random(1).randbytes(DIRECT + 9 * BLOCK + 1234)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def waits():
    return []


@pytest.fixture
def opened(waits):
    """A function that opens a URL and records waits instead of sleeping."""
    files = []

    def opened(url):
        files.append(RemoteFile(url, waits.append))
        return files[-1]

    yield opened
    for file in files:
        file.__exit__(None, None, None)


def status(code, **headers):
    def fault(answer):
        answer.status, answer.body = code, b"no"
        answer.headers = {"Content-Length": "2", **{key.replace("_", "-"): value for key, value in headers.items()}}

    return fault


def header(name, value):
    def fault(answer):
        answer.headers[name] = value

    return fault


def cut(after):
    def fault(answer):
        answer.cut = after

    return fault


# -- what comes


def test_reads_return_the_bytes_of_the_file(opened):
    rng = random.Random(2)
    with serving(DATA) as served:
        file = opened(served.url())
        assert file.size == len(DATA)
        for _ in range(200):
            at = rng.randrange(len(DATA))
            length = rng.choice([0, 1, 30, BLOCK, 3 * BLOCK, DIRECT + 1, len(DATA)])
            length = min(length, len(DATA) - at)
            assert file.read(at, length) == DATA[at : at + length]
        assert file.read(0, len(DATA)) == DATA
        with pytest.raises(Malformed):
            file.read(len(DATA) - 1, 2)


def test_the_end_comes_with_the_first_request(opened):
    with serving(DATA) as served:
        file = opened(served.url())
        assert file.read(len(DATA) - TAIL, TAIL) == DATA[-TAIL:]
        assert served.spans == [f"bytes=-{TAIL}"]
        assert (file.requests, file.fetched) == (1, TAIL)


def test_adjacent_reads_are_few_requests(opened):
    with serving(DATA) as served:
        file = opened(served.url())
        for at in range(0, len(DATA), 1000):
            file.read(at, min(1000, len(DATA) - at))
        assert len(served.asked) < 12
        assert file.fetched == len(DATA)


def test_a_long_read_is_one_request_for_the_missing_bytes(opened):
    with serving(DATA) as served:
        file = opened(served.url())
        file.read(0, 10)
        assert file.read(0, len(DATA)) == DATA
        assert len(served.asked) == 3
        assert file.fetched == len(DATA)


def test_several_threads_share_fetched_blocks(opened):
    with serving(DATA) as served, ThreadPoolExecutor(8) as pool:
        file = opened(served.url())
        places = [random.Random(n % 10).randrange(len(DATA) - 50) for n in range(200)]
        assert list(pool.map(lambda at: file.read(at, 50), places)) == [DATA[at : at + 50] for at in places]
        assert len(served.asked) <= 21  # two blocks for each of ten places at most


def test_a_small_file_is_read_whole(opened):
    for options in ({}, {"ranges": False}, {"suffixes": False}):
        with serving(b"abc" * 100, **options) as served:
            file = opened(served.url())
            assert file.read(3, 297) == b"abc" * 99


def test_without_suffix_ranges_the_file_is_read_from_the_start(opened):
    with serving(DATA, suffixes=False) as served:
        file = opened(served.url())
        assert file.read(len(DATA) - 10, 10) == DATA[-10:]
        assert served.spans[1].startswith("bytes=0-")


def test_an_empty_file_is_not_a_wheel(opened):
    with serving(b"") as served:
        file = opened(served.url())
        with pytest.raises(Malformed, match="invalid zip"):
            read_source_inventory(file, file.name)


# -- who is asked


def test_redirects_are_followed_once_and_reused(opened):
    with serving(DATA) as other, serving(DATA) as served:
        served.redirects["/x.whl"] = other.url("/y?sig=abc")
        file = opened(served.url("/x.whl"))
        file.read(0, 10)
        assert file.name == "x.whl"
        assert (len(served.asked), len(other.asked)) == (1, 2)


def test_an_expired_redirect_target_is_requested_again(opened, waits):
    with serving(DATA) as other, serving(DATA) as served:
        served.redirects["/x.whl"] = other.url("/y?sig=abc")
        file = opened(served.url("/x.whl"))
        other.faults = [status(403)]
        assert file.read(0, 10) == DATA[:10]
        assert (len(served.asked), waits) == (2, [0.0])


@pytest.mark.parametrize(
    "url",
    [
        "ftp://me:secret@host/x.whl",
        "http:/me:secret@host/x.whl",
        "http://me:secret@/x.whl",
        "http://me:secret@[::1/x.whl",
        " http://me:secret@host/x.whl",
    ],
)
def test_errors_do_not_show_the_password_of_a_url(url, capsys):
    assert run(["inventory", url]) == 2
    said = capsys.readouterr()
    assert "secret" not in said.out + said.err
    assert "x.whl" in said.err


def test_an_invalid_host_name_is_an_error(opened):
    with pytest.raises(RemoteFailure, match="invalid URL"):
        opened(f"http://{'a' * 300}.example/x.whl")


def test_no_credentials_are_sent(opened, monkeypatch, tmp_path):
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    with serving(DATA) as served:
        opened(served.url()).read(0, 10)
        assert all("authorization" not in headers for _, headers in served.asked)
        url = served.url().replace("//", "//me:secret@")
        with pytest.raises(UsageError) as error:
            opened(url)
        assert "secret" not in str(error.value)
        served.redirects["/x.whl"] = url
        with pytest.raises(RemoteFailure, match="credentials in a URL"):
            opened(served.url("/x.whl"))


@pytest.mark.parametrize("place", ["ftp://127.0.0.1/x", "file:///etc/passwd", "http://[", ""])
def test_an_invalid_redirect_is_an_error(opened, place):
    with serving(DATA) as served:
        served.always = status(302, **({"Location": place} if place else {}))
        with pytest.raises(UsageError):
            opened(served.url())


def test_a_redirect_from_https_to_http_is_rejected(opened):
    with serving(DATA) as served:
        requests = opened(served.url())._requests
        with pytest.raises(RemoteFailure, match="from https to http at example"):
            requests._check("http://example.org/x", "HTTPS://example.org/x")


def test_the_number_of_redirects_is_limited(opened):
    with serving(DATA) as served:
        served.redirects["/x"] = "/x"
        with pytest.raises(RemoteFailure, match="redirected more than"):
            opened(served.url("/x"))


def test_the_name_is_the_last_part_of_the_path():
    assert parse_url_file_name("https://h/a/x-1.0%2Bcu130-py3-none-any.whl?sig=/b#c") == "x-1.0+cu130-py3-none-any.whl"
    for url in ("https://h/", "https://h", "https://h/x%0Ay"):
        with pytest.raises(UsageError):
            parse_url_file_name(url)


# -- what passes


@pytest.mark.parametrize("fault", [status(500), status(503), status(429), status(408), cut(0), cut(7)])
def test_transient_errors_are_retried(opened, waits, fault):
    with serving(DATA) as served:
        served.faults = [fault]
        file = opened(served.url())
        served.faults = [fault, fault]
        assert file.read(100, BLOCK) == DATA[100 : 100 + BLOCK]
        assert file.read(0, DIRECT + 1) == DATA[: DIRECT + 1]
        assert len(waits) == 3


def test_an_interrupted_long_read_continues(opened, waits):
    with serving(DATA) as served:
        file = opened(served.url())
        served.always = cut(300_000)
        assert file.read(0, DIRECT + 1) == DATA[: DIRECT + 1]
        assert len(waits) > ATTEMPTS  # since every try brings something
        assert max(waits) == min(waits)


def test_persistent_server_errors_are_reported(opened, waits):
    with serving(DATA) as served:
        served.always = status(502)
        with pytest.raises(RemoteFailure, match="responded 502"):
            opened(served.url())
        assert len(served.asked) == ATTEMPTS
        assert waits == sorted(waits)


def test_retry_after_is_respected_unless_it_is_too_long(opened, waits):
    with serving(DATA) as served:
        served.faults = [status(429, Retry_After="7"), status(503, Retry_After="Fri, 31 Dec 1999 23:59:59 GMT")]
        opened(served.url())
        assert waits == [7.0, 0.0]
        served.faults = [status(429, Retry_After="7000")]
        with pytest.raises(RemoteFailure, match="requested a delay of 7000 s"):
            opened(served.url())


def test_a_refused_connection_is_an_error(opened):
    with serving(DATA) as served:
        url = served.url()
    with pytest.raises(RemoteFailure, match="ConnectError"):
        opened(url)


@pytest.mark.parametrize("code", [401, 403, 404, 410, 451])
def test_client_errors_are_not_retried(opened, waits, code):
    with serving(DATA) as served:
        served.always = status(code)
        with pytest.raises(RemoteFailure, match=f"responded {code}") as error:
            opened(served.url("/x.whl?sig=secret"))
        assert "secret" not in str(error.value)
        assert not waits


# -- what does not fit


@pytest.mark.parametrize("options", [{"ranges": False}, {"always": status(501)}, {"always": status(416)}])
def test_a_server_without_ranges_is_an_error_with_help(opened, options):
    with (
        serving(DATA, **options) as served,
        pytest.raises(RemoteFailure, match="does not support range") as error,
    ):
        opened(served.url())
    assert "download the file" in str(error.value)
    assert served.sent < len(DATA)


def changed(served):
    served.data, served.etag = served.data[::-1], '"two"'


def changed_unsaid(served):
    served.data += b"more"


def shrunk(served):
    served.data = served.data[:1000]
    served.etag = '"one"'


@pytest.mark.parametrize("change", [changed, changed_unsaid, shrunk])
@pytest.mark.parametrize("length", [10, DIRECT + 1])
def test_a_file_that_changes_while_it_is_read_is_an_error(opened, change, length):
    with serving(DATA) as served:
        file = opened(served.url())
        change(served)
        with pytest.raises(RemoteFailure, match="changed while it was read"):
            file.read(5000, length)


def test_the_first_state_is_the_condition_of_later_requests(opened):
    with serving(DATA) as served:
        opened(served.url()).read(0, 10)
        assert [headers.get("if-range") for _, headers in served.asked] == [None, '"one"']
    with serving(DATA, etag='W/"one"', always=header("Last-Modified", "Fri, 31 Dec 1999 23:59:59 GMT")) as served:
        file = opened(served.url())
        with pytest.raises(RemoteFailure, match="stopped"):  # this one takes only ETags
            file.read(0, 10)
        assert served.asked[1][1]["if-range"].startswith("Fri")


@pytest.mark.parametrize(
    ("fault", "what"),
    [
        (header("Content-Range", f"bytes 1-10/{len(DATA)}"), "expected bytes .*, but"),
        (header("Content-Range", "bytes 0-9/*"), "invalid Content-Range"),
        (header("Content-Range", f"bytes 9-0/{len(DATA)}"), "impossible Content-Range"),
        (header("Content-Range", f"bytes 0-{len(DATA)}/{len(DATA)}"), "impossible Content-Range"),
        (header("Content-Range", "lines 1-2/3"), "invalid Content-Range"),
        (header("Content-Encoding", "gzip"), "compresses"),
    ],
)
def test_responses_that_do_not_match_the_request_are_errors(opened, fault, what):
    with serving(DATA) as served:
        file = opened(served.url())
        served.always = fault
        with pytest.raises(RemoteFailure, match=what):
            file.read(5000, 100)
        with pytest.raises(RemoteFailure, match="not the last" if "expected" in what else what):
            opened(served.url())


def longer(answer):
    answer.body += b"x"
    answer.headers["Content-Length"] = str(len(answer.body))


def shorter(answer):
    answer.body = b""
    answer.headers["Content-Length"] = "0"


@pytest.mark.parametrize(("fault", "what"), [(longer, "more than"), (shorter, "bytes too short")])
def test_bodies_with_a_wrong_length_are_errors(opened, fault, what):
    with serving(DATA) as served:
        file = opened(served.url())
        served.always = fault
        with pytest.raises(RemoteFailure, match=what):
            file.read(5000, 100)


# -- inventories


def wheel_of_many(folder):
    """Libraries to read whole, and larger files of which the start is enough."""
    rng = random.Random(3)
    code = container(entry(90, "a", payload=rng.randbytes(300_000)), entry(120, "f", payload=rng.randbytes(200_000)))
    files = {f"demo_jit/k{n}.so": ElfFile(sections={".nv_fatbin": code}).build() for n in range(3)}
    files |= {f"demo_jit/data{n}.bin": rng.randbytes(4_000_000) for n in range(3)}
    files |= {f"demo_jit/m{n}.py": b"x = 1\n" for n in range(200)}
    return demo(folder, files)


def test_the_inventory_at_a_url_equals_that_of_the_file(opened, tmp_path):
    wheel = wheel_of_many(tmp_path)
    with serving(wheel.read_bytes()) as served:
        file = opened(served.url(f"/files/{wheel.name.replace('+', '%2B')}?x=y"))
        assert read_source_inventory(file, file.name, in_order=True) == read_inventory(wheel)
        needed = 3 * 500_000
        assert needed < file.fetched < needed + 6 * BLOCK + TAIL < wheel.stat().st_size / 4
        assert len(served.asked) < 15


def test_only_the_headers_of_a_library_are_read(opened, tmp_path):
    payload = random.Random(4).randbytes(2_000_000)
    path = tmp_path / "k.so"
    path.write_bytes(
        ElfFile(sections={".nv_fatbin": container(*(entry(n, payload=payload) for n in (80, 90)))}).build()
    )
    with serving(path.read_bytes()) as served:
        file = opened(served.url("/k.so"))
        assert read_source_inventory(file, file.name) == read_inventory(path)
        assert file.fetched < 5 * BLOCK


def test_the_command_accepts_a_url(tmp_path, capsys):
    wheel = demo(tmp_path, {"demo_jit/k.so": library("90a"), "demo_jit/large.bin": random.Random(5).randbytes(1 << 20)})
    with serving(wheel.read_bytes()) as served:
        url = served.url(f"/{wheel.name.replace('+', '%2B')}")
        assert run(["inventory", url, "--json"]) == 0
        told = capsys.readouterr()
        assert json.loads(told.out) == [json.loads(read_inventory(wheel).to_json())]
        assert told.err.startswith("fetched ")
        assert " of 1.00 MiB in " in told.err
        served.ranges = False
        assert run(["inventory", url]) == 2
        told = capsys.readouterr()
        assert not told.out
        assert "download the file and pass its path" in told.err


def test_a_network_failure_stops_reading_all_members(opened, tmp_path):
    wheel = wheel_of_many(tmp_path)
    with serving(wheel.read_bytes()) as served:
        file = opened(served.url())
        served.always = status(404)
        with pytest.raises(RemoteFailure, match="404"):
            read_source_inventory(file, file.name, in_order=True)
        assert len(served.asked) < 10
