"""Stub libraries that keep host builds within the declared glibc floor, for libraries that glibc 2.34 merged into libc.

CUDA's static runtime, among others, uses threads, shared memory and dlopen. Linked on a machine with glibc 2.34 or
later, such code requires the new versions of these symbols (GLIBC_2.34) and does not load on older machines, although
it needs nothing new. Every glibc still has the old versions. With stubs of the old libraries, which have only the old
versions, first on its search path, the linker records those.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from fatwheel.building.cache import get_or_create
from fatwheel.building.compiler import HostCompiler
from fatwheel.building.engine import HOST, Engine
from fatwheel.caches import cache_root
from fatwheel.declaration.model import Package
from fatwheel.errors import BuildError
from fatwheel.retry import Notify

# The first glibc in which libpthread, libdl and librt are part of libc.so.6, from its release notes.
_MERGED = (2, 34)
# Symbols with a new version in 2.34, by their former library and their former version on x86_64 (`readelf --dyn-syms`
# of glibc 2.36: those with the default GLIBC_2.34 and another, older version).
_LIBRARIES: dict[str, dict[str, str]] = {
    "libpthread.so.0": {
        "GLIBC_2.2.5": """
            __pthread_key_create pthread_attr_getguardsize pthread_attr_getstack pthread_attr_getstackaddr
            pthread_attr_getstacksize pthread_attr_setguardsize pthread_attr_setstack pthread_attr_setstackaddr
            pthread_attr_setstacksize pthread_barrier_destroy pthread_barrier_init pthread_barrier_wait
            pthread_barrierattr_destroy pthread_barrierattr_init pthread_barrierattr_setpshared pthread_cancel
            pthread_condattr_getpshared pthread_condattr_setpshared pthread_create pthread_detach
            pthread_getconcurrency pthread_getcpuclockid pthread_getspecific pthread_join pthread_key_create
            pthread_key_delete pthread_kill pthread_mutex_timedlock pthread_mutex_trylock pthread_mutexattr_destroy
            pthread_mutexattr_getpshared pthread_mutexattr_gettype pthread_mutexattr_init
            pthread_mutexattr_setpshared pthread_mutexattr_settype pthread_once pthread_rwlock_destroy
            pthread_rwlock_init pthread_rwlock_rdlock pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock
            pthread_rwlock_tryrdlock pthread_rwlock_trywrlock pthread_rwlock_unlock pthread_rwlock_wrlock
            pthread_rwlockattr_destroy pthread_rwlockattr_getkind_np pthread_rwlockattr_getpshared
            pthread_rwlockattr_init pthread_rwlockattr_setkind_np pthread_rwlockattr_setpshared
            pthread_setconcurrency pthread_setspecific pthread_spin_destroy pthread_spin_init pthread_spin_lock
            pthread_spin_trylock pthread_spin_unlock pthread_testcancel sem_close sem_destroy sem_getvalue sem_init
            sem_open sem_post sem_timedwait sem_trywait sem_unlink sem_wait
        """,
        "GLIBC_2.3.3": """
            __pthread_register_cancel __pthread_unregister_cancel __pthread_unwind_next pthread_barrierattr_getpshared
            pthread_condattr_getclock pthread_condattr_setclock pthread_timedjoin_np pthread_tryjoin_np
        """,
        "GLIBC_2.3.4": "pthread_attr_getaffinity_np pthread_setaffinity_np pthread_setschedprio",
        "GLIBC_2.4": """
            pthread_mutex_getprioceiling pthread_mutex_setprioceiling pthread_mutexattr_getprioceiling
            pthread_mutexattr_getprotocol pthread_mutexattr_setprioceiling pthread_mutexattr_setprotocol
        """,
        "GLIBC_2.11": "pthread_sigqueue",
        "GLIBC_2.12": """
            pthread_getname_np pthread_mutex_consistent pthread_mutexattr_getrobust pthread_mutexattr_setrobust
            pthread_setname_np
        """,
        "GLIBC_2.18": "pthread_getattr_default_np pthread_setattr_default_np",
        "GLIBC_2.28": """
            call_once cnd_broadcast cnd_destroy cnd_init cnd_signal cnd_timedwait cnd_wait mtx_destroy mtx_init mtx_lock
            mtx_timedlock mtx_trylock mtx_unlock thrd_create thrd_detach thrd_exit thrd_join tss_create tss_delete
            tss_get tss_set
        """,
        "GLIBC_2.30": """
            pthread_cond_clockwait pthread_mutex_clocklock pthread_rwlock_clockrdlock pthread_rwlock_clockwrlock
            sem_clockwait
        """,
        "GLIBC_2.31": "pthread_clockjoin_np",
    },
    "libdl.so.2": {
        "GLIBC_2.2.5": "dladdr dlclose dlerror dlopen dlsym dlvsym",
        "GLIBC_2.3.3": "dladdr1 dlinfo",
        "GLIBC_2.3.4": "dlmopen",
    },
    "librt.so.1": {
        "GLIBC_2.2.5": """
            aio_cancel aio_cancel64 aio_error aio_error64 aio_fsync aio_fsync64 aio_init aio_read aio_read64 aio_return
            aio_return64 aio_suspend aio_suspend64 aio_write aio_write64 shm_open shm_unlink
        """,
        "GLIBC_2.3.3": "timer_create timer_delete timer_getoverrun timer_gettime timer_settime",
        "GLIBC_2.3.4": """
            mq_close mq_getattr mq_notify mq_open mq_receive mq_send mq_setattr mq_timedreceive mq_timedsend mq_unlink
        """,
        "GLIBC_2.4": "lio_listio lio_listio64",
    },
}
# The first glibc of each CPU: symbols that are older than it have its version there.
_FIRST = {"x86_64": (2, 2, 5), "aarch64": (2, 17)}


def glibc_stubs(
    package: Package,
    arch: str,
    host: HostCompiler,
    environ: Mapping[str, str],
    notify: Notify,
    *,
    engine: Engine = HOST,
) -> Path | None:
    """Return the folder of stub libraries to link first; None if the glibc floor or this machine needs none.

    Raises `BuildError` if the host compiler cannot link them.
    """
    if package.manylinux is None or _version(package.manylinux) >= _MERGED:
        return None
    # A cross compiler has its own glibc, usually of the same release as the machine's.
    if engine.glibc(environ) < _MERGED:
        return None
    listing = hashlib.sha256(repr((_LIBRARIES, _FIRST)).encode()).hexdigest()[:8]
    place = cache_root(environ) / "toolkits" / f"glibc-stubs-{arch}-{listing}"

    def make(temporary: Path) -> None:
        for soname, listed in _LIBRARIES.items():
            _make_stub(engine, temporary, soname, _symbols_by_version(listed, arch), host, environ)

    return get_or_create(place, make, needs=1 << 20, what="stubs of old glibc libraries", notify=notify)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("_")[:2])


def _symbols_by_version(listed: Mapping[str, str], arch: str) -> dict[str, list[str]]:
    """Return the symbols by their version in the glibc of this CPU."""
    found: dict[str, list[str]] = {}
    for version, symbols in listed.items():
        number = tuple(map(int, version.removeprefix("GLIBC_").split(".")))
        node = f"GLIBC_{'.'.join(map(str, max(number, _FIRST[arch])))}"
        found.setdefault(node, []).extend(symbols.split())
    return found


def _make_stub(  # noqa: PLR0917
    engine: Engine,
    folder: Path,
    soname: str,
    nodes: Mapping[str, list[str]],
    host: HostCompiler,
    environ: Mapping[str, str],
) -> None:
    """Make one library that defines the symbols with their versions, as empty functions."""
    stem = soname.split(".", maxsplit=1)[0]
    source, script = folder / f"{stem}.c", folder / f"{stem}.map"
    symbols = [symbol for held in nodes.values() for symbol in held]
    source.write_text("".join(f"void {symbol}(void) {{}}\n" for symbol in symbols), encoding="utf-8")
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
        last = " / ".join(answer.tail.splitlines()[-3:])
        raise BuildError(f"the host compiler cannot link a library: {last}", help=f"check {host.path}")
