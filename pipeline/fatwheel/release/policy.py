"""Decides which files may be uploaded, and why the others are withheld."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fatwheel.digests import Digest
from fatwheel.records.files import BUILD, MANIFEST, METADATA, SMOKE, SUMS
from fatwheel.records.plan import Plan
from fatwheel.release.sources import Given
from fatwheel.stores.remote import Rules

GENERATED = (MANIFEST, SUMS)
TEMPORARY = ".replacing"
"""Suffix of a replacement asset until it has been verified and renamed."""

_KEPT = re.compile(r"[A-Za-z0-9_+-](?:[A-Za-z0-9._+-]*[A-Za-z0-9_+-])?")


def name_problem(name: str) -> str | None:
    """Why GitHub would store an asset under another name than this, or None.

    It turns characters outside ``[A-Za-z0-9._+-]`` into dots, joins runs of dots and drops them at either end.
    """
    if _KEPT.fullmatch(name) and ".." not in name:
        return None
    if not _KEPT.fullmatch(name.replace("..", ".")) and re.search(r"[^A-Za-z0-9._+-]", name):
        bad = "".join(sorted(set(re.findall(r"[^A-Za-z0-9._+-]", name))))
        return f"{name}: GitHub would rename it, since it holds {bad!r}"
    return f"{name}: GitHub would rename it, since it starts or ends with a dot or has two in a row"


def name_problems(given: Sequence[Given]) -> tuple[str, ...]:
    """Return the errors in the names of all files of a release."""
    problems = [problem for one in given if (problem := name_problem(one.name))]
    names = {one.name for one in given}
    for name in sorted(names):
        if name in GENERATED:
            problems.append(f"{name}: fatwheel writes this asset itself")
        elif name.endswith(TEMPORARY):
            problems.append(f"{name}: the ending {TEMPORARY} is kept for replacing assets")
        elif name.endswith(METADATA) and name.removesuffix(METADATA) in names:
            problems.append(f"{name}: fatwheel writes this asset itself, from the wheel beside it")
        elif name.endswith((BUILD, SMOKE)):
            problems.append(f"{name}: the record of a wheel that is not given")
    return tuple(problems)


def withheld(one: Given, limit: int, rules: Rules, plan: Plan | None) -> str | None:
    """Return why a file is withheld, without reading it, or None."""
    if one.size >= limit:
        over = f", {one.size - limit:,} too many" if one.size > limit else ""
        return f"{one.size:,} bytes{over}: it must be under {limit:,}"
    if one.size == 0:
        return "it is empty"
    if one.smoke and not one.smoke.passed:
        checks = (one.smoke.import_, one.smoke.gpu)
        said = next((c.detail for c in checks if c and c.outcome == "failed"), "")
        return "its smoke test failed" + (f": {said}" if said else "")
    if one.build and rules.whole and one.build.slice is not None:
        return f"a partial wheel with only {', '.join(one.build.slice)}"
    if one.build and rules.whole and one.build.placeholder:
        return "a placeholder of a fake build, with no code in it"
    if plan and one.is_wheel and one.name not in {cell.wheel for cell in plan.cells}:
        return "not in the plan"
    return None


def contradicted(one: Given, sha256: Digest) -> str | None:
    """Return how the digest of a file differs from its records, or None."""
    if one.build and one.build.sha256 != sha256:
        return f"its bytes ({sha256.short}) are not those that were built ({one.build.sha256.short})"
    if one.smoke and one.smoke.sha256 != sha256:
        return f"its bytes ({sha256.short}) are not those that were smoke-tested ({one.smoke.sha256.short})"
    return None
