"""Container images: whether an engine answers, what an image is, and getting one, with retries and with a login."""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fatwheel.building.cache import Notify
from fatwheel.errors import BuildError
from fatwheel.processes import Answer, run
from fatwheel.records.build import Image

ARCHES = {"amd64": "x86_64", "arm64": "aarch64", "x86_64": "x86_64", "aarch64": "aarch64"}
"""CPU architectures as engines name them, and as wheels do."""
PLATFORMS = {"x86_64": "linux/amd64", "aarch64": "linux/arm64"}

_ANSWER = 60.0  # seconds that an engine has for a question
_PULL = 3600.0  # seconds for one try: CUDA images are 5 GB
_WAITS = (5.0, 20.0)  # seconds between tries
_FINAL = re.compile(
    r"(?i)unauthorized|denied|forbidden|manifest unknown|not found|does not exist|no such image|invalid reference"
)
_CLOSED = re.compile(r"(?i)unauthorized|denied|forbidden|authentication required")


@dataclass(frozen=True)
class RegistryCredentials:
    """What opens a private registry; ``secret`` is the name of the variable that the token came from."""

    registry: str
    user: str
    secret: str
    token: str = field(repr=False)


@dataclass(frozen=True)
class LocalImage:
    """An image that the engine has: what it is, its CPU architecture and its own environment."""

    image: Image
    arch: str
    environ: dict[str, str]


@dataclass(frozen=True)
class Client:
    """The command line of docker or podman."""

    program: str
    environ: Mapping[str, str]
    pause: Callable[[float], None] = time.sleep

    def ask(self, *arguments: str, timeout: float = _ANSWER, stdin: str | None = None) -> Answer:
        """What it says to a command line."""
        return run([self.program, *arguments], env=self.environ, timeout=timeout, stdin=stdin)

    def check(self) -> str:
        """The engine's version. Raises `BuildError` unless the engine itself answers: a client alone will not do."""
        form = "{{.ServerVersion}}" if self.program == "docker" else "{{.Version.Version}}"
        answer = self.ask("info", "--format", form)
        if answer.status != 0 or not re.match(r"\d", answer.output.strip()):
            said = (answer.errors.strip().splitlines() or [answer.output.strip() or answer.ended])[-1]
            raise BuildError(
                f"{self.program} does not answer: {said}",
                help=f"install and start {self.program}, or take --engine host",
            )
        return answer.output.strip()

    def rootless(self) -> bool:
        """Whether root in its containers is an ordinary user of this machine."""
        form = "{{.SecurityOptions}}" if self.program == "docker" else "rootless={{.Host.Security.Rootless}}"
        said = self.ask("info", "--format", form).output
        return "rootless" in said and "rootless=false" not in said

    def held(self, name: str) -> LocalImage | None:
        """An image that is here already."""
        answer = self.ask("image", "inspect", name)
        if answer.status != 0:
            return None
        about = json.loads(answer.output)[0]
        digests = [one.partition("@")[2] for one in about.get("RepoDigests") or ()]
        digest = (digests or [about.get("Digest") or about.get("Id")])[0]
        variables = dict(one.split("=", 1) for one in (about.get("Config") or {}).get("Env") or () if "=" in one)
        found = ARCHES.get(about.get("Architecture", ""), about.get("Architecture", ""))
        return LocalImage(Image(name=name, digest=digest), found, variables)

    def image(self, name: str, arch: str, *, login: RegistryCredentials | None, notify: Notify) -> LocalImage:
        """An image for a CPU architecture, pulled if it is not here. Raises `BuildError`."""
        held = self.held(name)
        if held is None or held.arch != arch:
            self._pull(name, arch, login, notify)
            held = self.held(name)
        if held is None or held.arch != arch:
            made_for = held.arch if held else "nothing that can be found"
            raise BuildError(f"the image {name} is for {made_for}, and the cell is for {arch}", help="check `image`")
        return held

    def _pull(self, name: str, arch: str, login: RegistryCredentials | None, notify: Notify) -> None:
        notify(f"the image {name} (gigabytes, once)")
        with self._authority(login) as (options, more):
            command = [*options, "pull", "--quiet", "--platform", PLATFORMS[arch], *more, name]
            for wait in (*_WAITS, None):
                answer = self.ask(*command, timeout=_PULL)
                if answer.status == 0:
                    return
                said = answer.tail
                if wait is None or _FINAL.search(said):
                    raise _not_pulled(name, answer, login)
                notify(f"pulling {name} {answer.ended}; once more in {wait:.0f} s: {said.splitlines()[-1:]}")
                self.pause(wait)

    @contextmanager
    def _authority(self, login: RegistryCredentials | None) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
        """Options before and after the verb that open a registry. The token goes by standard input, and away after."""
        if login is None:
            yield (), ()
            return
        with tempfile.TemporaryDirectory(prefix="fatwheel-login-") as folder:
            before: tuple[str, ...] = ("--config", folder) if self.program == "docker" else ()
            after = () if before else ("--authfile", str(Path(folder) / "auth.json"))
            signed = ("login", *after, "--username", login.user, "--password-stdin", login.registry)
            answer = self.ask(*before, *signed, stdin=login.token)
            if answer.status != 0:
                said = answer.tail.replace(login.token, "***")
                raise BuildError(
                    f"{login.registry} does not let {login.user} in: {said}", help=f"check the secret {login.secret}"
                )
            yield before, after


def registry_of(name: str) -> str:
    """The registry that an image's name leads to: its first part where that is a host, else Docker Hub."""
    first, slash, _ = name.partition("/")
    return first if slash and ("." in first or ":" in first or first == "localhost") else "docker.io"


def login_for(name: str, secrets: Mapping[str, str], environ: Mapping[str, str]) -> RegistryCredentials | None:
    """The login for an image, where `secrets` of the declaration names one for its registry and it is set here.

    The user is ``FATWHEEL_REGISTRY_USER``, else GitHub's actor; registries that take tokens look at the token alone.
    """
    registry = registry_of(name)
    secret = secrets.get(registry)
    token = environ.get(secret, "") if secret else ""
    if not secret or not token:
        return None
    user = environ.get("FATWHEEL_REGISTRY_USER") or environ.get("GITHUB_ACTOR") or "token"
    return RegistryCredentials(registry, user, secret, token)


def _not_pulled(name: str, answer: Answer, login: RegistryCredentials | None) -> BuildError:
    said = "".join(f"\n  | {line}" for line in answer.tail.splitlines()[-4:])
    if _CLOSED.search(answer.tail):
        whose = f"the secret {login.secret}" if login else f"a secret for {registry_of(name)}: declare its name"
        help = f"check the image's name, and {whose} under `secrets`, then set it"
    else:
        help = "check the image's name and digest, and that this machine reaches its registry"
    return BuildError(f"the image {name} cannot be had{said}", help=help)
