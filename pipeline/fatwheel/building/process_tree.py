"""The processes of a build, as /proc shows them: who they are, and how much memory they take together."""

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
    """One process: ``seconds`` of CPU time, ``resident`` bytes, and where in the kernel it waits."""

    pid: int
    parent: int
    session: int
    state: str
    seconds: float
    resident: int
    waits: str
    command: str


def tree(root: int, mark: str = "") -> list[Process]:
    """A process with all that it started, also in sessions of their own; all of a container by its first process.

    ``mark``, as ``NAME=VALUE``, finds daemons too: what left the tree and still has that variable. What ended
    meanwhile, and what this user may not see, is left out; ``root`` 0 has nothing.
    """
    if root == 0:
        return []
    everything = {one.pid: one for one in _all()}
    inside = _namespace(root)
    if inside and inside != _namespace(os.getpid()):
        return [one for one in everything.values() if _namespace(one.pid) == inside]
    found = {root} | {one.pid for one in everything.values() if one.session == root}
    if mark:
        found |= {pid for pid in everything if _marked(pid, mark.encode())}
    grew = True
    while grew:
        more = {one.pid for one in everything.values() if one.parent in found} - found
        grew = bool(more)
        found |= more
    return [everything[pid] for pid in sorted(found) if pid in everything]


def memory(processes: list[Process]) -> int:
    """Bytes of memory that processes take together; what several share counts once, where the kernel tells."""
    return sum(_proportional(one.pid) or one.resident for one in processes)


def _all() -> Iterator[Process]:
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


def _marked(pid: int, mark: bytes) -> bool:
    try:
        return mark in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _proportional(pid: int) -> int | None:
    try:
        for line in (_PROC / str(pid) / "smaps_rollup").read_text(encoding="utf-8").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None
