"""Container images: query the engine, inspect an image, and pull it, with retries and registry credentials."""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fatwheel.errors import BuildError
from fatwheel.processes import Answer, run
from fatwheel.records.build import Image
from fatwheel.registries import registry_of
from fatwheel.retry import Notify, call_with_retries

_ENGINE_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}
"""The names that docker and podman have for CPU architectures, by those of wheels."""

_ANSWER = 60.0  # seconds until a query times out
_PULL = 3600.0  # seconds for one attempt: CUDA images have about 5 GiB
_WAITS = (5.0, 20.0)  # seconds between attempts
_FINAL = re.compile(
    r"(?i)unauthorized|denied|forbidden|manifest unknown|not found|does not exist|no such image|invalid reference"
)
_CLOSED = re.compile(r"(?i)unauthorized|denied|forbidden|authentication required")


@dataclass(frozen=True)
class RegistryCredentials:
    """A login for a private registry; ``secret`` is the name of the variable that holds the token."""

    registry: str
    user: str
    secret: str
    token: str = field(repr=False)


@dataclass(frozen=True)
class LocalImage:
    """An image that the engine has already: its name and digest, CPU architecture and environment variables."""

    image: Image
    arch: str
    environ: dict[str, str]


class _PullFailure(Exception):
    """A failed attempt to pull an image."""

    def __init__(self, name: str, answer: Answer) -> None:
        last = (answer.tail.splitlines() or [""])[-1]
        super().__init__(f"pulling image {name} {answer.ended}: {last}")
        self.answer = answer


@dataclass(frozen=True)
class Client:
    """The docker or podman client."""

    program: str
    environ: Mapping[str, str]
    pause: Callable[[float], None] = time.sleep

    def ask(self, *arguments: str, timeout: float = _ANSWER, stdin: str | None = None) -> Answer:
        """Run the client with these arguments."""
        return run([self.program, *arguments], env=self.environ, timeout=timeout, stdin=stdin)

    def check(self) -> str:
        """Return the engine's version. Raises `BuildError` unless the engine itself responds, not only its client."""
        form = "{{.ServerVersion}}" if self.program == "docker" else "{{.Version.Version}}"
        answer = self.ask("info", "--format", form)
        if answer.status != 0 or not re.match(r"\d", answer.output.strip()):
            last = (answer.errors.strip().splitlines() or [answer.output.strip() or answer.ended])[-1]
            raise BuildError(
                f"{self.program} does not respond: {last}",
                help=f"install and start {self.program}, or use --engine host",
            )
        return answer.output.strip()

    def rootless(self) -> bool:
        """Return whether root in its containers is an unprivileged user of this machine."""
        form = "{{.SecurityOptions}}" if self.program == "docker" else "rootless={{.Host.Security.Rootless}}"
        options = self.ask("info", "--format", form).output
        return "rootless" in options and "rootless=false" not in options

    def find(self, name: str) -> LocalImage | None:
        """Return an image if the engine has it already."""
        answer = self.ask("image", "inspect", name)
        if answer.status != 0:
            return None
        data = json.loads(answer.output)[0]
        digests = [one.partition("@")[2] for one in data.get("RepoDigests") or ()]
        digest = (digests or [data.get("Digest") or data.get("Id")])[0]
        variables = dict(one.split("=", 1) for one in (data.get("Config") or {}).get("Env") or () if "=" in one)
        return LocalImage(Image(name=name, digest=digest), wheel_arch(data.get("Architecture", "")), variables)

    def image(self, name: str, arch: str, *, login: RegistryCredentials | None, notify: Notify) -> LocalImage:
        """Return an image for a CPU architecture, pulled if it is missing. Raises `BuildError`."""
        found = self.find(name)
        if found is None or found.arch != arch:
            self._pull(name, arch, login, notify)
            found = self.find(name)
        if found is None:
            raise BuildError(f"image {name} not found after pulling it", help="check `image`")
        if found.arch != arch:
            raise BuildError(f"image {name} is for {found.arch}, but the cell is for {arch}", help="check `image`")
        return found

    def _pull(self, name: str, arch: str, login: RegistryCredentials | None, notify: Notify) -> None:
        notify(f"pulling image {name} (may be several GiB)")
        with self._credentials(login) as (options, more):
            command = [*options, "pull", "--quiet", "--platform", platform_of(arch), *more, name]
            waits = iter(_WAITS)

            def pull() -> None:
                answer = self.ask(*command, timeout=_PULL)
                if answer.status != 0:
                    raise _PullFailure(name, answer)

            def next_wait(error: Exception) -> float | None:
                final = not isinstance(error, _PullFailure) or _FINAL.search(error.answer.tail)
                return None if final else next(waits, None)

            try:
                call_with_retries(pull, next_wait, sleep=self.pause, notify=lambda text: notify(f"warning: {text}"))
            except _PullFailure as failure:
                raise _pull_error(name, failure.answer, login) from None

    @contextmanager
    def _credentials(self, login: RegistryCredentials | None) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
        """Log in and yield the client's options before and after the verb; then remove the credentials."""
        if login is None:
            yield (), ()
            return
        with tempfile.TemporaryDirectory(prefix="fatwheel-login-") as folder:
            before: tuple[str, ...] = ("--config", folder) if self.program == "docker" else ()
            after = () if before else ("--authfile", str(Path(folder) / "auth.json"))
            signed = ("login", *after, "--username", login.user, "--password-stdin", login.registry)
            answer = self.ask(*before, *signed, stdin=login.token)
            if answer.status != 0:
                output = answer.tail.replace(login.token, "***")
                raise BuildError(
                    f"{login.registry} rejected the login of {login.user}: {output}",
                    help=f"check the secret {login.secret}",
                )
            yield before, after


def platform_of(arch: str) -> str:
    """Return the value of ``--platform`` for a CPU architecture: ``linux/amd64``."""
    return f"linux/{_ENGINE_NAMES[arch]}"


def wheel_arch(name: str) -> str:
    """Return a CPU architecture as wheels name it, from either name; unknown names are returned unchanged."""
    return next((arch for arch, engine_name in _ENGINE_NAMES.items() if name == engine_name), name)


def login_for(name: str, secrets: Mapping[str, str], environ: Mapping[str, str]) -> RegistryCredentials | None:
    """Return the login for an image if `secrets` names one for its registry and that variable is set.

    The user is ``FATWHEEL_REGISTRY_USER``, else GitHub's actor; registries ignore it for most kinds of tokens.
    """
    registry = registry_of(name)
    secret = secrets.get(registry)
    token = environ.get(secret, "") if secret else ""
    if not secret or not token:
        return None
    user = environ.get("FATWHEEL_REGISTRY_USER") or environ.get("GITHUB_ACTOR") or "token"
    return RegistryCredentials(registry, user, secret, token)


def _pull_error(name: str, answer: Answer, login: RegistryCredentials | None) -> BuildError:
    last = "".join(f"\n  | {line}" for line in answer.tail.splitlines()[-4:])
    if _CLOSED.search(answer.tail):
        registry = registry_of(name)
        secret = f"the secret {login.secret}" if login else f"name a secret for {registry} under `secrets` and set it"
        help = f"check the image name, and {secret}"
    else:
        help = "check the image name and digest, and the network connection to its registry"
    return BuildError(f"cannot pull image {name}{last}", help=help)
