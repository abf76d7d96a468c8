"""Check the fields in braces of templates."""

from __future__ import annotations

from collections.abc import Iterator

from fatwheel.declaration.model import Document, Package
from fatwheel.declaration.source import Path, Source
from fatwheel.declaration.structure import suggest_value
from fatwheel.declaration.templates import COMMAND_FIELDS, NAME_FIELDS, SMOKE_FIELDS, fields
from fatwheel.errors import Diagnostic

_NONE = "no fields are available here, because per contains no axis that provides one"


def check_fields(source: Source, path: Path, template: str, allowed: set[str] | frozenset[str]) -> Iterator[Diagnostic]:
    """Yield unknown fields and unmatched braces."""
    for name in dict.fromkeys(fields(template)):
        if name in ("{", "}"):
            yield source.diagnostic(
                path, f"unmatched '{name}' in '{template}'", f"write {name * 2} for a literal brace"
            )
        elif name not in allowed:
            yield source.diagnostic(path, f"unknown field {{{name}}}", suggest_value(name, sorted(allowed)) or _NONE)


def check_templates(document: Document, package: Package, path: Path, source: Source) -> Iterator[Diagnostic]:
    """Check all templates of a package."""
    axes = {*(a for a in package.per if a in document.axes)}
    named = axes | {f"{a}_nodot" for a in axes}
    names = named | (NAME_FIELDS if "cuda" in package.per else set())
    yield from check_fields(source, (*path, "name"), package.name, named | (names & {"cuda", "cuda_major"}))
    yield from check_fields(source, (*path, "tag"), package.tag, named)
    in_label = names - (
        {"family"} if package.layout != "family" else set()
    )  # otherwise all wheels and the shim share the label
    in_label -= {"arch"} if package.layout == "provider" else set()
    yield from check_fields(source, (*path, "local"), package.local or "", in_label)
    wishes = [(("build", "requires"), package.build.requires), (("build", "no_deps"), package.build.no_deps)]
    wishes += [(("metadata", "dependencies"), package.metadata.dependencies)]
    wishes += [(("smoke", "requires"), package.smoke.requires)] if package.smoke else []
    for where, requirements in wishes:
        for place, requirement in enumerate(requirements):
            yield from check_fields(source, (*path, *where, place), requirement, names | {"toolkit"})
    commands = COMMAND_FIELDS | named
    for place, argument in enumerate(package.build.command):
        yield from check_fields(source, (*path, "build", "command", place), argument, commands)
    for place, argument in enumerate(package.build.shim):
        yield from check_fields(source, (*path, "build", "shim", place), argument, commands)
    for key, value in package.build.env.items():
        yield from check_fields(source, (*path, "build", "env", key), value, commands)
    if package.smoke:
        in_smoke = SMOKE_FIELDS | named
        for place, argument in enumerate(package.smoke.command):
            yield from check_fields(source, (*path, "smoke", "command", place), argument, in_smoke)
        for key, value in package.smoke.env.items():
            yield from check_fields(source, (*path, "smoke", "env", key), value, in_smoke)
