"""How many compilers run side by side: by cores, by memory and by the threads of each, within limits of cgroups."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fatwheel.records.build import Parallelism

JOB_MEMORY = 2 << 30
"""Bytes that one nvcc thread is taken to need where the package does not say; small kernels need far less."""

_UNLIMITED = 1 << 60  # cgroup v1 writes "no limit" as a number of this size


@dataclass(frozen=True)
class Machine:
    """What may be used: whole cores, and bytes of memory that are free now."""

    cores: int
    memory: int


def machine(proc: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")) -> Machine:
    """What is left to this process: by its affinity, by what is free, and by the limits of its cgroups."""
    cores = len(os.sched_getaffinity(0))
    memory = _free(proc)
    for folder in _folders(proc, cgroups):
        quota = _quota(folder)
        if quota:
            cores = min(cores, max(1, int(quota)))
        left = _left(folder)
        if left is not None:
            memory = min(memory, left)
    return Machine(cores, memory)


def shares(
    found: Machine, *, threads: int = 1, job_memory: int = JOB_MEMORY, jobs: int | None = None, beside: int = 1
) -> Parallelism:
    """Jobs for a build: as asked for, else what cores and memory allow.

    ``threads``: of each nvcc. ``job_memory``: bytes for one of them. ``beside``: how many builds share the machine.
    """
    by_cores = max(1, found.cores // (threads * beside))
    by_memory = max(1, found.memory // (job_memory * threads * beside))
    said = f"{found.cores} cores, {found.memory / 2**30:.1f} GiB free at {job_memory / 2**30:.1f} GiB a compiler"
    if threads > 1:
        said += f" and {threads} threads each"
    if beside > 1:
        said += f", {beside} builds side by side"
    if jobs is not None:
        return Parallelism(jobs=jobs, nvcc_threads=threads, reason=f"as asked for; here are {said}")
    return Parallelism(jobs=min(by_cores, by_memory), nvcc_threads=threads, reason=said)


def _free(proc: Path) -> int:
    """Bytes that can be had without swapping."""
    for line in (proc / "meminfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")


def _folders(proc: Path, cgroups: Path) -> Iterator[Path]:
    """The folders of this process's cgroups and of those above, both versions. In a container its own is the root."""
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


def _quota(folder: Path) -> float | None:
    """Cores that a group may use; None for no limit."""
    quota, _, period = _read(folder / "cpu.max").partition(" ")
    if not quota:
        quota, period = _read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")
    return int(quota) / int(period) if quota.isdigit() and period.strip().isdigit() else None


def _left(folder: Path) -> int | None:
    """Bytes that a group may still take, counting its file cache, which gives way, as free; None for no limit."""
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
