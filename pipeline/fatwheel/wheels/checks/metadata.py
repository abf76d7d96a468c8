"""Check that file name, dist-info folder, METADATA and WHEEL are valid and agree with each other."""

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
from fatwheel.wheels.formats.wheel_name import WheelName, expand_tags, parse_version

# Fields that installers read: if one is missing or invalid, they reject the wheel.
_INSTALLERS_READ = {"metadata-version", "name", "version", "requires-dist", "requires-python", "provides-extra"}


def check_name(text: str, expected: Expected) -> Iterator[Finding]:
    """Whether the file name is valid and the expected one."""
    try:
        WheelName.parse(text)
    except UsageError as problem:
        yield error("wheel-name", problem.what, problem.help or "rename it")
    if expected.wheel and expected.wheel != text:
        yield error(
            "wheel-name",
            f"expected the file name '{expected.wheel}', found '{text}'",
            "build it with the name in its cell",
        )


def check_metadata(wheel: InspectedWheel) -> Iterator[Finding]:
    """The dist-info folder and METADATA."""
    yield from _check_folder(wheel)
    if wheel.folder is None:
        return
    if wheel.metadata is None:
        if f"{wheel.folder}/METADATA" not in wheel.archive.by_name:
            yield error("metadata-missing", "METADATA not found", "build the wheel with a build backend or fatwheel")
        return
    member = f"{wheel.folder}/METADATA"
    name, version = wheel.metadata["Name"], wheel.metadata["Version"]
    expected_name, expected_version = _expected_identity(wheel)
    if name and expected_name and canonicalize_name(name) != expected_name:
        yield error(
            "metadata-name",
            f"the name in METADATA is '{name}', not '{expected_name}'",
            "build it again; do not rename files",
            member,
        )
    if version and expected_version is not None and parse_version(version) != expected_version:
        yield error(
            "metadata-version",
            f"the version in METADATA is '{version}', not '{expected_version}'; pip rejects such a wheel",
            "build it with this version; renaming the file does not change what is inside",
            member,
        )
    try:
        Metadata.from_email(wheel.info("METADATA") or b"", validate=True)
    except ExceptionGroup as group:
        for problem in group.exceptions:
            field = problem.field if isinstance(problem, InvalidMetadata) else ""
            report = error if field in _INSTALLERS_READ else warning
            yield report("metadata-invalid", str(problem), "correct the project metadata and build again", member)
    except ValueError:  # raised by Python for numbers that are too long
        what = "it contains a number with too many digits"
        yield error("metadata-invalid", what, "correct the project metadata and build again", member)
    yield from _check_licenses(wheel, member)


def _expected_identity(wheel: InspectedWheel) -> tuple[str | None, Version | None]:
    expected, name = wheel.expected, wheel.name
    distribution, version = (name.distribution, name.version) if name else (None, None)
    if expected.distribution:
        distribution = canonicalize_name(expected.distribution)
    return distribution, Version(expected.version) if expected.version else version


def _check_folder(wheel: InspectedWheel) -> Iterator[Finding]:
    found = wheel.archive.dist_infos
    if len(found) != 1:
        what = f"several dist-info folders ({', '.join(found)})" if found else "no dist-info folder"
        yield error("dist-info", what, "build the wheel with a build backend or fatwheel")
    elif wheel.name:
        name, _, version = found[0].removesuffix(".dist-info").partition("-")
        if canonicalize_name(name) != wheel.name.distribution or parse_version(version) != wheel.name.version:
            yield error(
                "dist-info",
                f"the folder is '{found[0]}', but the file name has {wheel.name.distribution} {wheel.name.version}",
                "build it again; do not rename files",
            )


def _check_licenses(wheel: InspectedWheel, member: str) -> Iterator[Finding]:
    headers = wheel.metadata
    assert headers is not None  # noqa: S101 - checked by the caller
    written = parse_version(str(headers["Metadata-Version"] or "0"))
    modern = written is not None and written >= Version("2.4")
    for file in headers.get_all("License-File", []):
        places = [f"{wheel.folder}/licenses/{file}"] + ([] if modern else [f"{wheel.folder}/{file}"])
        if not any(place in wheel.archive.by_name for place in places):
            report = error if modern else warning
            yield report(
                "license-missing", f"license file '{file}' not found at {places[0]}", "pack the license file", member
            )


def check_wheel_file(wheel: InspectedWheel) -> Iterator[Finding]:
    """Compare WHEEL with the file name."""
    if wheel.folder is None:
        return
    member = f"{wheel.folder}/WHEEL"
    data = wheel.info("WHEEL")
    if data is None:
        if member not in wheel.archive.by_name:
            yield error("wheel-file", "WHEEL not found", "build the wheel with a build backend or fatwheel")
        return
    headers = read_headers(data)
    written = headers["Wheel-Version"] or ""
    if written.partition(".")[0] != "1":
        yield error(
            "wheel-file",
            f"unsupported Wheel-Version '{written}'",
            "build it with a tool that writes version 1.0",
            member,
        )
    if wheel.name is None:
        return
    tags = {tag for line in headers.get_all("Tag", []) for tag in expand_tags(line.strip())}
    named = set(map(str, wheel.name.tags))
    if tags != named:
        here, there = ", ".join(sorted(tags)) or "missing", ", ".join(sorted(named))
        what = f"the tags in WHEEL are {here}, but in the file name {there}"
        yield error("wheel-tags", what, "change the tags with `wheel tags`, which updates both", member)
    build = headers["Build"] or ""
    number = f"{wheel.name.build[0]}{wheel.name.build[1]}" if wheel.name.build else ""
    if build != number:
        what = f"the build number in WHEEL is '{build}', but in the file name '{number}'"
        yield error("wheel-tags", what, "change the number with `wheel tags`, which updates both", member)
