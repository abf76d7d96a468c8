"""Create wheel variants (draft PEPs 817 and 825): wheels that an installer selects by label, made from ordinary ones.

The file name ends in the label, the version has no local label, and one ``NAME-VERSION-variants.json`` describes what
each label is for. Experimental: only uv reads them, with its preview feature ``wheel-variants``; others ignore them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from packaging.version import Version

from fatwheel.atomic import write_atomically
from fatwheel.errors import UsageError
from fatwheel.records.files import EMBEDDED
from fatwheel.wheels.formats.wheel_name import WheelName, parse_architecture
from fatwheel.wheels.making.edition import Edition
from fatwheel.wheels.making.intact import inspect_archive, require_intact
from fatwheel.wheels.making.renaming import with_version
from fatwheel.wheels.reading.archive import Archive
from fatwheel.wheels.reading.read_embedded import read_embedded

NULL = "null"  # the label of the wheel for machines that no other variant supports
ENDING = "-variants.json"
_SCHEMA = "https://variants-schema.wheelnext.dev/v0.2.0.json"
_PROVIDER = {
    "nvidia": {
        "plugin-api": "nvidia_variant_provider.plugin:NvidiaVariantPlugin",
        "requires": ["nvidia-variant-provider"],
    }
}
_Properties = dict[str, dict[str, list[str]]]


@dataclass(frozen=True)
class _Variant:
    """One wheel to create. ``name`` is its name without the variant label."""

    source: Path
    name: WheelName
    label: str
    properties: _Properties

    @property
    def file(self) -> str:
        build_and_tags = self.name.text.removesuffix(".whl").split("-")[2:]
        return f"{'-'.join([self.name.stem, *build_and_tags, self.label])}.whl"


def make_variants(wheels: Sequence[Path], out_dir: Path) -> list[Path]:
    """Write a variant of each wheel and, for each project and version, the file that describes them. Return all paths.

    The embedded metadata of a wheel determines its variant properties; a wheel without machine code becomes the null
    variant. Wheels for several CPUs share a label if they support the same GPUs. Raises `UsageError` for a wheel
    without embedded metadata, `VerificationError` for one that is damaged or has invalid embedded metadata.
    """
    described: dict[str, dict[str, _Properties]] = defaultdict(dict)
    made = []
    for variant in _make_labels_unique([_read_variant(path) for path in wheels]):
        described[variant.name.stem][variant.label] = variant.properties
        made.append(_write(variant, out_dir))
    for stem, variants in described.items():
        path = out_dir / f"{stem}{ENDING}"
        write_atomically(path, _to_json(variants))
        made.append(path)
    return sorted(made)


def _read_variant(path: Path) -> _Variant:
    name = WheelName.parse(path.name)
    with Archive.open(path) as archive:
        embedded = read_embedded(archive, invalid="raise")
    if embedded is None:
        raise UsageError(
            f"unknown GPUs: the wheel has no {EMBEDDED}", where=str(path),
            help="build it with fatwheel, or omit it",
        )  # fmt: skip
    public = with_version(name, None, "")
    if embedded.cuda is None or not embedded.covers:
        return _Variant(path, public, NULL, {})
    label = (name.version.local or embedded.cuda).replace(".", "_")
    arches = [f"{capability.major}{capability.minor}_real" for capability in embedded.covers]
    toolkit = {"cuda_version_lower_bound": [embedded.toolkit]} if embedded.toolkit else {}
    return _Variant(path, public, label, {"nvidia": {**toolkit, "sm_arch": arches}})


def _make_labels_unique(variants: Sequence[_Variant]) -> list[_Variant]:
    """Append the CPU architecture to labels that would otherwise stand for different GPUs."""
    meanings: dict[tuple[str, Version, str], set[str]] = defaultdict(set)

    def key(variant: _Variant) -> tuple[str, Version, str]:
        return variant.name.distribution, variant.name.version, variant.label

    for variant in variants:
        meanings[key(variant)].add(json.dumps(variant.properties, sort_keys=True))
    return [
        replace(variant, label=f"{variant.label}_{parse_architecture(variant.name.platforms[0])}")
        if len(meanings[key(variant)]) > 1
        else variant
        for variant in variants
    ]


def _write(variant: _Variant, out_dir: Path) -> Path:
    """Write one variant: its code is copied as it is compressed, and the dist-info folder gets ``variant.json``."""
    with Archive.open(variant.source) as archive:
        wheel = inspect_archive(archive)
        require_intact(wheel, "cannot become a wheel variant")
        edition = Edition.of(archive, wheel.contents.values(), replace(variant.name, text=variant.file))
        edition.rewrite({edition.own("variant.json"): _to_json({variant.label: variant.properties})})
        return edition.write(out_dir / variant.file)


def _to_json(variants: dict[str, _Properties]) -> bytes:
    document: dict[str, Any] = {
        "$schema": _SCHEMA,
        "default-priorities": {"namespace": ["nvidia"]},
        "providers": _PROVIDER,
        "variants": dict(sorted(variants.items())),
    }
    return (json.dumps(document, indent=2) + "\n").encode()
