"""Device code: the targets that a wheel and each of its modules hold, against those that were asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from fatwheel.records.verification import Finding
from fatwheel.targets import Target
from fatwheel.wheels.checks.inspected import InspectedWheel, error
from fatwheel.wheels.reading.code import Code, code_bytes, declared_code
from fatwheel.wheels.reading.contents import Contents


def check_code(wheel: InspectedWheel) -> Iterator[Finding]:
    """The whole wheel, then module by module as far as the targets of modules are known. Not for placeholders."""
    expected = wheel.expected
    if wheel.placeholder or any(one.fault for one in wheel.contents.values()):
        return  # what cannot be read can neither be missing nor stray
    modules = wheel.modules
    if expected.targets is not None:
        yield from _whole(expected.targets, code_bytes(modules), partial=expected.partial)
    if expected.modules is not None:
        yield from _modules(expected.modules, modules)


def _whole(targets: Iterable[Target], held: Mapping[Code, Mapping[str, int]], *, partial: bool) -> Iterator[Finding]:
    wanted = declared_code(targets)
    for target, kind in [] if partial else sorted(wanted - set(held)):
        what = f"no {kind} for {target} in any module"
        yield error("target-missing", what, "see that the build passes the target list on to nvcc")
    for target, kind in sorted(set(held) - wanted):
        modules = held[target, kind]
        shown = ", ".join(sorted(modules)[:3]) + (f" and {len(modules) - 3} more" if len(modules) > 3 else "")
        what = f"{kind} for {target} that was not asked for: {sum(modules.values())} bytes in {shown}"
        help = "declare the target, or see that no module, device link or static library brings it in"
        yield error("target-stray", what, help)


def _modules(expected: Mapping[str, tuple[Target, ...]], modules: list[Contents]) -> Iterator[Finding]:
    names = [one.member.name for one in modules]
    found = {name: match_module(name, names) for name in expected}
    for name in sorted(expected):
        if not found[name]:
            yield error(
                "module-missing", f"there is no module '{name}'", "build it, or leave it out with a reason", name
            )
        elif len(found[name]) > 1:
            several = ", ".join(found[name])
            yield error(
                "module-missing", f"'{name}' may be any of {several}", "report it by its path in the wheel", name
            )
    by_name = {one.member.name: one for one in modules}
    named = {member: name for name, members in found.items() for member in members}
    for member, one in sorted(by_name.items()):
        if member not in named and one.entries:
            what = "it holds device code, but the build did not report it"
            yield error("module-unexpected", what, "report it, or see why it was built", member)
        elif member in named and expected[named[member]]:
            yield from _module(member, declared_code(expected[named[member]]), set(code_bytes([one])))


def _module(member: str, wanted: set[Code], held: set[Code]) -> Iterator[Finding]:
    for target, kind in sorted(wanted - held):
        help = "see that its compile and device-link flags name the target"
        yield error("module-target-missing", f"no {kind} for {target}", help, member)
    for target, kind in sorted(held - wanted):
        help = "see its own flags, and those of its device link"
        yield error("module-target-stray", f"{kind} for {target}, which it was not built for", help, member)


def match_module(name: str, members: Iterable[str]) -> list[str]:
    """The members that a reported name may mean: by path, by file name, or by file name without ``.so`` and after."""
    listed = list(members)
    files = {member: member.rpartition("/")[2] for member in listed}
    stems = {member: file.partition(".")[0] for member, file in files.items()}
    for named in (dict(zip(listed, listed, strict=True)), files, stems):
        if found := [member for member in listed if named[member] == name]:
            return sorted(found)
    return []
