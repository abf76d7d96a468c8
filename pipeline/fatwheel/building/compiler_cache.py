"""sccache for a build: choose whether to read or also write it, wrap the command, and report its use."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from fatwheel.building.build_dir import BuildDir
from fatwheel.building.engine import Engine
from fatwheel.caches import cache_root
from fatwheel.errors import UsageError
from fatwheel.records.build import CompilerCacheUse
from fatwheel.resources import script

Mode = Literal["auto", "off", "read", "write"]
MODES: tuple[Mode, ...] = ("auto", "off", "read", "write")

_STOP = 10.0  # seconds
_IDLE = 3600  # seconds after which an idle server exits by itself
_SOCKET_LIMIT = 100  # the kernel's is 108 bytes
# Kinds of shared storage, by the variable that configures them.
_SHARED = {
    "SCCACHE_BUCKET": "s3", "SCCACHE_REDIS": "redis", "SCCACHE_REDIS_ENDPOINT": "redis",
    "SCCACHE_MEMCACHED_ENDPOINT": "memcached", "SCCACHE_GCS_BUCKET": "gcs", "SCCACHE_AZURE_BLOB_CONTAINER": "azure",
    "SCCACHE_WEBDAV_ENDPOINT": "webdav", "SCCACHE_GHA_ENABLED": "gha",
}  # fmt: skip
_STORES = ("LOCAL", "S3", "GCS", "REDIS", "AZURE", "WEBDAV", "GHA")
_READ_ONLY = {f"SCCACHE_{store}_RW_MODE": "READ_ONLY" for store in _STORES}
# Credentials of a shared cache: passed to its server, hidden from the build.
_CREDENTIALS = (
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "SCCACHE_REDIS_PASSWORD",
    "SCCACHE_WEBDAV_PASSWORD", "SCCACHE_WEBDAV_TOKEN", "SCCACHE_AZURE_CONNECTION_STRING",
    "ACTIONS_RUNTIME_TOKEN", "ACTIONS_RESULTS_URL", "ACTIONS_CACHE_URL",
)  # fmt: skip


def parse_mode(name: str) -> Mode:
    """Return one of `MODES`. Raises `UsageError` for another name."""
    for mode in MODES:
        if mode == name:
            return mode
    raise UsageError(f"unknown cache mode '{name}'", help=f"choose one of: {', '.join(MODES)}")


def find_sccache(environ: Mapping[str, str]) -> str | None:
    """Return the path of sccache: ``$FATWHEEL_SCCACHE``, else from PATH; None if missing."""
    return shutil.which(environ.get("FATWHEEL_SCCACHE") or "sccache", path=environ.get("PATH"))


def storage_kind(environ: Mapping[str, str]) -> str:
    """Return the kind of storage: ``local``, or ``s3``, ``redis`` etc. for a shared one."""
    return next((kind for name, kind in _SHARED.items() if environ.get(name)), "local")


def resolve_mode(mode: Mode, environ: Mapping[str, str]) -> Mode:
    """Resolve ``auto``: off without sccache, write for a local cache, read or write for a shared one.

    On GitHub Actions, scheduled runs, and pushes and releases on the default branch or a tag, write a shared cache. All
    other runs, e.g. for pull requests, only read it, so that unreviewed code never gets into a release.
    """
    if mode == "off" or find_sccache(environ) is None:
        return "off"
    if mode != "auto":
        return mode
    if storage_kind(environ) == "local" or environ.get("GITHUB_ACTIONS") != "true":
        return "write"
    event = environ.get("GITHUB_EVENT_NAME")
    if event == "schedule":
        return "write"
    if event not in ("push", "release", "workflow_dispatch"):
        return "read"
    ref = environ.get("GITHUB_REF_NAME")
    return "write" if environ.get("GITHUB_REF_TYPE") == "tag" or ref == _default_branch(environ) else "read"


def _default_branch(environ: Mapping[str, str]) -> str:
    """Return the repository's default branch, from the event that started the run."""
    try:
        event: dict[str, Any] = json.loads(Path(environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
        return str(event["repository"]["default_branch"])
    except (KeyError, OSError, ValueError, TypeError):
        return "main"


@dataclass(frozen=True)
class CompilerCache:
    """The compiler cache of one build."""

    mode: Mode
    kind: str
    program: str
    work: BuildDir
    variables: dict[str, str] = field(repr=False)

    @property
    def launcher(self) -> str:
        """The program to put before a compiler's command line: {launcher}."""
        return str(script("cached_compiler.sh"))

    @property
    def statistics(self) -> Path:
        """The file of the server's statistics, as JSON."""
        return self.work.state / "statistics.json"

    def wrap(self, command: Sequence[str], python: Path) -> list[str]:
        """Return the build command, wrapped in a script that starts and stops the server."""
        return [str(python), "-I", str(script("with_cache.py")), "--stats", str(self.statistics), "--", *command]

    def stop(self, engine: Engine, env: Mapping[str, str]) -> None:
        """Stop a server that still runs, e.g. after a build was killed."""
        if (self.work.state / "s").exists():
            engine.ask([self.program, "--stop-server"], env=env, timeout=_STOP)

    def describe(self, engine: Engine, env: Mapping[str, str]) -> str:
        """Return the server's statistics and the last lines of its log, as text."""
        answer = engine.ask([self.program, "--show-stats"], env=env, timeout=_STOP)
        log = self.work.state / "sccache.log"
        last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:] if log.is_file() else []
        return "\n".join([answer.output or answer.tail or answer.ended, *last])

    def usage(self) -> CompilerCacheUse:
        """Return the use of the cache for the build record."""
        used = CompilerCacheUse(mode=self.mode, kind=self.kind)
        try:
            report: dict[str, Any] = json.loads(self.statistics.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return used.model_copy(update={"reason": "no statistics found"})
        failures = _read_failures(self.work.state / "faults")
        reason = report["reason"] or (
            f"{len(failures)} compilations bypassed the cache: {failures[0]}" if failures else ""
        )
        stats = (report["sccache"] or {}).get("stats", {})
        return used.model_copy(
            update={
                "hits": _count(stats.get("cache_hits")),
                "misses": _count(stats.get("cache_misses")),
                "errors": _count(stats.get("cache_errors")) + int(stats.get("cache_read_errors", 0))
                + int(stats.get("cache_write_errors", 0)) + len(failures),
                "reason": reason,
            }
        )  # fmt: skip


def cache_for(mode: Mode, work: BuildDir, host: Mapping[str, str]) -> CompilerCache | None:
    """Return the compiler cache of a build; None if it uses none.

    ``host`` is this machine's environment, which has the path of sccache, its storage and its credentials.
    """
    mode = resolve_mode(mode, host)
    found = find_sccache(host)
    if mode == "off" or found is None:
        return None
    variables = {name: value for name, value in host.items() if name.startswith("SCCACHE_") or name in _CREDENTIALS}
    variables |= {name: value for name, value in host.items() if name in ("AWS_REGION", "AWS_ENDPOINT_URL")}
    variables.setdefault("SCCACHE_DIR", str(cache_root(host) / "sccache"))
    variables |= {
        "FATWHEEL_SCCACHE": found,
        "FATWHEEL_CACHE_STATE": str(work.state),
        "FATWHEEL_CACHE_SECRETS": ",".join(name for name in _CREDENTIALS if name in host),
        "SCCACHE_IDLE_TIMEOUT": str(_IDLE),
        "SCCACHE_ERROR_LOG": str(work.state / "sccache.log"),
        "SCCACHE_BASEDIRS": str(work.folder),
    }
    socket = work.state / "s"
    if len(str(socket)) < _SOCKET_LIMIT:  # else the default port, which parallel builds share
        variables["SCCACHE_SERVER_UDS"] = str(socket)
    if mode == "read":
        variables |= _READ_ONLY
    return CompilerCache(mode, storage_kind(host), found, work, variables)


def _count(value: Any) -> int:
    """Return the sum of a counter of sccache, which counts by language."""
    return sum(int(one) for one in (value or {}).get("counts", {}).values())


def _read_failures(file: Path) -> list[str]:
    """Return sccache's last line for each compilation that failed with the cache and succeeded without it."""
    if not file.is_file():
        return []
    parts = file.read_text(encoding="utf-8", errors="replace").split("== ")[1:]
    return [(part.strip().splitlines()[1:] or ["no output"])[-1] for part in parts]
