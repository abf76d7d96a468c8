"""sccache for a build: whether it is used, for reading or for writing too, and what came of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from fatwheel.building.build_dir import BuildDir
from fatwheel.building.cache import cache_root
from fatwheel.building.engine import Engine
from fatwheel.errors import UsageError
from fatwheel.records.build import CompilerCacheUse
from fatwheel.resources import script

Mode = Literal["auto", "off", "read", "write"]
MODES: tuple[Mode, ...] = ("auto", "off", "read", "write")

_STOP = 10.0  # seconds
_IDLE = 3600  # seconds after which a server ends that nobody ended
_SOCKET_LIMIT = 100  # the kernel's is 108 bytes
# What makes a cache one that others use too, by the variable that names its place.
_SHARED = {
    "SCCACHE_BUCKET": "s3", "SCCACHE_REDIS": "redis", "SCCACHE_REDIS_ENDPOINT": "redis",
    "SCCACHE_MEMCACHED_ENDPOINT": "memcached", "SCCACHE_GCS_BUCKET": "gcs", "SCCACHE_AZURE_BLOB_CONTAINER": "azure",
    "SCCACHE_WEBDAV_ENDPOINT": "webdav", "SCCACHE_GHA_ENABLED": "gha",
}  # fmt: skip
_STORES = ("LOCAL", "S3", "GCS", "REDIS", "AZURE", "WEBDAV", "GHA")
_READ_ONLY = {f"SCCACHE_{store}_RW_MODE": "READ_ONLY" for store in _STORES}
# What opens a shared cache: for its server, and for nothing that a build runs.
_KEYS = (
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "SCCACHE_REDIS_PASSWORD",
    "SCCACHE_WEBDAV_PASSWORD", "SCCACHE_WEBDAV_TOKEN", "SCCACHE_AZURE_CONNECTION_STRING",
    "ACTIONS_RUNTIME_TOKEN", "ACTIONS_RESULTS_URL", "ACTIONS_CACHE_URL",
)  # fmt: skip


def mode_named(name: str) -> Mode:
    """One of `MODES`. Raises `UsageError`."""
    for mode in MODES:
        if mode == name:
            return mode
    raise UsageError(f"there is no cache mode '{name}'", help=f"choose one of: {', '.join(MODES)}")


def program(environ: Mapping[str, str]) -> str | None:
    """The sccache of this machine: ``$FATWHEEL_SCCACHE``, else that on PATH."""
    return shutil.which(environ.get("FATWHEEL_SCCACHE") or "sccache", path=environ.get("PATH"))


def storage(environ: Mapping[str, str]) -> str:
    """Where cached objects are: ``s3`` and its like, or ``local``."""
    return next((kind for name, kind in _SHARED.items() if environ.get(name)), "local")


def resolve_mode(mode: Mode, environ: Mapping[str, str]) -> Mode:
    """``auto`` made up: off without sccache; a local cache is written; a shared one by who may.

    On GitHub a shared cache is written by scheduled runs, and by pushes and releases on the default branch or a tag;
    everything else, pull requests above all, only reads it, so that nothing unreviewed gets into a release.
    """
    if mode == "off" or program(environ) is None:
        return "off"
    if mode != "auto":
        return mode
    if storage(environ) == "local" or environ.get("GITHUB_ACTIONS") != "true":
        return "write"
    event = environ.get("GITHUB_EVENT_NAME")
    if event == "schedule":
        return "write"
    if event not in ("push", "release", "workflow_dispatch"):
        return "read"
    named = environ.get("GITHUB_REF_NAME")
    return "write" if environ.get("GITHUB_REF_TYPE") == "tag" or named == _default_branch(environ) else "read"


def _default_branch(environ: Mapping[str, str]) -> str:
    """Of the repository, from the event that started the run."""
    try:
        event: dict[str, Any] = json.loads(Path(environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
        return str(event["repository"]["default_branch"])
    except (KeyError, OSError, ValueError, TypeError):
        return "main"


@dataclass(frozen=True)
class CompilerCache:
    """A compiler cache for one build."""

    mode: Mode
    kind: str
    program: str
    work: BuildDir
    variables: dict[str, str] = field(repr=False)

    @property
    def launcher(self) -> str:
        """What stands before a compiler: {launcher}."""
        return str(script("cached_compiler.sh"))

    @property
    def statistics(self) -> Path:
        """The server's own figures, as JSON."""
        return self.work.state / "statistics.json"

    def wrapped(self, command: Sequence[str], python: Path) -> list[str]:
        """The build command with a server around it."""
        return [str(python), "-I", str(script("with_cache.py")), "--stats", str(self.statistics), "--", *command]

    def stop(self, engine: Engine, env: Mapping[str, str]) -> None:
        """End a server that is still there, as after a build that was ended."""
        if (self.work.state / "s").exists():
            engine.ask([self.program, "--stop-server"], env=env, timeout=_STOP)

    def show(self, engine: Engine, env: Mapping[str, str]) -> str:
        """What the server says of itself, and what it complained of."""
        said = engine.ask([self.program, "--show-stats"], env=env, timeout=_STOP)
        log = self.work.state / "sccache.log"
        words = log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:] if log.is_file() else []
        return "\n".join([said.output or said.tail or said.ended, *words])

    def outcome(self) -> CompilerCacheUse:
        """What came of it, for the record."""
        about = CompilerCacheUse(mode=self.mode, kind=self.kind)
        try:
            said: dict[str, Any] = json.loads(self.statistics.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return about.model_copy(update={"reason": "there are no statistics"})
        faults = _faults(self.work.state / "faults")
        reason = said["reason"] or (f"{len(faults)} compilations went around it: {faults[0]}" if faults else "")
        stats = (said["sccache"] or {}).get("stats", {})
        return about.model_copy(
            update={
                "hits": _count(stats.get("cache_hits")),
                "misses": _count(stats.get("cache_misses")),
                "errors": _count(stats.get("cache_errors")) + int(stats.get("cache_read_errors", 0))
                + int(stats.get("cache_write_errors", 0)) + len(faults),
                "reason": reason,
            }
        )  # fmt: skip


def cache_for(mode: Mode, work: BuildDir, host: Mapping[str, str]) -> CompilerCache | None:
    """The cache of a build; None where none is used.

    ``host`` is this machine's environment: where sccache is, where it keeps things, and what opens a shared cache.
    """
    mode = resolve_mode(mode, host)
    found = program(host)
    if mode == "off" or found is None:
        return None
    variables = {name: value for name, value in host.items() if name.startswith("SCCACHE_") or name in _KEYS}
    variables |= {name: value for name, value in host.items() if name in ("AWS_REGION", "AWS_ENDPOINT_URL")}
    variables.setdefault("SCCACHE_DIR", str(cache_root(host) / "sccache"))
    variables |= {
        "FATWHEEL_SCCACHE": found,
        "FATWHEEL_CACHE_STATE": str(work.state),
        "FATWHEEL_CACHE_SECRETS": ",".join(name for name in _KEYS if name in host),
        "SCCACHE_IDLE_TIMEOUT": str(_IDLE),
        "SCCACHE_ERROR_LOG": str(work.state / "sccache.log"),
        "SCCACHE_BASEDIRS": str(work.folder),
    }
    socket = work.state / "s"
    if len(str(socket)) < _SOCKET_LIMIT:  # else the usual port, which builds side by side share
        variables["SCCACHE_SERVER_UDS"] = str(socket)
    if mode == "read":
        variables |= _READ_ONLY
    return CompilerCache(mode, storage(host), found, work, variables)


def _count(value: Any) -> int:
    """Sccache counts by language."""
    return sum(int(one) for one in (value or {}).get("counts", {}).values())


def _faults(file: Path) -> list[str]:
    """Compilations that failed with the cache and not without it, each by sccache's last words."""
    if not file.is_file():
        return []
    parts = file.read_text(encoding="utf-8", errors="replace").split("== ")[1:]
    return [(part.strip().splitlines()[1:] or ["it said nothing"])[-1] for part in parts]
