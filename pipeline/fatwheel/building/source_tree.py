"""A package's sources, ready to build: a checkout as it stands, an unpacked distribution, or a commit."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from fatwheel.building.build_dir import BuildDir
from fatwheel.building.cache import Notify, cache_root, get_or_create
from fatwheel.building.pip import NO_RETRIES, DownloadRetries, own_pip, run_pip
from fatwheel.declaration import Declaration
from fatwheel.declaration.model import Package, SourceSpec
from fatwheel.errors import BuildError
from fatwheel.processes import run_group
from fatwheel.pythons import clean_python

_DOWNLOAD_ROOM = 500_000_000  # bytes; PyPI's default limit for a file is 100 MB, and some projects have more
# The earliest time that a zip file can hold, 1980-01-01: for sources whose commit is not known.
EARLIEST = 315532800
_LICENCES = ("LICENSE*", "LICENCE*", "COPYING*", "NOTICE*")


def sources(
    declaration: Declaration,
    package: Package,
    work: BuildDir,
    *,
    environ: Mapping[str, str],
    notify: Notify,
    retries: DownloadRetries = NO_RETRIES,
) -> Path:
    """The folder that the package's command reads. A checkout is used in place; the others lie in ``work``.

    Those bear one time, that of SOURCE_DATE_EPOCH: compiler caches look at the times of headers. Raises `BuildError`
    where they cannot be had.
    """
    origin = package.source
    if origin.checkout is not None:
        return (declaration.root / origin.checkout).resolve()
    place = work.folder / "source"
    if origin.git is not None:
        _clone(origin, place, environ=environ, notify=notify)
    else:
        _unpack(_downloaded(str(origin.index), environ=environ, notify=notify, retries=retries), place)
    when = epoch(declaration.root, environ)
    for folder, _, files in os.walk(place):
        for name in files:
            os.utime(Path(folder) / name, (when, when), follow_symlinks=False)
    return place


def _downloaded(requirement: str, *, environ: Mapping[str, str], notify: Notify, retries: DownloadRetries) -> Path:
    """A distribution's one file, from the index or from the cache."""
    name = re.sub(r"[^A-Za-z0-9.]+", "-", requirement)
    digest = hashlib.sha256(requirement.encode()).hexdigest()[:8]
    clean = clean_python(environ)

    def make(temporary: Path) -> None:
        run_pip(
            own_pip(temporary, clean),
            ["download", "--quiet", "--no-deps", "--dest", str(temporary / "files"), "--", requirement],
            what=f"the sources {requirement}",
            environ=clean,
            cwd=temporary,
            notify=notify,
            retries=retries,
        )

    place = cache_root(environ) / "sources" / f"{name}-{digest}"
    get_or_create(place, make, needs=_DOWNLOAD_ROOM, what=f"the sources {requirement}", notify=notify)
    return next((place / "files").iterdir())


def _unpack(file: Path, place: Path) -> None:
    """A wheel as it installs, or an sdist without its one outer folder."""
    place.mkdir()
    if file.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(file) as archive:
            archive.extractall(place)  # noqa: S202  # zipfile keeps members inside
        return
    with tarfile.open(file) as archive:
        archive.extractall(place, filter="data")
    inner = list(place.iterdir())
    if len(inner) == 1 and inner[0].is_dir():
        for path in inner[0].iterdir():
            path.rename(place / path.name)
        inner[0].rmdir()


def _clone(origin: SourceSpec, place: Path, *, environ: Mapping[str, str], notify: Notify) -> None:
    notify(f"the sources {origin.git} at {origin.ref}")
    place.mkdir()
    steps = (
        ["git", "init", "--quiet"],
        ["git", "fetch", "--quiet", "--depth=1", "--", str(origin.git), str(origin.ref)],
        ["git", "checkout", "--quiet", "FETCH_HEAD"],
        ["git", "submodule", "update", "--quiet", "--init", "--recursive", "--depth=1"],
    )
    for step in steps:
        output = bytearray()
        env = dict(environ) | {"GIT_TERMINAL_PROMPT": "0"}
        if run_group(step, env=env, cwd=place, sink=output.extend) != 0:
            said = output.decode(errors="replace").strip().splitlines()[-3:]
            raise BuildError(
                f"{origin.git} at {origin.ref} cannot be had: " + " / ".join(said),
                help="check source: git and ref, and that this machine may read it",
            )


def commit(folder: Path) -> str | None:
    """The commit that a folder's repository stands at; None outside a repository."""
    return _git(folder, "rev-parse", "HEAD")


def epoch(folder: Path, environ: Mapping[str, str]) -> int:
    """SOURCE_DATE_EPOCH in seconds: as given, else the time of the folder's commit, else 1980. Raises `BuildError`."""
    given = environ.get("SOURCE_DATE_EPOCH")
    if given:
        if not given.isdigit():
            raise BuildError(
                f"SOURCE_DATE_EPOCH is '{given}', not seconds", help="set it to a whole number, or unset it"
            )
        return max(int(given), EARLIEST)
    return int(_git(folder, "log", "-1", "--format=%ct") or EARLIEST)


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        answer = subprocess.run(
            ["git", "-C", str(folder), *arguments], env=dict(os.environ), capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return None
    return answer.stdout.strip() or None if answer.returncode == 0 else None


def licences(package: Package, source: Path) -> list[Path]:
    """The licence texts for the wheel: those declared, else those that the sources carry.

    Raises `BuildError` where one is missing, and where fatwheel would pack a wheel without any.
    """
    declared = package.metadata.license_files
    missing = [name for name in declared if not (source / name).is_file()]
    if missing:
        raise BuildError(
            f"{package.name}: no such licence file: {', '.join(missing)}",
            where=str(source),
            help="paths of metadata.license_files start at the sources",
        )
    if declared:
        return [source / name for name in declared]
    inside = [path for path in source.glob("*.dist-info/licenses/**/*") if path.is_file()]
    beside = [path for pattern in _LICENCES for path in source.glob(pattern) if path.is_file()]
    if not inside and not beside and package.build.kind == "tree":
        raise BuildError(
            f"{package.name}: there is no licence text in the sources",
            where=str(source),
            help="declare metadata.license_files; every wheel carries its licence",
        )
    return sorted(inside or beside)
