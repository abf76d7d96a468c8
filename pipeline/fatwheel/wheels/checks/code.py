"""Check the device code of a wheel and of each module against the expected targets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from fatwheel.records.verification import Finding
from fatwheel.targets import Target
from fatwheel.wheels.checks.inspected import InspectedWheel, error
from fatwheel.wheels.reading.contents import Contents
from fatwheel.wheels.reading.device_code import Code, expand_targets, sum_code_bytes


def check_code(wheel: InspectedWheel) -> Iterator[Finding]:
    """The whole wheel, then each module whose targets are known. Placeholder wheels are skipped."""
    expected = wheel.expected
    if wheel.placeholder or any(one.fault for one in wheel.contents.values()):
        return  # code in an unreadable member is neither missing nor unexpected
    modules = wheel.modules
    if expected.targets is not None:
        yield from _check_wheel(expected.targets, sum_code_bytes(modules), partial=expected.partial)
    if expected.modules is not None:
        yield from _check_modules(expected.modules, modules)


def _check_wheel(
    targets: Iterable[Target], found: Mapping[Code, Mapping[str, int]], *, partial: bool
) -> Iterator[Finding]:
    expected = expand_targets(targets)
    for target, kind in [] if partial else sorted(expected - set(found)):
        what = f"no module contains {kind} for {target}"
        yield error("target-missing", what, "make sure that the build passes the target list to nvcc")
    for target, kind in sorted(set(found) - expected):
        modules = found[target, kind]
        listed = ", ".join(sorted(modules)[:3]) + (f" and {len(modules) - 3} more" if len(modules) > 3 else "")
        what = f"unexpected {kind} for {target}: {sum(modules.values())} bytes in {listed}"
        help = "declare the target, or find the module, device link or static library that adds it"
        yield error("target-stray", what, help)


def _check_modules(expected: Mapping[str, tuple[Target, ...]], modules: list[Contents]) -> Iterator[Finding]:
    names = [one.member.name for one in modules]
    found = {name: match_module(name, names) for name in expected}
    for name in sorted(expected):
        if not found[name]:
            yield error("module-missing", f"module '{name}' not found", "build it, or exclude it with a reason", name)
        elif len(found[name]) > 1:
            several = ", ".join(found[name])
            yield error(
                "module-missing", f"ambiguous module '{name}': {several}", "report it by its path in the wheel", name
            )
    by_name = {one.member.name: one for one in modules}
    named = {member: name for name, members in found.items() for member in members}
    for member, one in sorted(by_name.items()):
        if member not in named and one.entries:
            what = "it contains device code, but the build did not report it"
            yield error("module-unexpected", what, "report it, or find out why it was built", member)
        elif member in named and expected[named[member]]:
            yield from _check_module(member, expand_targets(expected[named[member]]), set(sum_code_bytes([one])))


def _check_module(member: str, expected: set[Code], found: set[Code]) -> Iterator[Finding]:
    for target, kind in sorted(expected - found):
        help = "add the target to its compile and device-link flags"
        yield error("module-target-missing", f"no {kind} for {target}", help, member)
    for target, kind in sorted(found - expected):
        help = "check its compile and device-link flags"
        yield error("module-target-stray", f"unexpected {kind} for {target}", help, member)


def match_module(name: str, members: Iterable[str]) -> list[str]:
    """The members that a reported name matches: by path, by file name, or by file name up to the first dot."""
    listed = list(members)
    files = {member: member.rpartition("/")[2] for member in listed}
    stems = {member: file.partition(".")[0] for member, file in files.items()}
    for named in (dict(zip(listed, listed, strict=True)), files, stems):
        if found := [member for member in listed if named[member] == name]:
            return sorted(found)
    return []
