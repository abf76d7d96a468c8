# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "click>=8.1",
#   "deflate>=0.9",
#   "githubkit>=0.16.1,<0.17",
#   "hishel>=1.3,<2",
#   "httpx>=0.27",
#   "nox>=2025.5.1",
#   "packaging>=24.2",
#   "pydantic>=2.9,<3",
#   "pyyaml>=6.0.2",
#   "rich>=13.9",
#   "tenacity>=9",
# ]
# ///
"""Nox sessions of this project, the same on a laptop and in CI. `nox -l` lists them."""

from __future__ import annotations

import sys
from pathlib import Path

import nox

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "pipeline"))

from fatwheel.sessions import register  # noqa: E402 - this checkout

nox.options.default_venv_backend = "venv"
nox.options.sessions = ["tests"]
nox.options.error_on_missing_interpreters = True
LOCK = "requirements/dev.txt"
DOCS_LOCK = "requirements/docs.txt"
RELEASE_LOCK = "requirements/release.txt"  # installed by the generated workflows

register("matrix.yaml", rehearse="examples/minikernels/matrix.yaml")


def _dev(session: nox.Session) -> None:
    """Install the locked development environment and this checkout."""
    session.install("--require-hashes", "-r", LOCK)
    session.install("--no-deps", "-e", ".")


@nox.session
def tests(session: nox.Session) -> None:
    """Run all CI checks: style, types, imports and generated files, then the tests. Arguments after -- go to pytest."""
    _dev(session)
    _lint(session)
    session.run("pytest", "-n", "2", "--dist", "loadgroup", *(session.posargs or ["tests"]))


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, types, imports, and that generated files are up to date."""
    _dev(session)
    _lint(session)


def _lint(session: nox.Session) -> None:
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports")
    session.run("fatwheel", "check")
    session.run("fatwheel", "check", "--matrix", "examples/minikernels/matrix.yaml")


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """Build the documentation in docs/_build, with warnings as errors. Arguments after -- go to sphinx-build."""
    session.install("--require-hashes", "-r", DOCS_LOCK)
    session.install("--no-deps", "-e", ".")
    session.run("sphinx-build", "-W", "--keep-going", "-b", "html", "docs", "docs/_build", *session.posargs)


@nox.session(venv_backend="none", default=False)
def lock(session: nox.Session) -> None:
    """Update the lock files in requirements/. Arguments after -- go to `uv pip compile`."""
    for groups, place in ((["--group", "dev"], LOCK), (["--group", "docs"], DOCS_LOCK), ([], RELEASE_LOCK)):
        session.run(
            "uv", "pip", "compile", "pyproject.toml", *groups, "--universal", "--python-version", "3.11",
            "--generate-hashes", "--no-strip-extras", "--no-emit-index-url", "--no-annotate", "--quiet",
            "--custom-compile-command", "nox -s lock", "-o", place, *session.posargs, external=True,
        )  # fmt: skip
