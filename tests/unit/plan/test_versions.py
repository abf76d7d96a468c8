"""Versions: nightlies lie between the last release and the next; tag, version and commit agree."""

import datetime as dt
import subprocess

import pytest
from packaging.version import Version

from fatwheel.declaration import load
from fatwheel.errors import UsageError
from fatwheel.plan import make_plan
from fatwheel.plan.tags import check_tag
from fatwheel.plan.versions import parse_date
from tests.unit.plan.matrices import ONE, one

DAY = dt.date(2026, 12, 1)
NIGHTLY = 'channels: {nightly: {tag: "nightly-{date}"}}\n'


@pytest.mark.parametrize(
    ("version", "nightly"),
    [
        ("0.6.13", "0.6.14.dev20261201"),
        ("1.0", "1.1.dev20261201"),
        ("1.0.post1", "1.1.dev20261201"),
        ("1.0rc1", "1.0rc2.dev20261201"),
        ("1.0a3", "1.0a4.dev20261201"),
        ("1.0.dev5", "1.0.dev20261201"),
        ("1.0rc1.dev5", "1.0rc1.dev20261201"),
        ("1.0.post2.dev1", "1.0.post2.dev20261201"),
        ("1!2.0", "1!2.1.dev20261201"),
        ("2026.11.30", "2026.11.31.dev20261201"),
    ],
)
def test_a_nightly_lies_between_the_last_release_and_the_next(version, nightly, tmp_path):
    plan = make_plan(one(tmp_path, NIGHTLY, version=version), "nightly", date=DAY)
    assert plan.packages[0].version == nightly
    assert Version(version) < Version(nightly)
    assert plan.cells[0].wheel.startswith(f"mylib-{nightly}+cu130.sm9x-")
    assert plan.tag == "nightly-20261201"


def test_a_nightly_leads_to_the_version_that_is_declared_as_next(tmp_path):
    more = f'next_version: "2.0"\n{NIGHTLY}'
    assert make_plan(one(tmp_path, more), "nightly", date=DAY).packages[0].version == "2.0.dev20261201"


def test_a_nightly_that_would_not_come_after_the_last_is_refused(tmp_path):
    with pytest.raises(UsageError, match="does not sort between"):
        make_plan(one(tmp_path, NIGHTLY, version="1.0.dev20270101"), "nightly", date=DAY)


@pytest.mark.parametrize("version", ["1.0", "1.0rc1", "1.2.3.post1", "1!2.0", "1.0.dev3"])
def test_a_release_bears_the_version_and_its_tag(version, tmp_path):
    plan = make_plan(one(tmp_path, version=version))
    assert {cell.version for cell in plan.cells} == {version}
    assert plan.tag == f"v{version}"


def test_a_version_is_written_in_normal_form(tmp_path):
    assert one(tmp_path, version="1.0-RC1").version == "1.0rc1"


def test_days_are_read_in_two_forms_and_nothing_else():
    assert parse_date("20261201") == parse_date("2026-12-01") == DAY
    for text in ("2026-13-01", "today", "1"):
        with pytest.raises(UsageError):
            parse_date(text)


def git(folder, *arguments):
    env = {"PATH": "/usr/bin:/bin:/usr/local/bin", "GIT_CONFIG_GLOBAL": "/dev/null", "HOME": str(folder)}
    env |= {f"GIT_{who}_{what}": "x@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(["git", "-C", str(folder), *arguments], env=env, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def tagged(tmp_path):
    """A repository whose version is in a file, and whose commit bears the tag v1.0."""
    matrix = ONE.format(version="1.0", layout="family", x86_64='"8.0"', aarch64='"8.0"')
    (tmp_path / "matrix.yaml").write_text(matrix.replace('version: "1.0"', "version_file: VERSION"))
    (tmp_path / "VERSION").write_text("1.0\n")
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"], ["tag", "v1.0"]):
        git(tmp_path, *arguments)
    return tmp_path


def test_a_tag_that_is_the_versions_own_is_taken(tagged):
    declaration = load(tagged / "matrix.yaml")
    check_tag(declaration, make_plan(declaration), "v1.0")
    check_tag(declaration, make_plan(declaration), "v1.0", git(tagged, "rev-parse", "HEAD"))


def test_a_tag_of_another_version_is_refused(tagged):
    declaration = load(tagged / "matrix.yaml")
    with pytest.raises(UsageError, match=r"tag v1\.1 does not match version 1\.0, whose tag is v1\.0"):
        check_tag(declaration, make_plan(declaration), "v1.1")


def test_a_tag_on_another_commit_is_refused(tagged):
    (tagged / "other").write_text("")
    git(tagged, "add", ".")
    git(tagged, "commit", "-qm", "two")
    declaration = load(tagged / "matrix.yaml")
    with pytest.raises(UsageError, match="points to commit"):
        check_tag(declaration, make_plan(declaration), "v1.0")


def test_a_version_that_is_not_in_the_tagged_commit_is_refused(tagged):
    git(tagged, "tag", "v1.1")
    (tagged / "VERSION").write_text("1.1\n")
    declaration = load(tagged / "matrix.yaml")
    with pytest.raises(UsageError, match=r"commit [0-9a-f]{12} has version 1\.0, but the working tree has 1\.1"):
        check_tag(declaration, make_plan(declaration), "v1.1")


def test_an_unknown_commit_is_refused(tagged):
    declaration = load(tagged / "matrix.yaml")
    for revision in ("nowhere", "--help"):
        with pytest.raises(UsageError, match="unknown Git revision"):
            check_tag(declaration, make_plan(declaration), "v1.0", revision)


@pytest.mark.parametrize("text", ["1.x", "1.0+cu130", ""])
def test_a_version_file_that_holds_no_version_is_a_mistake_at_its_key(tagged, text):
    (tagged / "VERSION").write_text(text)
    with pytest.raises(Exception, match=r"matrix\.yaml:1:15: error: .* VERSION"):
        load(tagged / "matrix.yaml")
