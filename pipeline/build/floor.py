"""Host builds that keep to the declared glibc floor: stand-ins for libraries that glibc 2.34 merged into libc.so.6.

CUDA's static runtime, and much else, uses threads, shared memory and dlopen. Linked on a machine with glibc 2.34 or
later, such code asks for the new versions of these symbols (GLIBC_2.34) and does not load on an older machine, though
it needs nothing new. The old versions still exist in every glibc. Libraries of the old names that offer only those, put
where the linker looks first, make it write the old ones down.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pipeline.build.cache import Notify, cache_root, made_once
from pipeline.build.compiler import HostCompiler
from pipeline.build.engine import HOST, Engine
from pipeline.declaration.model import Package
from pipeline.errors import BuildError

# From here on libpthread, libdl and librt are part of libc.so.6 (glibc's release notes of 2.34).
_MERGED = (2, 34)
# What libcudart_static.a (CUDA 12 and 13) and users of dlopen take from each of them.
_LIBRARIES: dict[str, str] = {
    "libpthread.so.0": """
        pthread_condattr_setpshared pthread_create pthread_detach pthread_getspecific pthread_join pthread_key_create
        pthread_key_delete pthread_kill pthread_mutex_trylock pthread_mutexattr_destroy pthread_mutexattr_init
        pthread_mutexattr_setpshared pthread_mutexattr_settype pthread_once pthread_rwlock_destroy pthread_rwlock_init
        pthread_rwlock_rdlock pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock pthread_rwlock_tryrdlock
        pthread_rwlock_trywrlock pthread_rwlock_unlock pthread_rwlock_wrlock pthread_rwlockattr_destroy
        pthread_rwlockattr_init pthread_rwlockattr_setpshared pthread_setspecific pthread_spin_destroy
        pthread_spin_init pthread_spin_lock pthread_spin_trylock pthread_spin_unlock sem_destroy sem_init sem_post
        sem_timedwait sem_trywait sem_wait
    """,
    "libdl.so.2": "dlclose dlerror dlmopen dlopen dlsym dlvsym",
    "librt.so.1": "shm_open shm_unlink",
}
# The first version of glibc on each CPU names nearly all; dlmopen came to x86_64 later.
_FIRST = {"x86_64": "GLIBC_2.2.5", "aarch64": "GLIBC_2.17"}
_LATER: dict[str, dict[str, str]] = {"x86_64": {"dlmopen": "GLIBC_2.3.4"}, "aarch64": {}}


def stand_ins(
    package: Package,
    arch: str,
    host: HostCompiler,
    environ: Mapping[str, str],
    notify: Notify,
    *,
    engine: Engine = HOST,
) -> Path | None:
    """The folder of stand-ins to link with first; None where the package's floor or this machine's glibc needs none.

    Raises `BuildError` if the host compiler cannot make them.
    """
    if package.manylinux is None or _version(package.manylinux) >= _MERGED:
        return None
    # A cross compiler brings a glibc of its own, of the same release as the machine's where a distribution made both.
    if engine.glibc(environ) < _MERGED:
        return None
    place = cache_root(environ) / "toolkits" / f"glibc-stand-ins-{arch}"

    def make(temporary: Path) -> None:
        for soname, listed in _LIBRARIES.items():
            _stand_in(engine, temporary, soname, listed.split(), arch, host, environ)

    return made_once(place, make, needs=1_000_000, what="stand-ins for old glibc libraries", notify=notify)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("_")[:2])


def _stand_in(  # noqa: PLR0917
    engine: Engine,
    folder: Path,
    soname: str,
    symbols: list[str],
    arch: str,
    host: HostCompiler,
    environ: Mapping[str, str],
) -> None:
    """One library that defines the symbols under their first versions, and does nothing."""
    stem = soname.split(".", maxsplit=1)[0]
    source, script = folder / f"{stem}.c", folder / f"{stem}.map"
    source.write_text("".join(f"void {symbol}(void) {{}}\n" for symbol in symbols), encoding="utf-8")
    later = _LATER[arch]
    nodes = {_FIRST[arch]: [s for s in symbols if s not in later]} | {later[s]: [s] for s in symbols if s in later}
    script.write_text(
        "".join(f"{node} {{ global: {' '.join(f'{s};' for s in held)} }};\n" for node, held in nodes.items()),
        encoding="utf-8",
    )
    command = [
        host.path, "-x", "c", "-fno-builtin", "-fPIC", "-shared", "-nostdlib", str(source),
        f"-Wl,-soname,{soname}", f"-Wl,--version-script={script}", "-o", str(folder / f"{stem}.so"),
    ]  # fmt: skip
    answer = engine.ask(command, env=environ, cwd=folder)
    if answer.status != 0:
        said = " / ".join(answer.tail.splitlines()[-3:])
        raise BuildError(f"the host compiler cannot make a library: {said}", remedy=f"check {host.path}")
