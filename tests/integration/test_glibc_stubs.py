"""What is linked on this machine against the stand-ins asks for the old versions of symbols, loads, and works."""

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fatwheel.building import glibc_stubs
from fatwheel.building.compiler import host_compiler
from fatwheel.building.engine import HOST
from fatwheel.declaration import load
from fatwheel.wheels.formats.elf import read_elf
from fatwheel.wheels.io.byte_sources import BytesSource

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(HOST.glibc(os.environ) < (2, 34), reason="this machine's glibc needs no stand-ins"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the versions are x86_64's"),
]

PACKAGE = load(Path(__file__).resolve().parents[2] / "examples" / "minikernels" / "matrix.yaml").package("minikernels")
SOURCE = """
#include <aio.h>
#include <dlfcn.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <time.h>
static void *body(void *value) { *(int *)value += 1; return 0; }
int answer(int start) {  /* through a mutex that inherits priorities, as CUDA 13.5's static runtime has them */
    pthread_mutexattr_t how; pthread_mutex_t lock; pthread_t thread; sem_t one; Dl_info about;
    if (pthread_mutexattr_init(&how) || pthread_mutexattr_setprotocol(&how, PTHREAD_PRIO_INHERIT)) return -1;
    if (pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST) || pthread_mutex_init(&lock, &how)) return -2;
    if (pthread_mutex_trylock(&lock) || sem_init(&one, 0, 1) || sem_wait(&one)) return -3;
    if (pthread_create(&thread, 0, body, &start) || pthread_join(thread, 0)) return -4;
    if (!dlsym(RTLD_DEFAULT, "answer") || !dladdr((void *)answer, &about)) return -5;
    return start;
}
void unused(void) {
    struct timespec now; timer_t timer; (void)now;
    timer_create(CLOCK_MONOTONIC, 0, &timer); aio_cancel(0, 0); mq_close(0); shm_unlink("x");
    pthread_setname_np(pthread_self(), "x");
}
"""


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory) -> Path:
    environ = os.environ | {"FATWHEEL_CACHE": str(tmp_path_factory.mktemp("cache"))}
    found = glibc_stubs.glibc_stubs(PACKAGE, "x86_64", host_compiler(environ), environ, lambda _: None)
    assert found
    return found


def built(tmp_path, *flags) -> Path:
    (tmp_path / "k.c").write_text(SOURCE)
    path = tmp_path / "k.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", path, tmp_path / "k.c", *flags], check=True)
    return path


def test_old_versions_are_asked_for_and_the_library_works(tmp_path, stand_ins):
    library = built(tmp_path, f"-L{stand_ins}", "-lpthread", "-ldl", "-lrt", "-D_GNU_SOURCE")
    assert read_elf(BytesSource(library.read_bytes())).glibc == (2, 12)  # setrobust's
    code = f"import ctypes; print(ctypes.CDLL({str(library)!r}).answer(41))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "42"


def test_without_them_it_is_tied_to_newer_systems(tmp_path):
    assert read_elf(BytesSource(built(tmp_path, "-D_GNU_SOURCE").read_bytes())).glibc >= (2, 34)


def test_every_symbol_is_one_that_this_glibc_still_has_under_that_version(stand_ins):
    def symbols(path) -> set[tuple[str, str]]:
        listed = subprocess.run(["readelf", "--dyn-syms", "-W", path], capture_output=True, text=True, check=True)
        found = re.finditer(r"\bFUNC\s.*\s(\w+)@@?(GLIBC_[\d.]+)", listed.stdout)
        return {(match[1], match[2]) for match in found}

    libc = symbols("/lib/x86_64-linux-gnu/libc.so.6" if Path("/lib/x86_64-linux-gnu").is_dir() else "/lib64/libc.so.6")
    offered = set().union(*(symbols(path) for path in stand_ins.glob("*.so")))
    assert len(offered) > 150
    assert offered - libc == set()
