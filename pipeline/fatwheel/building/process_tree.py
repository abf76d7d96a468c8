"""The processes of a build, read from /proc: their commands, states and total memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Process:
    """One process: ``seconds`` of CPU time, ``resident`` bytes, and the kernel function that it waits in."""

    pid: int
    parent: int
    session: int
    state: str
    seconds: float
    resident: int
    waits: str
    command: str


def tree(root: int, mark: str = "") -> list[Process]:
    """Return a process with its descendants, including those in other sessions; for a container, all its processes.

    ``mark``, an environment variable as ``NAME=VALUE``, also finds daemons that left the tree. Processes that exited
    meanwhile or belong to other users are omitted. For ``root`` 0 the list is empty.
    """
    if root == 0:
        return []
    everything = {one.pid: one for one in _read_all()}
    inside = _namespace(root)
    if inside and inside != _namespace(os.getpid()):
        return [one for one in everything.values() if _namespace(one.pid) == inside]
    found = {root} | {one.pid for one in everything.values() if one.session == root}
    if mark:
        found |= {pid for pid in everything if _has_variable(pid, mark.encode())}
    grew = True
    while grew:
        more = {one.pid for one in everything.values() if one.parent in found} - found
        grew = bool(more)
        found |= more
    return [everything[pid] for pid in sorted(found) if pid in everything]


def memory(processes: list[Process]) -> int:
    """Return the total memory of processes in bytes; shared pages count once if the kernel reports them."""
    return sum(_proportional_size(one.pid) or one.resident for one in processes)


def _read_all() -> Iterator[Process]:
    for folder in _PROC.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            stat = (folder / "stat").read_text(encoding="utf-8", errors="replace")
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            waits = (folder / "wchan").read_text(encoding="utf-8")
        except OSError:
            continue
        name, _, rest = stat.partition("(")[2].rpartition(")")
        fields = rest.split()
        yield Process(
            pid=int(folder.name),
            state=fields[0],
            parent=int(fields[1]),
            session=int(fields[3]),
            seconds=(int(fields[11]) + int(fields[12])) / _TICKS,
            resident=int(fields[21]) * _PAGE,
            waits=waits if waits != "0" else "",
            command=line or f"[{name}]",
        )


def _namespace(pid: int) -> str:
    try:
        return str((_PROC / str(pid) / "ns" / "pid").readlink())
    except OSError:
        return ""


def _has_variable(pid: int, mark: bytes) -> bool:
    try:
        return mark in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _proportional_size(pid: int) -> int | None:
    try:
        for line in (_PROC / str(pid) / "smaps_rollup").read_text(encoding="utf-8").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None
