"""Check that a tag, the version and a commit agree before a release."""

from __future__ import annotations

from fatwheel.declaration import Declaration
from fatwheel.errors import UsageError
from fatwheel.plan.revision import commit_of, git, load_at
from fatwheel.records.plan import Plan


def check_tag(declaration: Declaration, plan: Plan, tag: str, commit: str | None = None) -> None:
    """Check that a tag is that of the plan, and that its commit has the same version.

    ``commit``: the commit that the tag must point to if it exists; HEAD if None. Raises `UsageError`.
    """
    version = plan.packages[0].version if plan.packages else declaration.version
    if tag != plan.tag:
        raise UsageError(
            f"tag {tag} does not match version {version}, whose tag is {plan.tag}",
            where=str(declaration.path),
            help=f"create the tag {plan.tag}, or change the version",
        )
    folder = declaration.root
    if commit is None and git(folder, "rev-parse", "--verify", "--quiet", f"refs/tags/{tag}") is None:
        return
    expected = commit_of(commit or "HEAD", folder)
    tagged = git(folder, "rev-parse", "--verify", "--quiet", f"refs/tags/{tag}^{{commit}}")
    if tagged and tagged.strip() != expected:
        raise UsageError(
            f"tag {tag} points to commit {tagged.strip()[:12]}, not to {expected[:12]}",
            help="check out the tag, or use a new tag; a published tag must not move",
        )
    committed = load_at(expected, declaration.path).version
    if committed != declaration.version:
        raise UsageError(
            f"commit {expected[:12]} has version {committed}, but the working tree has {declaration.version}",
            where=str(declaration.path),
            help="commit the version, then tag that commit",
        )
