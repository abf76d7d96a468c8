"""Host code: CPU, glibc floor, where libraries are looked for, and whose they are."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from fatwheel.records.verification import Finding
from fatwheel.wheels.checks.inspected import InspectedWheel, error, warning
from fatwheel.wheels.formats import elf
from fatwheel.wheels.formats.elf import Elf
from fatwheel.wheels.formats.wheel_name import architecture, glibc_floor

# They come with the user's driver, and only those of that very driver work. A tail as -1a2b3c4d is auditwheel's.
_DRIVER = re.compile(
    r"lib(cuda|cudadebugger|nvcuvid|nvoptix|(GLX|EGL|GLESv1_CM|GLESv2|vdpau)_nvidia|nvidia-(ml|ptxjitcompiler|nvvm\d*|encode"
    r"|opencl|opticalflow|fbc|cfg|allocator|gpucomp|glcore|eglcore|glsi|glvkspirv|rtcore|tls|ngx|nscq|pkcs11[-\w]*"
    r"|egl-\w+|sandboxutils|vksc-core|api|wayland-client|present))"
    r"(-[0-9a-f]{8})?\.so(\..*)?"
)


# manylinux floor -> the n of the newest GLIBCXX_3.4.n that its systems' libstdc++ has (the policies of PEP 600 as
# auditwheel 6.8 holds them). A floor between two has that of the lower one.
_LIBSTDCXX: dict[tuple[int, int], int] = {
    (2, 5): 8, (2, 12): 13, (2, 17): 19, (2, 24): 22, (2, 27): 24, (2, 31): 28, (2, 34): 29, (2, 35): 30, (2, 39): 33,
}  # fmt: skip


def check_binaries(wheel: InspectedWheel) -> Iterator[Finding]:
    """Every library and program, and the tags against them."""
    modules = {one.member.name: one for one in wheel.modules}
    if modules:
        yield from _tags(wheel, sorted(modules))
    for name, one in modules.items():
        if one.elf:
            yield from _machine(wheel, name, one.elf)
            yield from _glibc(wheel, name, one.elf)
            yield from _libstdcxx(wheel, name, one.elf)
            yield from _search_paths(name, one.elf)
        yield from _driver(name, one.elf)
    expected, platforms = wheel.expected.arch, wheel.name.platforms if wheel.name else ()
    found = {cpu for cpu in map(architecture, platforms) if cpu}
    if expected and found and found != {expected}:
        yield error(
            "elf-machine", f"the tags are for {', '.join(sorted(found))}, not {expected}", "build it for that CPU"
        )


def _tags(wheel: InspectedWheel, modules: list[str]) -> Iterator[Finding]:
    shown = modules[0] + (f" and {len(modules) - 1} more" if len(modules) > 1 else "")
    if wheel.name and wheel.name.is_pure:
        yield error(
            "platform-any",
            f"the tag says that it installs anywhere, but it holds machine code ({shown})",
            "build it with a platform tag; the build did not know that there are extension modules",
        )
    if wheel.folder and b"root-is-purelib: true" in (wheel.info("WHEEL") or b"").lower():
        yield warning(
            "purelib", "WHEEL says Root-Is-Purelib: true, but it holds machine code", "mark it as platform specific"
        )


def _machine(wheel: InspectedWheel, name: str, headers: Elf) -> Iterator[Finding]:
    wanted = {cpu for cpu in map(architecture, wheel.name.platforms) if cpu} if wheel.name else set()
    if headers.machine != elf.CUDA and wanted and headers.architecture not in wanted:
        yield error(
            "elf-machine",
            f"machine code for {headers.architecture} in a wheel for {', '.join(sorted(wanted))}",
            "build it for the CPU that the tag names",
            name,
        )


def _glibc(wheel: InspectedWheel, name: str, headers: Elf) -> Iterator[Finding]:
    private = sorted(library for library, version in headers.versions if version == "GLIBC_PRIVATE")
    if private:
        yield error(
            "glibc-private", f"it needs private symbols of {private[0]}", "link against public symbols only", name
        )
    platforms = wheel.name.platforms if wheel.name else ()
    need = headers.glibc
    if need is None:
        return
    floors = [(floor, platform) for platform in platforms if (floor := glibc_floor(platform))]
    musl = [platform for platform in platforms if platform.startswith("musllinux")]
    needs = f"it needs glibc {need[0]}.{need[1]}"
    if floors and need > min(floors)[0]:
        help = f"build it on an older system, or tag it manylinux_{need[0]}_{need[1]}"
        yield error("glibc-floor", f"{needs}, but the tag {min(floors)[1]} promises less", help, name)
    elif musl:
        yield error("glibc-floor", f"{needs}, but the tag {musl[0]} promises musl", "build it with musl", name)


def _libstdcxx(wheel: InspectedWheel, name: str, headers: Elf) -> Iterator[Finding]:
    """Symbols that the tag's oldest systems lack; no more than a warning, as a newer libstdc++ may be loaded before."""
    platforms = wheel.name.platforms if wheel.name else ()
    floors = sorted((floor, platform) for platform in platforms if (floor := glibc_floor(platform)))
    if not floors or any("libstdc++" in member for member in wheel.archive.by_name):  # it brings its own
        return
    floor, platform = floors[0]
    there = [newest for least, newest in _LIBSTDCXX.items() if least <= floor]
    matches = [re.fullmatch(r"GLIBCXX_3\.4\.(\d{1,4})", version) for _, version in headers.versions]
    need = max((int(match[1]) for match in matches if match), default=0)
    if there and need > there[-1]:
        yield warning(
            "libstdcxx-floor",
            f"it needs GLIBCXX_3.4.{need}, and the systems of {platform} have no newer than GLIBCXX_3.4.{there[-1]}",
            "build it with that manylinux image's compiler, or link with -static-libstdc++",
            name,
        )


def _search_paths(name: str, headers: Elf) -> Iterator[Finding]:
    for kind, paths in (("RPATH", headers.rpath), ("RUNPATH", headers.runpath)):
        for path in paths:
            relative = re.sub(r"^\$(ORIGIN|\{ORIGIN\})(?=/|$)", ".", path)
            if relative == path:
                what = (
                    f"{kind} holds '{path}', which is a folder of the build machine"
                    if path
                    else f"{kind} has an empty part, which is the current folder"
                )
                yield error(
                    "rpath-absolute", what, "link with -Wl,-rpath,'$ORIGIN/...', or remove it with patchelf", name
                )
            elif _leads_out(name, relative):
                yield warning(
                    "rpath-outside", f"{kind} '{path}' leads out of site-packages", "keep to libraries of wheels", name
                )


def _leads_out(member: str, relative: str) -> bool:
    parts = member.split("/")
    if parts[0].endswith(".data"):
        if parts[1] not in ("purelib", "platlib"):
            return False  # scripts and data are installed elsewhere, and where is not known here
        parts = parts[2:]
    return posixpath.normpath("/".join([*parts[:-1], relative])).startswith("..")


def _driver(name: str, headers: Elf | None) -> Iterator[Finding]:
    names = {name.rpartition("/")[2], (headers and headers.soname) or ""}
    found = sorted(one for one in names if _DRIVER.fullmatch(one))
    if found:
        help = "leave it out (auditwheel repair --exclude 'libcuda.so*'): it belongs to the user's driver"
        yield error("driver-bundled", f"it is the driver's own library {found[0]}", help, name)
