"""A package's sources: in place, from an index, from a commit; and what is known of them."""

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from fatwheel.building import source_tree
from fatwheel.building.build_dir import BuildDir
from fatwheel.declaration import parse
from fatwheel.errors import BuildError
from tests.unit.building.samples import environment
from tests.unit.building.test_environment import wheel

TEXT = """
version: "1.0"
packages:
  - name: demo
    import: demo
    per: []
    source: {source}
    build: {{kind: wheel, command: [make]}}
    metadata: {{license_files: [{files}]}}
"""


def declared(folder, source, files=""):
    return parse(TEXT.format(source=source, files=files), folder / "matrix.yaml")


def sources(folder, source, **environ):
    declaration = declared(folder, source)
    work = folder / "work"
    work.mkdir()
    environ = environment(folder / "cache", **environ)
    return source_tree.prepare_sources(
        declaration, declaration.packages[0], BuildDir(work), environ=environ, notify=lambda _: None
    )


def git(folder, *arguments):
    about = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    about["GIT_COMMITTER_DATE"] = about["GIT_AUTHOR_DATE"] = "2026-08-01T00:00:00Z"
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, env=environment(folder, **about), capture_output=True, text=True, check=True).stdout


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "kernels.cu").write_text("// code\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "first")
    return folder, git(folder, "rev-parse", "HEAD").strip()


def test_a_checkout_is_used_in_place(tmp_path):
    (tmp_path / "part").mkdir()
    assert sources(tmp_path, "{checkout: part}") == tmp_path / "part"


def test_a_distribution_is_unpacked_from_the_index(tmp_path):
    links = wheel(tmp_path / "links")
    place = sources(tmp_path, '{index: "demo_tool==1.0"}', PIP_NO_INDEX="1", PIP_FIND_LINKS=links)
    assert place.is_relative_to(tmp_path / "work")
    assert (place / "demo_tool.py").is_file()


def test_a_source_archive_loses_its_outer_folder(tmp_path):
    file = tmp_path / "demo-1.0.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        entry = tarfile.TarInfo("demo-1.0/kernels.cu")
        entry.size = 4
        archive.addfile(entry, io.BytesIO(b"code"))
    source_tree._unpack(file, tmp_path / "source")
    assert (tmp_path / "source" / "kernels.cu").read_text() == "code"


def test_a_commit_is_fetched(tmp_path, repository):
    folder, commit = repository
    place = sources(tmp_path, f'{{git: "file://{folder}", ref: "{commit}"}}')
    assert (place / "kernels.cu").is_file()
    assert source_tree.head_commit(place) == commit


def test_a_commit_that_is_not_there_is_named(tmp_path, repository):
    folder, _ = repository
    with pytest.raises(BuildError, match=f"cannot clone .*{folder} at v9: fatal: couldn't find remote ref v9"):
        sources(tmp_path, f'{{git: "file://{folder}", ref: "v9"}}')


def test_the_time_of_a_build_is_the_commits_unless_it_is_given(tmp_path, repository):
    folder, _ = repository
    assert source_tree.source_epoch(folder, {}) == 1785542400
    assert source_tree.source_epoch(folder, {"SOURCE_DATE_EPOCH": "1700000000"}) == 1700000000
    assert source_tree.source_epoch(tmp_path, {}) == source_tree.EARLIEST
    with pytest.raises(BuildError, match="invalid SOURCE_DATE_EPOCH 'today'"):
        source_tree.source_epoch(folder, {"SOURCE_DATE_EPOCH": "today"})


def test_a_folder_outside_a_repository_has_no_commit(tmp_path):
    assert source_tree.head_commit(tmp_path) is None


def test_licence_texts_are_those_declared_else_those_there(tmp_path):
    source = tmp_path / "source"
    inside = source / "demo-1.0.dist-info" / "licenses" / "LICENSE"
    inside.parent.mkdir(parents=True)
    inside.write_text("terms")
    package = declared(tmp_path, "{checkout: .}").packages[0]
    assert source_tree.license_files(package, source) == [inside]
    (source / "NOTICE").write_text("n")
    inside.unlink()
    assert source_tree.license_files(package, source) == [source / "NOTICE"]
    assert source_tree.license_files(declared(tmp_path, "{checkout: .}", "NOTICE").packages[0], source) == [
        source / "NOTICE"
    ]


def test_a_licence_text_that_is_missing_is_named(tmp_path):
    package = declared(tmp_path, "{checkout: .}", "GONE").packages[0]
    with pytest.raises(BuildError, match="demo: license file not found: GONE"):
        source_tree.license_files(package, Path(tmp_path))
