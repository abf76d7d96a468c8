"""Link against the symbol versions of an old glibc, whatever glibc the build machine has.

CUDA's static runtime uses threads, semaphores, shared memory and dlopen. Since glibc 2.34 these live in libc.so.6 under
new versions (GLIBC_2.34), so a library linked on a newer machine does not load on an older one, though it needs nothing
new. The old versions still exist in every glibc. Stand-ins for libpthread, libdl and librt that offer only those, put
first in the linker's path, make it write the old ones down, as if the machine had a glibc older than 2.34.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

# What libcudart_static.a (CUDA 12 and 13) takes from each library that glibc 2.34 merged into libc.so.6.
_LIBRARIES = {
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
_LATER = {"x86_64": {"dlmopen": "GLIBC_2.3.4"}, "aarch64": {}}


def write_stand_ins(folder: Path, compiler: str, arch: str) -> None:
    """Make libpthread.so, libdl.so and librt.so in ``folder``, for ``-L folder``.

    ``compiler`` is the host compiler for ``arch`` (x86_64, aarch64). Raises `subprocess.CalledProcessError`.
    """
    for soname, listed in _LIBRARIES.items():
        stem = soname.split(".")[0]
        source, script = folder / f"{stem}.c", folder / f"{stem}.map"
        symbols = listed.split()
        source.write_text("".join(f"void {symbol}(void) {{}}\n" for symbol in symbols), encoding="utf-8")
        later = _LATER[arch]
        nodes = [_node(_FIRST[arch], [s for s in symbols if s not in later])]
        nodes += [_node(later[s], [s]) for s in symbols if s in later]
        script.write_text("".join(nodes), encoding="utf-8")
        subprocess.run(
            [
                compiler, "-x", "c", "-fno-builtin", "-fPIC", "-shared", "-nostdlib", str(source),
                f"-Wl,-soname,{soname}", f"-Wl,--version-script={script}", "-o", str(folder / f"{stem}.so"),
            ],
            check=True, capture_output=True, text=True,
        )  # fmt: skip


def _node(version: str, symbols: list[str]) -> str:
    return f"{version} {{ global: {' '.join(f'{symbol};' for symbol in symbols)} }};\n"
