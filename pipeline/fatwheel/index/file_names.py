"""Parse file names of wheels and sdists, and list the index pages they belong to."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from operator import attrgetter

from packaging.utils import canonicalize_name, parse_sdist_filename
from packaging.version import Version

from fatwheel.errors import UsageError, VerificationError
from fatwheel.records.index import IndexedFile
from fatwheel.wheels.formats.wheel_name import WheelName, parse_architecture, parse_version

NIGHTLY = "nightly"
SDIST = ".tar.gz"

# A CUDA label may have a suffix, as in the old form +cu124torch2.4; the family is a separate segment.
_CUDA = re.compile(r"(cu\d{2,4})(?!\d)")
_VARIANTS = "-variants.json"
# A variant label follows the three tags (PEP 825). A build number, which starts with a digit, precedes them.
_VARIANT = re.compile(r"([^-]+-[^-]+(?:-\d[^-]*)?-(?:cp|py|pp)\d[^-]*-[^-]+-[^-]+)-([0-9a-z_.]+)\.whl")
_FAMILY = re.compile(r"sm\d{1,3}[afx]?")


@dataclass(frozen=True)
class FileName:
    """A parsed file name. ``arch`` is None for files of any CPU architecture."""

    file: str
    project: str  # normalized
    version: Version
    cuda: str | None = None
    family: str | None = None
    arch: str | None = None
    variant: str | None = None  # the label of a wheel variant; empty for the file that describes variants

    @property
    def nightly(self) -> bool:
        """Whether the version is a .dev version."""
        return self.version.is_devrelease

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders whose project pages list the file, the most general first: ``cu130/``, ``cu130/sm12x/``."""
        top = f"{NIGHTLY}/" if self.nightly else ""
        if self.cuda is None:
            return (top,)
        wide = f"{top}{self.cuda}/"
        return (wide, f"{wide}{self.family}/") if self.family else (wide,)

    @property
    def pages(self) -> tuple[str, ...]:
        """The project pages that list the file, the most general first."""
        return tuple(f"{folder}{self.project}/" for folder in self.folders)


@cache
def public_version(version: str) -> Version:
    """Parse a version without its local label."""
    return Version(version.partition("+")[0])


def sort_entries(entries: Iterable[IndexedFile]) -> list[IndexedFile]:
    """Sort entries by project, version and file name."""
    releases: dict[str, dict[str, list[IndexedFile]]] = defaultdict(lambda: defaultdict(list))
    for entry in entries:
        releases[entry.project][entry.version.partition("+")[0]].append(entry)
    by_file = attrgetter("file")
    return [
        entry
        for project in sorted(releases)
        for text in sorted(sorted(releases[project]), key=public_version)  # 1.0 and 1.0.0 are equal: sort by text first
        for entry in sorted(releases[project][text], key=by_file)
    ]


def list_pages(entry: IndexedFile) -> tuple[str, ...]:
    """List the project pages of an entry, the most general first: that of its CUDA label, and that of its family."""
    *folders, project = entry.page.rstrip("/").split("/")
    if not folders or not _FAMILY.fullmatch(folders[-1]):
        return (entry.page,)
    return ("/".join((*folders[:-1], project, "")), entry.page)


def parse_file_name(file: str) -> FileName | None:
    """Parse the name of a wheel or sdist; None for other files. Raises `VerificationError` for an invalid wheel name.

    A ``.tar.gz`` with an invalid sdist name may be any archive, and counts as another file.
    """
    if file.endswith(SDIST):
        try:
            name, version = parse_sdist_filename(file)
        except ValueError:  # InvalidSdistFilename, or a number too long for int()
            return None
        return _check_project(FileName(file, canonicalize_name(name), version))
    if file.endswith(_VARIANTS):
        project, _, described = file.removesuffix(_VARIANTS).partition("-")
        variant = parse_version(described)
        return _check_project(FileName(file, canonicalize_name(project), variant, variant="")) if variant else None
    if not file.endswith(".whl"):
        return None
    match = _VARIANT.fullmatch(file)
    if match:
        plain = parse_file_name(f"{match[1]}.whl")
        return plain and replace(plain, file=file, variant=match[2])
    try:
        parsed = WheelName.parse(file)
    except UsageError as error:
        lost_plus = re.search(r"\.cu\d", file)
        help = (
            "the '+' of its version was lost in an upload: upload it again under its original name"
            if lost_plus
            else error.help
        )
        raise VerificationError(error.what, help=help) from None
    version = parsed.version
    platforms = {arch for platform in parsed.platforms if (arch := parse_architecture(platform))}
    local = version.local or ""
    cuda = next((match[1] for part in local.split(".") if (match := _CUDA.match(part))), None)
    family = next((part for part in local.split(".") if cuda and _FAMILY.fullmatch(part)), None)
    arch = platforms.pop() if len(platforms) == 1 else None
    return _check_project(FileName(file, parsed.distribution, version, cuda, family, arch))


def _check_project(name: FileName) -> FileName:
    """Return the name unless its project page would collide with a folder. Raises `VerificationError`."""
    reserved = name.project == NIGHTLY or _CUDA.fullmatch(name.project) or _FAMILY.fullmatch(name.project)
    if reserved:
        raise VerificationError(
            f"'{name.file}': the project name '{name.project}' is reserved for a folder of the index",
            help="rename the project",
        )
    return name
