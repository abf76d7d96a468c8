"""Wheel variants (PEP 817 and 825, drafts): wheels whose label an installer chooses by itself, made of ordinary ones.

The file name ends in the label, the version has none, and one ``NAME-VERSION-variants.json`` says what each label is
for. Experimental: only uv with its preview feature ``wheel-variants`` reads them; others pass them over.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.version import Version

from fatwheel.errors import UsageError, VerificationError
from fatwheel.records.base import write_atomically
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.files import STAMP
from fatwheel.wheels.formats.names import WheelName, architecture, escaped
from fatwheel.wheels.io.compression import DEFAULT_LEVEL
from fatwheel.wheels.making.writer import Copied, Item, of_bytes, write_wheel
from fatwheel.wheels.reading.archive import Archive
from fatwheel.wheels.reading.contents import examine
from fatwheel.wheels.reading.read_embedded import stamp_of

NULL = "null"  # the label of the wheel for machines that no other one suits
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
class _Source:
    path: Path
    name: WheelName
    label: str
    properties: _Properties


def make_variants(wheels: Sequence[Path], out_dir: Path) -> list[Path]:
    """Write a variant of each wheel and, for each project and version, the file that describes them; their paths.

    A wheel's stamp says what it is for; one that holds no machine code becomes the null variant. Wheels for several
    CPUs share a label where they are for the same GPUs. Raises `UsageError` for wheels without a stamp, naming all.
    """
    sources = _labelled([_source(path) for path in wheels])
    described: dict[str, dict[str, _Properties]] = defaultdict(dict)
    made = []
    for source in sources:
        stem = f"{escaped(source.name.distribution)}-{Version(source.name.version.public)}"
        described[stem][source.label] = source.properties
        made.append(_write(source, stem, out_dir))
    for stem, variants in described.items():
        place = out_dir / f"{stem}{ENDING}"
        write_atomically(place, _json(variants))
        made.append(place)
    return sorted(made)


def _source(path: Path) -> _Source:
    name = WheelName.parse(path.name)
    with Archive.open(path) as archive:
        stamp = stamp_of(archive)
    if stamp is None:
        raise UsageError(
            f"{path.name} does not say what GPUs it is for: it has no {STAMP}", where=str(path),
            help="build it with fatwheel, or leave it out",
        )  # fmt: skip
    if stamp.cuda is None or not stamp.covers:
        return _Source(path, name, NULL, {})
    label = (name.version.local or stamp.cuda).replace(".", "_")
    arches = [f"{capability.major}{capability.minor}_real" for capability in stamp.covers]
    floor = {"cuda_version_lower_bound": [stamp.toolkit]} if stamp.toolkit else {}
    return _Source(path, name, label, {"nvidia": {**floor, "sm_arch": arches}})


def _labelled(sources: Sequence[_Source]) -> list[_Source]:
    """The same, with the platform in labels that would stand for different GPUs."""
    meanings: dict[tuple[str, Version, str], set[str]] = defaultdict(set)

    def key(source: _Source) -> tuple[str, Version, str]:
        return source.name.distribution, Version(source.name.version.public), source.label

    for source in sources:
        meanings[key(source)].add(json.dumps(source.properties, sort_keys=True))
    found: list[_Source] = []
    for source in sources:
        unclear = len(meanings[key(source)]) > 1
        label = f"{source.label}_{architecture(source.name.platforms[0])}" if unclear else source.label
        found.append(_Source(source.path, source.name, label, source.properties))
    return found


def _write(source: _Source, stem: str, out_dir: Path) -> Path:
    """One wheel under its new name: its code is copied as it is compressed, its dist-info folder made anew."""
    target = out_dir / f"{stem}-{source.name.tag_text}-{source.label}.whl"
    info = f"{stem}.dist-info"
    with Archive.open(source.path) as archive:
        folder = archive.dist_info
        if any(name.split("/")[0].endswith(".data") for name in archive.by_name):
            raise UsageError(
                "a wheel with a .data folder becomes no variant", where=source.path.name, help="leave it out"
            )
        body = [member for member in archive.by_name.values() if not member.name.startswith(f"{folder}/")]
        contents = examine(archive, body, digests=True)
        broken = [one.fault.what for one in contents if one.fault and not one.sha256]
        if broken:
            raise VerificationError("\n  ".join(broken), where=source.path.name, help="build it again")
        items: list[Item | Copied] = [Copied(archive, one.member, one.sha256) for one in contents]
        texts = {
            name.removeprefix(f"{folder}/"): archive.read(member)
            for name, member in archive.by_name.items()
            if name.startswith(f"{folder}/") and not name.endswith(("/RECORD", "/RECORD.jws", "/RECORD.p7s"))
        }
        version = Version(source.name.version.public)
        stamp = EmbeddedMetadata.model_validate_json(texts[STAMP]).model_copy(update={"version": str(version)})
        texts |= {
            "METADATA": _public(texts["METADATA"], version),
            STAMP: stamp.to_json().encode(),
            "variant.json": _json({source.label: source.properties}),
        }
        items += [of_bytes(f"{info}/{name}", data) for name, data in sorted(texts.items())]
        return write_wheel(target, items, record=f"{info}/RECORD", level=DEFAULT_LEVEL)


def _public(metadata: bytes, version: Version) -> bytes:
    """METADATA with the version without its label."""
    head, blank, body = metadata.partition(b"\n\n")
    lines = [
        f"Version: {version}".encode() if line.lower().startswith(b"version:") else line for line in head.split(b"\n")
    ]
    return b"\n".join(lines) + blank + body


def _json(variants: dict[str, _Properties]) -> bytes:
    held: dict[str, Any] = {
        "$schema": _SCHEMA,
        "default-priorities": {"namespace": ["nvidia"]},
        "providers": _PROVIDER,
        "variants": dict(sorted(variants.items())),
    }
    return (json.dumps(held, indent=2) + "\n").encode()
