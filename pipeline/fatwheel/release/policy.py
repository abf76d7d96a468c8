"""The rules for which files may be uploaded."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fatwheel.digests import Digest
from fatwheel.records.files import BUILD, MANIFEST, METADATA, SMOKE, SUMS
from fatwheel.records.plan import Plan
from fatwheel.release.sources import InputFile
from fatwheel.stores.remote import Rules

GENERATED = (MANIFEST, SUMS)
TEMPORARY = ".replacing"
"""Suffix of a replacement until it is verified and takes the name of the asset."""

_KEPT = re.compile(r"[A-Za-z0-9_+-](?:[A-Za-z0-9._+-]*[A-Za-z0-9_+-])?")


def find_name_error(name: str) -> str | None:
    """Return why GitHub would rename an asset, or None if it would not.

    GitHub turns characters outside ``[A-Za-z0-9._+-]`` into dots, joins runs of dots and drops them at either end.
    """
    if _KEPT.fullmatch(name) and ".." not in name:
        return None
    if not _KEPT.fullmatch(name.replace("..", ".")) and re.search(r"[^A-Za-z0-9._+-]", name):
        bad = "".join(sorted(set(re.findall(r"[^A-Za-z0-9._+-]", name))))
        return f"{name}: GitHub would rename it because it contains {bad!r}"
    return f"{name}: GitHub would rename it because it starts or ends with a dot or has two in a row"


def find_name_errors(given: Sequence[InputFile]) -> tuple[str, ...]:
    """What is wrong with the names of a whole release."""
    problems = [problem for one in given if (problem := find_name_error(one.name))]
    names = {one.name for one in given}
    for name in sorted(names):
        if name in GENERATED:
            problems.append(f"{name}: fatwheel writes this asset itself")
        elif name.endswith(TEMPORARY):
            problems.append(f"{name}: the suffix {TEMPORARY} is reserved for replacing assets")
        elif name.endswith(METADATA) and name.removesuffix(METADATA) in names:
            problems.append(f"{name}: fatwheel writes this asset itself, from the wheel beside it")
        elif name.endswith((BUILD, SMOKE)):
            problems.append(f"{name}: record of a wheel that is not among the files")
    return tuple(problems)


def find_withhold_reason(one: InputFile, limit: int, rules: Rules, plan: Plan | None) -> str | None:
    """Return why a file must not be uploaded, without reading it, or None if it may be."""
    if one.size >= limit:
        return f"{one.size:,} bytes; must be under {limit:,}"
    if one.size == 0:
        return "empty file"
    if one.smoke and not one.smoke.passed:
        checks = (one.smoke.import_, one.smoke.gpu)
        detail = next((c.detail for c in checks if c and c.outcome == "failed"), "")
        return "smoke test failed" + (f": {detail}" if detail else "")
    if one.build and rules.whole and one.build.slice is not None:
        return f"a partial wheel with only {', '.join(one.build.slice)}"
    if one.build and rules.whole and one.build.placeholder:
        return "a placeholder wheel, without code"
    if plan and one.is_wheel and one.name not in {cell.wheel for cell in plan.cells}:
        return "not in the plan"
    return None


def find_digest_mismatch(one: InputFile, sha256: Digest) -> str | None:
    """Return how the digest of a file differs from its records, or None if it does not."""
    if one.build and one.build.sha256 != sha256:
        return f"the file ({sha256.short}) differs from the one that was built ({one.build.sha256.short})"
    if one.smoke and one.smoke.sha256 != sha256:
        return f"the file ({sha256.short}) differs from the one that was smoke-tested ({one.smoke.sha256.short})"
    return None
