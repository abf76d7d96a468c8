"""Run a build in one docker or podman container, which is removed however the build ends."""

from __future__ import annotations

import os
import re
import secrets
import selectors
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from fatwheel.building.engine import ANSWER, EngineOptions
from fatwheel.building.images import Client, LocalImage, RegistryCredentials, platform_of, wheel_arch
from fatwheel.errors import BuildError
from fatwheel.processes import GRACE, Answer, Sink, Tick, run, run_group
from fatwheel.records.build import Image
from fatwheel.retry import Notify
from fatwheel.secret_names import is_secret

_START = 120.0  # seconds for a container to start
_STOP = 10.0
# The container runs as long as its standard input is open. When fatwheel exits, even by SIGKILL, the pipe closes and
# the kernel kills the remaining processes of the container. SIGTERM to all processes (below) must not stop this one.
_LIFELINE = "trap '' TERM; echo ready; cat >/dev/null; :"
_TERM_ALL = "kill -TERM -1"
# Variables of this machine that builds in containers get too: network settings and build options.
_PASSED = re.compile(
    r"(?i:https?_proxy|no_proxy|all_proxy)|PIP_(?!TARGET|PREFIX|USER|ROOT|PYTHON|CACHE_DIR|CONFIG_FILE).*"
    r"|SSL_CERT_FILE|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|SOURCE_DATE_EPOCH|MAX_JOBS|NVCC_(THREADS|PREPEND_FLAGS|APPEND_FLAGS)"
    r"|CI"
)
_CERTIFICATES = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
# Variables that would change the engine's client: passed on its command line, unless they are secret.
_OF_CLIENT = re.compile(r"PATH|HOME|TMPDIR|USER|LANG|LC_.*|LD_.*|XDG_.*|DOCKER_.*|CONTAINERS?_.*|PODMAN_.*|REGISTRY_.*")


@dataclass(frozen=True)
class Mount:
    """A folder or file that is mounted in the container under its own path."""

    path: Path
    writable: bool = False


@dataclass(frozen=True)
class Container:
    """A running container; an `Engine`."""

    client: Client
    local: LocalImage
    title: str
    root: int  # process ID of its first process on this machine, 0 if unknown

    @property
    def name(self) -> str:
        """See `Engine.name`."""
        return self.client.program

    @property
    def arch(self) -> str:
        """See `Engine.arch`."""
        return self.local.arch

    @property
    def image(self) -> Image | None:
        """See `Engine.image`."""
        return self.local.image

    def run(
        self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path, sink: Sink, tick: Tick | None = None
    ) -> int:
        """See `Engine.run`."""

        def inside(_client: int) -> None:
            if tick is not None:
                tick(self.root)

        line, variables = self._exec(command, env, cwd)
        try:
            status = run_group(line, env=variables, cwd=Path("/"), sink=sink, tick=inside)
        except BaseException:
            self._terminate()
            raise
        return 128 - status if status > 128 else status

    def ask(
        self, command: Sequence[str | Path], *, env: Mapping[str, str], timeout: float = ANSWER, cwd: Path | None = None
    ) -> Answer:
        """See `Engine.ask`."""
        line, variables = self._exec([str(part) for part in command], env, cwd or Path("/"))
        return run(line, env=variables, timeout=timeout)

    def which(self, program: str, env: Mapping[str, str]) -> str | None:
        """See `Engine.which`."""
        answer = self.ask(["sh", "-c", 'command -v -- "$1"', "sh", program], env=env)
        return answer.output.strip() or None if answer.status == 0 else None

    def has(self, path: Path) -> bool:
        """See `Engine.has`."""
        return self.ask(["test", "-e", path], env={}).status == 0

    def glibc(self, env: Mapping[str, str]) -> tuple[int, int]:
        """See `Engine.glibc`."""
        found = re.search(r"glibc (\d+)\.(\d+)", self.ask(["getconf", "GNU_LIBC_VERSION"], env=env).output)
        return (int(found[1]), int(found[2])) if found else (0, 0)

    def _exec(self, command: Sequence[str], env: Mapping[str, str], cwd: Path) -> tuple[list[str], Mapping[str, str]]:
        """Return the client's command line, and its environment, which holds the values that may be secret."""
        line = [self.client.program, "exec", "--workdir", str(cwd)]
        for name, value in env.items():
            line += ["--env", f"{name}={value}" if _affects_client(name) else name]
        hidden = {name: value for name, value in env.items() if not _affects_client(name)}
        return [*line, self.title, *command], dict(self.client.environ) | hidden

    def _terminate(self) -> None:
        """Send SIGTERM to all processes of the container and wait briefly; closing it then kills the rest."""
        answer = self.client.ask("exec", self.title, "sh", "-c", _TERM_ALL, timeout=GRACE)
        deadline = time.monotonic() + GRACE
        while answer.status is not None and time.monotonic() < deadline and self._busy():
            time.sleep(0.2)

    def _busy(self) -> bool:
        count = 'n=0; for p in /proc/[0-9]*; do n=$((n+1)); done; echo "$n"'
        count_text = self.client.ask("exec", self.title, "sh", "-c", count, timeout=GRACE).output.strip()
        return count_text.isdigit() and int(count_text) > 3  # the lifeline, its cat, and this shell


@contextmanager
def container(
    choice: EngineOptions,
    image: str,
    arch: str,
    *,
    mounts: Sequence[Mount],
    title: str,
    environ: Mapping[str, str],
    login: RegistryCredentials | None,
    notify: Notify,
) -> Iterator[Container]:
    """Run a container of an image for the duration of the block. Raises `BuildError` if it does not start."""
    client = Client(choice.name, environ)
    client.check()
    check_platform(arch)
    local = client.image(image, arch, login=login, notify=notify)
    name = f"fatwheel-{re.sub(r'[^a-zA-Z0-9_.-]', '-', title)}-{secrets.token_hex(4)}"
    command = [
        choice.name, "run", "--rm", "-i", "--name", name, "--platform", platform_of(arch), "--pull", "never",
        *_user_options(client), *_network_options(choice), *_volume_options(choice, mounts, environ),
        "--workdir", "/", "--entrypoint", "sh", image, "-c", _LIFELINE,
    ]  # fmt: skip
    process = subprocess.Popen(
        command, env=dict(environ), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    try:
        _await_ready(process, choice.name, image)
        yield Container(client, local, name, _root_process(client, name))
    finally:
        _close(process, client, name)


def check_platform(arch: str) -> None:
    """Raise `BuildError` if containers of a CPU architecture do not run on this machine."""
    if not runs_here(arch):
        raise BuildError(
            f"this {os.uname().machine} machine cannot run {arch} containers",
            help=f"register qemu for {arch} (Debian and Ubuntu: apt-get install qemu-user-static binfmt-support)",
        )


def runs_here(arch: str, binfmt: Path = Path("/proc/sys/fs/binfmt_misc")) -> bool:
    """Return whether this machine runs programs of a CPU architecture: its own, or through binfmt and qemu."""
    if wheel_arch(os.uname().machine) == arch:
        return True
    entry = binfmt / f"qemu-{arch}"
    return entry.is_file() and entry.read_text(encoding="utf-8").startswith("enabled")


def container_environ(image: Mapping[str, str], host: Mapping[str, str], home: Path, cache: Path) -> dict[str, str]:
    """Return the base environment of commands in a container: the image's variables, and some of this machine's."""
    passed = {name: value for name, value in host.items() if _PASSED.fullmatch(name) and not is_secret(name)}
    path = image.get("PATH") or "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return {**image, **passed, "PATH": path, "HOME": str(home), "FATWHEEL_CACHE": str(cache)}


def _affects_client(name: str) -> bool:
    return bool(_OF_CLIENT.fullmatch(name)) and not is_secret(name)


def _user_options(client: Client) -> list[str]:
    """Return options that make files in mounted folders belong to the current user instead of root."""
    if client.rootless():
        keep = ["--userns", "keep-id"] if client.program == "podman" else []
        return [*keep, "--user", f"{os.getuid()}:{os.getgid()}" if keep else "0:0"]
    return ["--user", f"{os.getuid()}:{os.getgid()}"]


def _network_options(choice: EngineOptions) -> list[str]:
    return ["--network", choice.network] if choice.network else []


def _volume_options(choice: EngineOptions, mounts: Sequence[Mount], environ: Mapping[str, str]) -> list[str]:
    found = {str(mount.path): mount.writable for mount in mounts}
    for name in _CERTIFICATES:
        file = environ.get(name)
        if file and Path(file).is_file():
            found.setdefault(str(Path(file).absolute()), False)
    options: list[str] = []
    for path, writable in found.items():
        options += ["--volume", f"{path}:{path}" if writable else f"{path}:{path}:ro"]
    for volume in choice.volumes:
        options += ["--volume", volume]
    return options


def _await_ready(process: subprocess.Popen[bytes], program: str, image: str) -> None:
    assert process.stdout is not None  # noqa: S101  # it was started with pipes
    output = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        deadline = time.monotonic() + _START
        while b"ready" not in output and (left := deadline - time.monotonic()) > 0:
            if selector.select(left):
                chunk = os.read(process.stdout.fileno(), 4096)
                if not chunk:
                    break
                output += chunk
    if b"ready" in output:
        return
    process.kill()
    errors = process.communicate()[1].decode(errors="replace").strip()
    last = "".join(f"\n  | {line}" for line in errors.splitlines()[-6:])
    raise BuildError(
        f"{program} cannot start a container of {image}{last}",
        help=f"try: {program} run --rm {image} sh -c true",
    )


def _root_process(client: Client, name: str) -> int:
    """Return the ID of the container's first process on this machine; 0 if the engine runs on another machine."""
    text = client.ask("inspect", "--format", "{{.State.Pid}}", name).output.strip()
    pid = int(text) if text.isdigit() else 0
    return pid if pid and Path(f"/proc/{pid}").exists() else 0


def _close(process: subprocess.Popen[bytes], client: Client, name: str) -> None:
    """Stop the container and check that it is removed."""
    assert process.stdin is not None  # noqa: S101  # it was started with pipes
    with suppress(OSError):
        process.stdin.close()
    try:
        process.wait(_STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        client.ask("rm", "--force", name)
    finally:
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        if process.poll() is None:
            process.kill()
            process.wait()
