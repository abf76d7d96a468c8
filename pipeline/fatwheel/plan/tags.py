"""Whether a tag, the version and a commit agree, before anything is released under that tag."""

from __future__ import annotations

from fatwheel.declaration import Declaration
from fatwheel.errors import UsageError
from fatwheel.plan.revision import commit_of, git, load_at
from fatwheel.records.plan import Plan


def check_tag(declaration: Declaration, plan: Plan, tag: str, commit: str | None = None) -> None:
    """A tag must be the plan's own; a commit must be the tag's, where the tag exists, and must hold the same version.

    Raises `UsageError`.
    """
    version = plan.packages[0].version if plan.packages else declaration.version
    if tag != plan.tag:
        raise UsageError(
            f"the tag {tag} is not that of the version {version}, which is {plan.tag}",
            where=str(declaration.path),
            help=f"tag the commit {plan.tag}, or change the version to what the tag says",
        )
    folder = declaration.root
    if commit is None and git(folder, "rev-parse", "--verify", "--quiet", f"refs/tags/{tag}") is None:
        return
    wanted = commit_of(commit or "HEAD", folder)
    tagged = git(folder, "rev-parse", "--verify", "--quiet", f"refs/tags/{tag}^{{commit}}")
    if tagged and tagged.strip() != wanted:
        raise UsageError(
            f"the tag {tag} is on the commit {tagged.strip()[:12]}, and not on {wanted[:12]}",
            help="check out the tag, or release under a new one: a published tag must not move",
        )
    held = load_at(wanted, declaration.path).version
    if held != declaration.version:
        raise UsageError(
            f"the version is {held} in the commit {wanted[:12]}, and {declaration.version} here",
            where=str(declaration.path),
            help="commit the version, then tag that commit",
        )
