"""Check host code: CPU architecture, glibc and libstdc++ floors, search paths and bundled driver libraries."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from fatwheel.records.verification import Finding
from fatwheel.wheels.checks.inspected import InspectedWheel, error, warning
from fatwheel.wheels.formats import elf
from fatwheel.wheels.formats.elf import Elf
from fatwheel.wheels.formats.metadata import read_headers
from fatwheel.wheels.formats.wheel_name import parse_architecture, parse_glibc_floor

# The user's driver installs them, and only its own versions work. A suffix such as -1a2b3c4d is from auditwheel.
_DRIVER = re.compile(
    r"lib(cuda|cudadebugger|nvcuvid|nvoptix|(GLX|EGL|GLESv1_CM|GLESv2|vdpau)_nvidia|nvidia-(ml|ptxjitcompiler|nvvm\d*|encode"
    r"|opencl|opticalflow|fbc|cfg|allocator|gpucomp|glcore|eglcore|glsi|glvkspirv|rtcore|tls|ngx|nscq|pkcs11[-\w]*"
    r"|egl-\w+|sandboxutils|vksc-core|api|wayland-client|present))"
    r"(-[0-9a-f]{8})?\.so(\..*)?"
)


# manylinux floor -> n of the newest GLIBCXX_3.4.n in the libstdc++ of its systems (policies of auditwheel 6.8 for
# PEP 600). A floor between two of these has the value of the lower one.
_LIBSTDCXX: dict[tuple[int, int], int] = {
    (2, 5): 8, (2, 12): 13, (2, 17): 19, (2, 24): 22, (2, 27): 24, (2, 31): 28, (2, 34): 29, (2, 35): 30, (2, 39): 33,
}  # fmt: skip


def check_binaries(wheel: InspectedWheel) -> Iterator[Finding]:
    """Every library and program, and whether the tags match them."""
    modules = {one.member.name: one for one in wheel.modules}
    if modules:
        yield from _check_tags(wheel, sorted(modules))
    for name, one in modules.items():
        if one.elf:
            yield from _check_machine(wheel, name, one.elf)
            yield from _check_glibc(wheel, name, one.elf)
            yield from _check_libstdcxx(wheel, name, one.elf)
            yield from _check_search_paths(name, one.elf)
        yield from _check_driver(name, one.elf)
    expected, platforms = wheel.expected.arch, wheel.name.platforms if wheel.name else ()
    found = {cpu for cpu in map(parse_architecture, platforms) if cpu}
    if expected and found and found != {expected}:
        yield error(
            "elf-machine", f"the tags are for {', '.join(sorted(found))}, not {expected}", "build it for that CPU"
        )


def _check_tags(wheel: InspectedWheel, modules: list[str]) -> Iterator[Finding]:
    listed = modules[0] + (f" and {len(modules) - 1} more" if len(modules) > 1 else "")
    if wheel.name and wheel.name.is_pure:
        yield error(
            "platform-any",
            f"the tag allows any platform, but the wheel contains machine code ({listed})",
            "build it with a platform tag; the build backend was not aware of extension modules",
        )
    purelib = read_headers(wheel.info("WHEEL") or b"")["Root-Is-Purelib"]
    if purelib is not None and str(purelib).strip().lower() == "true":
        yield warning(
            "purelib",
            "WHEEL has Root-Is-Purelib: true, but the wheel contains machine code",
            "mark it as platform-specific",
        )


def _check_machine(wheel: InspectedWheel, name: str, headers: Elf) -> Iterator[Finding]:
    tagged = {cpu for cpu in map(parse_architecture, wheel.name.platforms) if cpu} if wheel.name else set()
    if headers.machine != elf.CUDA and tagged and headers.architecture not in tagged:
        yield error(
            "elf-machine",
            f"machine code for {headers.architecture} in a wheel for {', '.join(sorted(tagged))}",
            "build it for the CPU in the tag",
            name,
        )


def _check_glibc(wheel: InspectedWheel, name: str, headers: Elf) -> Iterator[Finding]:
    private = sorted(library for library, version in headers.versions if version == "GLIBC_PRIVATE")
    if private:
        yield error(
            "glibc-private", f"it requires private symbols of {private[0]}", "link to public symbols only", name
        )
    platforms = wheel.name.platforms if wheel.name else ()
    need = headers.glibc
    if need is None:
        return
    floors = [(floor, platform) for platform in platforms if (floor := parse_glibc_floor(platform))]
    musl = [platform for platform in platforms if platform.startswith("musllinux")]
    requires = f"it requires glibc {need[0]}.{need[1]}"
    if floors and need > min(floors)[0]:
        (major, minor), platform = min(floors)
        help = f"build it on an older system, or tag it manylinux_{need[0]}_{need[1]}"
        yield error("glibc-floor", f"{requires}, but the tag {platform} allows {major}.{minor}", help, name)
    elif musl:
        yield error("glibc-floor", f"{requires}, but the tag {musl[0]} is for musl", "build it with musl", name)


def _check_libstdcxx(wheel: InspectedWheel, name: str, headers: Elf) -> Iterator[Finding]:
    """Symbols missing on the oldest systems of the tag; a warning, because a newer libstdc++ may be loaded already."""
    platforms = wheel.name.platforms if wheel.name else ()
    floors = sorted((floor, platform) for platform in platforms if (floor := parse_glibc_floor(platform)))
    if not floors or any("libstdc++" in member for member in wheel.archive.by_name):  # it has its own
        return
    floor, platform = floors[0]
    available = [newest for least, newest in _LIBSTDCXX.items() if least <= floor]
    matches = [re.fullmatch(r"GLIBCXX_3\.4\.(\d{1,4})", version) for _, version in headers.versions]
    need = max((int(match[1]) for match in matches if match), default=0)
    if available and need > available[-1]:
        yield warning(
            "libstdcxx-floor",
            f"it requires GLIBCXX_3.4.{need}, but the tag {platform} allows GLIBCXX_3.4.{available[-1]}",
            "build it with the compiler of that manylinux image, or link with -static-libstdc++",
            name,
        )


def _check_search_paths(name: str, headers: Elf) -> Iterator[Finding]:
    for kind, paths in (("RPATH", headers.rpath), ("RUNPATH", headers.runpath)):
        for path in paths:
            relative = re.sub(r"^\$(ORIGIN|\{ORIGIN\})(?=/|$)", ".", path)
            if relative == path:
                what = (
                    f"{kind} contains the absolute path '{path}'"
                    if path
                    else f"{kind} has an empty entry, which means the current folder"
                )
                yield error(
                    "rpath-absolute", what, "link with -Wl,-rpath,'$ORIGIN/...', or remove it with patchelf", name
                )
            elif _is_outside(name, relative):
                yield warning(
                    "rpath-outside",
                    f"{kind} '{path}' leads outside site-packages",
                    "use only libraries in wheels",
                    name,
                )


def _is_outside(member: str, relative: str) -> bool:
    parts = member.split("/")
    if parts[0].endswith(".data"):
        if parts[1] not in ("purelib", "platlib"):
            return False  # the install folder of scripts and data is unknown
        parts = parts[2:]
    return posixpath.normpath("/".join([*parts[:-1], relative])).startswith("..")


def _check_driver(name: str, headers: Elf | None) -> Iterator[Finding]:
    names = {name.rpartition("/")[2], (headers and headers.soname) or ""}
    found = sorted(one for one in names if _DRIVER.fullmatch(one))
    if found:
        help = "exclude it (auditwheel repair --exclude 'libcuda.so*'): it belongs to the user's driver"
        yield error("driver-bundled", f"it is the driver library {found[0]}", help, name)
