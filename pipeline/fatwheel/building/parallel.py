"""Choose the number of parallel compilers from cores, free memory, threads of each, and cgroup limits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fatwheel.formatting import count_of
from fatwheel.records.build import Parallelism
from fatwheel.sizes import size

JOB_MEMORY = 2 << 30
"""Bytes that one nvcc thread is assumed to need, unless the package declares it; small kernels need far less."""

_UNLIMITED = 1 << 60  # cgroup v1 writes "unlimited" as a number of this size


@dataclass(frozen=True)
class Machine:
    """Available resources: whole cores, and bytes of free memory."""

    cores: int
    memory: int


def inspect_machine(proc: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")) -> Machine:
    """Return the resources of this process, within its CPU affinity, the free memory, and its cgroup limits."""
    cores = len(os.sched_getaffinity(0))
    memory = _available_memory(proc)
    for folder in _cgroup_folders(proc, cgroups):
        quota = _core_limit(folder)
        if quota:
            cores = min(cores, max(1, int(quota)))
        left = _memory_left(folder)
        if left is not None:
            memory = min(memory, left)
    return Machine(cores, memory)


def choose_jobs(
    found: Machine, *, threads: int = 1, job_memory: int = JOB_MEMORY, jobs: int | None = None, beside: int = 1
) -> Parallelism:
    """Return the number of jobs for a build: ``jobs`` if given, else as many as cores and memory allow.

    ``threads``: of each nvcc. ``job_memory``: bytes for one thread. ``beside``: number of builds in parallel.
    """
    by_cores = max(1, found.cores // (threads * beside))
    by_memory = max(1, found.memory // (job_memory * threads * beside))
    reason = f"{count_of(found.cores, 'core')}, {size(found.memory)} free at {size(job_memory)} per compiler"
    if threads > 1:
        reason += f" with {threads} threads"
    if beside > 1:
        reason += f", {beside} builds in parallel"
    if jobs is not None:
        return Parallelism(jobs=jobs, nvcc_threads=threads, reason=f"set by --jobs; {reason}")
    return Parallelism(jobs=min(by_cores, by_memory), nvcc_threads=threads, reason=reason)


def _available_memory(proc: Path) -> int:
    """Return the bytes of memory that are available without swapping."""
    for line in (proc / "meminfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")


def _cgroup_folders(proc: Path, cgroups: Path) -> Iterator[Path]:
    """Yield the folders of this process's cgroups and their parents, v1 and v2. In a container its own is the root."""
    for line in _read(proc / "self" / "cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        roots = [cgroups] if not controllers else [cgroups / one for one in controllers.split(",")]
        for root in roots:
            place = root / path.lstrip("/")
            for folder in (place, *place.parents):
                if folder.is_dir():
                    yield folder
                if folder == root:
                    break


def _core_limit(folder: Path) -> float | None:
    """Return the cores that a cgroup may use; None if unlimited."""
    quota, _, period = _read(folder / "cpu.max").partition(" ")
    if not quota:
        quota, period = _read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")
    return int(quota) / int(period) if quota.isdigit() and period.strip().isdigit() else None


def _memory_left(folder: Path) -> int | None:
    """Return the bytes that a cgroup may still allocate, its file cache included, or None if unlimited."""
    for limit_file, used_file, stat in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        limit, used = _read(folder / limit_file), _read(folder / used_file)
        if limit.isdigit() and used.isdigit() and int(limit) < _UNLIMITED:
            lines = (line.split() for line in _read(folder / "memory.stat").splitlines())
            cache = next((int(line[1]) for line in lines if line[0] == stat), 0)
            return max(0, int(limit) - int(used) + cache)
    return None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
