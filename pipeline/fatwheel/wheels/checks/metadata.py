"""File name, dist-info folder, METADATA and WHEEL: whether they all speak of the same wheel."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.metadata import InvalidMetadata, Metadata
from packaging.utils import canonicalize_name
from packaging.version import Version

from fatwheel.errors import UsageError
from fatwheel.records.verification import Finding
from fatwheel.wheels.checks.expected import Expected
from fatwheel.wheels.checks.inspected import InspectedWheel, error, warning
from fatwheel.wheels.formats.metadata import read_headers
from fatwheel.wheels.formats.wheel_name import WheelName, expanded, version_of

# Fields without which, or with a wrong one, installers refuse a wheel; in others they do not look.
_INSTALLERS_READ = {"metadata-version", "name", "version", "requires-dist", "requires-python", "provides-extra"}


def check_name(text: str, expected: Expected) -> Iterator[Finding]:
    """The file name by itself, and against the expected one."""
    try:
        WheelName.parse(text)
    except UsageError as problem:
        yield error("wheel-name", problem.what, problem.help or "rename it")
    if expected.wheel and expected.wheel != text:
        yield error("wheel-name", f"'{text}' is not '{expected.wheel}'", "build it under the name that its cell says")


def check_metadata(wheel: InspectedWheel) -> Iterator[Finding]:
    """The dist-info folder and METADATA."""
    yield from _folder(wheel)
    if wheel.folder is None:
        return
    if wheel.metadata is None:
        if f"{wheel.folder}/METADATA" not in wheel.archive.by_name:
            yield error("metadata-missing", "there is no METADATA", "build the wheel with a build backend, or pack it")
        return
    member = f"{wheel.folder}/METADATA"
    name, version = wheel.metadata["Name"], wheel.metadata["Version"]
    wanted_name, wanted_version = _wanted(wheel)
    if name and wanted_name and canonicalize_name(name) != wanted_name:
        yield error(
            "metadata-name",
            f"METADATA says '{name}', not '{wanted_name}'",
            "build it again; do not rename files",
            member,
        )
    if version and wanted_version is not None and version_of(version) != wanted_version:
        yield error(
            "metadata-version",
            f"METADATA says '{version}', not '{wanted_version}'; pip refuses such a wheel",
            "build it with this version; renaming the file does not change what is inside",
            member,
        )
    try:
        Metadata.from_email(wheel.info("METADATA") or b"", validate=True)
    except ExceptionGroup as group:
        for problem in group.exceptions:
            field = problem.field if isinstance(problem, InvalidMetadata) else ""
            say = error if field in _INSTALLERS_READ else warning
            yield say("metadata-invalid", str(problem), "mend the project's metadata and build again", member)
    except ValueError:  # what Python says of a number without end
        what = "a number in it has more digits than Python reads"
        yield error("metadata-invalid", what, "mend the project's metadata and build again", member)
    yield from _licenses(wheel, member)


def _wanted(wheel: InspectedWheel) -> tuple[str | None, Version | None]:
    expected, name = wheel.expected, wheel.name
    distribution, version = (name.distribution, name.version) if name else (None, None)
    if expected.distribution:
        distribution = canonicalize_name(expected.distribution)
    return distribution, Version(expected.version) if expected.version else version


def _folder(wheel: InspectedWheel) -> Iterator[Finding]:
    found = wheel.archive.dist_infos
    if len(found) != 1:
        what = f"there are several dist-info folders ({', '.join(found)})" if found else "there is no dist-info folder"
        yield error("dist-info", what, "build the wheel with a build backend, or pack it")
    elif wheel.name:
        name, _, version = found[0].removesuffix(".dist-info").partition("-")
        if canonicalize_name(name) != wheel.name.distribution or version_of(version) != wheel.name.version:
            yield error(
                "dist-info",
                f"the folder is '{found[0]}', the file name says {wheel.name.distribution} {wheel.name.version}",
                "build it again; do not rename files",
            )


def _licenses(wheel: InspectedWheel, member: str) -> Iterator[Finding]:
    headers = wheel.metadata
    assert headers is not None  # noqa: S101 - the caller looked
    modern = (headers["Metadata-Version"] or "") >= "2.4"
    for file in headers.get_all("License-File", []):
        places = [f"{wheel.folder}/licenses/{file}"] + ([] if modern else [f"{wheel.folder}/{file}"])
        if not any(place in wheel.archive.by_name for place in places):
            say = error if modern else warning
            yield say(
                "license-missing", f"License-File '{file}' is not at {places[0]}", "pack the licence file", member
            )


def check_wheel_file(wheel: InspectedWheel) -> Iterator[Finding]:
    """WHEEL, against the file name."""
    if wheel.folder is None:
        return
    member = f"{wheel.folder}/WHEEL"
    data = wheel.info("WHEEL")
    if data is None:
        if member not in wheel.archive.by_name:
            yield error("wheel-file", "there is no WHEEL", "build the wheel with a build backend, or pack it")
        return
    headers = read_headers(data)
    written = headers["Wheel-Version"] or ""
    if written.partition(".")[0] != "1":
        yield error(
            "wheel-file", f"Wheel-Version is '{written}', not 1.x", "build it with a tool that writes 1.0", member
        )
    if wheel.name is None:
        return
    tags = {tag for line in headers.get_all("Tag", []) for tag in expanded(line.strip())}
    told = set(map(str, wheel.name.tags))
    if tags != told:
        yield error(
            "wheel-tags",
            f"WHEEL says {', '.join(sorted(tags)) or 'nothing'}, the file name {', '.join(sorted(told))}",
            "retag it with `wheel tags`, which changes both",
            member,
        )
    build = headers["Build"] or ""
    named = f"{wheel.name.build[0]}{wheel.name.build[1]}" if wheel.name.build else ""
    if build != named:
        yield error(
            "wheel-tags", f"WHEEL says build '{build}', the file name '{named}'", "retag it with `wheel tags`", member
        )
