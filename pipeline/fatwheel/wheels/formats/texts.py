"""Versions and GPU targets as source and data files assign them: ``version = "1.0"``, ``targets = ["9.0a"]``."""

from __future__ import annotations

import re

from fatwheel.wheels.formats.wheel_name import parse_version

# An assignment as Python, JSON, YAML or TOML write it: a key, then one string or a list of strings.
# A version with another word before it (cuda_version, Metadata-Version) belongs to something else.
_ASSIGN = r"""["']?\s*(?::\s*[A-Za-z][\w\[\], .|]*=|[:=])\s*"""  # also with a type: `version: str = "1.0"`
_OWN = r"(?<![\w-])(?:__version__|(?:full_|package_|pkg_)?version)"
VERSION_ASSIGNED = re.compile(rf"""(?i){_OWN}{_ASSIGN}["']?([0-9][^"'\s,;]*)""")
TARGETS_ASSIGNED = re.compile(
    rf"""(?i)(?:targets|arch_list|archs|sms){_ASSIGN}(\[[^\]]*\]|\([^)]*\)|["'][^"'\n]*["'])"""
)


def set_version(text: str, version: str) -> str:
    """Replace every version that a text assigns; a text that consists of a version is replaced as a whole."""
    bare = text.strip()
    if parse_version(bare) is not None:
        return text.replace(bare, version)
    return VERSION_ASSIGNED.sub(
        lambda match: match[0] if parse_version(match[1]) is None else replace_group(match, version), text
    )


def replace_group(match: re.Match[str], value: str) -> str:
    """The matched text with another value for its first group."""
    start, end = match.start(1) - match.start(), match.end(1) - match.start()
    return match[0][:start] + value + match[0][end:]
