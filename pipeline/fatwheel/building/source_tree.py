"""Provide a package's sources: a checkout in place, an unpacked distribution, or a git commit."""

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
from fatwheel.building.cache import get_or_create
from fatwheel.building.pip import NO_RETRIES, DownloadRetries, own_pip, run_pip_with_retries
from fatwheel.caches import cache_root
from fatwheel.declaration import Declaration
from fatwheel.declaration.model import Package, SourceSpec
from fatwheel.errors import BuildError
from fatwheel.processes import run_group
from fatwheel.pythons import clean_python
from fatwheel.retry import Notify

_DOWNLOAD_ROOM = 500 << 20  # bytes; PyPI's default limit for a file is 100 MiB, and some projects have a higher one
EARLIEST = 315532800
"""1980-01-01 in seconds, the earliest time in a zip file: for sources without a known commit."""
_LICENSES = ("LICENSE*", "LICENCE*", "COPYING*", "NOTICE*")


def prepare_sources(
    declaration: Declaration,
    package: Package,
    work: BuildDir,
    *,
    environ: Mapping[str, str],
    notify: Notify,
    retries: DownloadRetries = NO_RETRIES,
) -> Path:
    """Return the source folder of the build. A checkout is used in place; other sources are written to ``work``.

    Their files get the modification time SOURCE_DATE_EPOCH, since compiler caches compare the times of headers. Raises
    `BuildError` if the sources cannot be downloaded.
    """
    spec = package.source
    if spec.checkout is not None:
        return (declaration.root / spec.checkout).resolve()
    place = work.folder / "source"
    if spec.git is not None:
        _clone(spec, place, environ=environ, notify=notify)
    else:
        _unpack(_download(str(spec.index), environ=environ, notify=notify, retries=retries), place)
    when = source_epoch(declaration.root, environ)
    for folder, _, files in os.walk(place):
        for name in files:
            os.utime(Path(folder) / name, (when, when), follow_symlinks=False)
    return place


def _download(requirement: str, *, environ: Mapping[str, str], notify: Notify, retries: DownloadRetries) -> Path:
    """Return the file of a distribution, from the cache or the package index."""
    name = re.sub(r"[^A-Za-z0-9.]+", "-", requirement)
    digest = hashlib.sha256(requirement.encode()).hexdigest()[:8]
    clean = clean_python(environ)

    def make(temporary: Path) -> None:
        run_pip_with_retries(
            own_pip(temporary, clean),
            ["download", "--quiet", "--no-deps", "--dest", str(temporary / "files"), "--", requirement],
            what=f"the sources of {requirement}",
            environ=clean,
            cwd=temporary,
            notify=notify,
            retries=retries,
        )

    place = cache_root(environ) / "sources" / f"{name}-{digest}"
    get_or_create(place, make, needs=_DOWNLOAD_ROOM, what=f"the sources of {requirement}", notify=notify)
    return next((place / "files").iterdir())


def _unpack(file: Path, place: Path) -> None:
    """Unpack a wheel, or an sdist without its top-level folder."""
    place.mkdir()
    if file.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(file) as archive:
            archive.extractall(place)  # noqa: S202  # zipfile never writes outside the folder
        return
    with tarfile.open(file) as archive:
        archive.extractall(place, filter="data")
    inner = list(place.iterdir())
    if len(inner) == 1 and inner[0].is_dir():
        for path in inner[0].iterdir():
            path.rename(place / path.name)
        inner[0].rmdir()


def _clone(spec: SourceSpec, place: Path, *, environ: Mapping[str, str], notify: Notify) -> None:
    notify(f"cloning {spec.git} at {spec.ref}")
    place.mkdir()
    steps = (
        ["git", "init", "--quiet"],
        ["git", "fetch", "--quiet", "--depth=1", "--", str(spec.git), str(spec.ref)],
        ["git", "checkout", "--quiet", "FETCH_HEAD"],
        ["git", "submodule", "update", "--quiet", "--init", "--recursive", "--depth=1"],
    )
    for step in steps:
        output = bytearray()
        env = dict(environ) | {"GIT_TERMINAL_PROMPT": "0"}
        if run_group(step, env=env, cwd=place, sink=output.extend) != 0:
            last = output.decode(errors="replace").strip().splitlines()[-3:]
            raise BuildError(
                f"cannot clone {spec.git} at {spec.ref}: " + " / ".join(last),
                help="check `git` and `ref` of the source, and the access of this machine",
            )


def head_commit(folder: Path) -> str | None:
    """Return the commit that is checked out in a folder's repository; None outside a repository."""
    return _git(folder, "rev-parse", "HEAD")


def source_epoch(folder: Path, environ: Mapping[str, str]) -> int:
    """Return SOURCE_DATE_EPOCH in seconds: from ``environ``, else the commit's time, else 1980. Raises `BuildError`."""
    given = environ.get("SOURCE_DATE_EPOCH")
    if given:
        if not given.isdigit():
            raise BuildError(
                f"invalid SOURCE_DATE_EPOCH '{given}'", help="set it to a whole number of seconds, or unset it"
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


def license_files(package: Package, source: Path) -> list[Path]:
    """Return the license files for the wheel: the declared ones, else those in the sources.

    Raises `BuildError` if a declared file is missing, and if fatwheel would pack a wheel without a license file.
    """
    declared = package.metadata.license_files
    missing = [name for name in declared if not (source / name).is_file()]
    if missing:
        raise BuildError(
            f"{package.name}: license file not found: {', '.join(missing)}",
            where=str(source),
            help="`metadata.license_files` is relative to the source folder",
        )
    if declared:
        return [source / name for name in declared]
    inside = [path for path in source.glob("*.dist-info/licenses/**/*") if path.is_file()]
    beside = [path for pattern in _LICENSES for path in source.glob(pattern) if path.is_file()]
    if not inside and not beside and package.build.kind == "tree":
        raise BuildError(
            f"{package.name}: no license file found in the sources",
            where=str(source),
            help="declare `metadata.license_files`; every wheel includes its license",
        )
    return sorted(inside or beside)
