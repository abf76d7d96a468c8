"""What the name of a wheel or sdist says, and where in the index the file belongs."""

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
from fatwheel.wheels.formats.wheel_name import WheelName, architecture, version_of

NIGHTLY = "nightly"
SDIST = ".tar.gz"

# The CUDA label may have more behind it, as in the old form +cu124torch2.4; the family is a segment of its own.
_CUDA = re.compile(r"(cu\d{2,4})(?!\d)")
_VARIANTS = "-variants.json"
# A label after the three tags (PEP 825). A build number, which starts with a digit, stands before them.
_VARIANT = re.compile(r"([^-]+-[^-]+(?:-\d[^-]*)?-(?:cp|py|pp)\d[^-]*-[^-]+-[^-]+)-([0-9a-z_.]+)\.whl")
_FAMILY = re.compile(r"sm\d{1,3}[afx]?")


@dataclass(frozen=True)
class FileName:
    """A parsed name. ``arch`` is None for a file that suits any."""

    file: str
    project: str  # normalised
    version: Version
    cuda: str | None = None
    family: str | None = None
    arch: str | None = None
    variant: str | None = None  # of a wheel variant, its label; of the file that describes some, empty

    @property
    def nightly(self) -> bool:
        """Whether it is of a .dev version."""
        return self.version.is_devrelease

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders whose project page lists it, the widest first: ``cu130``, ``cu130/sm12x``."""
        top = f"{NIGHTLY}/" if self.nightly else ""
        if self.cuda is None:
            return (top,)
        wide = f"{top}{self.cuda}/"
        return (wide, f"{wide}{self.family}/") if self.family else (wide,)

    @property
    def pages(self) -> tuple[str, ...]:
        """The project pages that list it, the widest first."""
        return tuple(f"{folder}{self.project}/" for folder in self.folders)


@cache
def public(version: str) -> Version:
    """A version without its local label."""
    return Version(version.partition("+")[0])


def in_order(rows: Iterable[IndexedFile]) -> list[IndexedFile]:
    """Rows by project, version and file name."""
    releases: dict[str, dict[str, list[IndexedFile]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        releases[row.project][row.version.partition("+")[0]].append(row)
    by_file = attrgetter("file")
    return [
        row
        for project in sorted(releases)
        for text in sorted(sorted(releases[project]), key=public)  # 1.0 and 1.0.0 are equal: by their texts
        for row in sorted(releases[project][text], key=by_file)
    ]


def pages_of(row: IndexedFile) -> tuple[str, ...]:
    """The project pages that list a row, the widest first: its own, and that of the CUDA label above its family."""
    *folders, project = row.page.rstrip("/").split("/")
    if not folders or not _FAMILY.fullmatch(folders[-1]):
        return (row.page,)
    return ("/".join((*folders[:-1], project, "")), row.page)


def parse_name(file: str) -> FileName | None:
    """Read a wheel's or sdist's name; None for a file that is neither. Raises `VerificationError` for a bad wheel name.

    A ``.tar.gz`` whose name is no sdist's may be any archive, and is passed over.
    """
    if file.endswith(SDIST):
        try:
            name, version = parse_sdist_filename(file)
        except ValueError:  # InvalidSdistFilename is one, and so is what Python says of a number without end
            return None
        return _checked(FileName(file, canonicalize_name(name), version))
    if file.endswith(_VARIANTS):
        project, _, described = file.removesuffix(_VARIANTS).partition("-")
        variant = version_of(described)
        return _checked(FileName(file, canonicalize_name(project), variant, variant="")) if variant else None
    if not file.endswith(".whl"):
        return None
    match = _VARIANT.fullmatch(file)
    if match:
        plain = parse_name(f"{match[1]}.whl")
        return plain and replace(plain, file=file, variant=match[2])
    try:
        parsed = WheelName.parse(file)
    except UsageError as error:
        lost = re.search(r"\.cu\d", file)
        help = "the '+' of its version was lost on the way: upload it again under its own name" if lost else error.help
        raise VerificationError(error.what, help=help) from None
    version = parsed.version
    platforms = {arch for platform in parsed.platforms if (arch := architecture(platform))}
    local = version.local or ""
    cuda = next((match[1] for part in local.split(".") if (match := _CUDA.match(part))), None)
    family = next((part for part in local.split(".") if cuda and _FAMILY.fullmatch(part)), None)
    arch = platforms.pop() if len(platforms) == 1 else None
    return _checked(FileName(file, parsed.distribution, version, cuda, family, arch))


def _checked(name: FileName) -> FileName:
    taken = name.project == NIGHTLY or _CUDA.fullmatch(name.project) or _FAMILY.fullmatch(name.project)
    if taken:
        raise VerificationError(
            f"'{name.file}': a project called '{name.project}' has no page, since the index has a folder of that name",
            help="rename the project",
        )
    return name
