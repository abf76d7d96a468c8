"""The software bill of materials in a wheel (PEP 770): CycloneDX, of what its metadata, libraries and stamp say.

It has no date and no random number: the same wheel gives the same bytes.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from email.message import Message
from typing import Any
from urllib.parse import quote

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from fatwheel import __version__
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.targets import dotted
from fatwheel.wheels.formats.metadata import read_headers
from fatwheel.wheels.formats.names import WheelName
from fatwheel.wheels.making.writer import Late, of_bytes
from fatwheel.wheels.reading.contents import Contents
from fatwheel.wheels.reading.inventory import sums

FILE = "sboms/fatwheel.cdx.json"
"""Where it stands in the dist-info folder."""
_SPECIFICATION = "1.6"
_VENDORED = re.compile(r"(?:^|/)[^/]+\.libs/")  # where auditwheel puts the libraries that it takes along
_HASHED = re.compile(r"-[0-9a-f]{8}(?=\.so)")  # what it puts into their names

_Part = dict[str, Any]


def bill_item(
    name: WheelName, folder: str, metadata: bytes, modules: Mapping[str, Contents], stamp: EmbeddedMetadata | None
) -> Late:
    """The bill as a member of the dist-info ``folder``, made when the digests of all others are known."""
    return lambda digests: [of_bytes(f"{folder}/{FILE}", bill(name, read_headers(metadata), modules, digests, stamp))]


def bill(
    name: WheelName,
    metadata: Message,
    modules: Mapping[str, Contents],
    digests: Mapping[str, bytes],
    stamp: EmbeddedMetadata | None,
) -> bytes:
    """The bill as JSON. ``modules`` and ``digests`` (SHA-256) go by the names that members have in this wheel."""
    root = _root(name, metadata, stamp)
    parts = [_module(member, modules[member], digests[member]) for member in sorted(modules)]
    parts += [_requirement(text) for text in sorted(set(map(str, metadata.get_all("Requires-Dist", []))))]
    parts += [_system(soname) for soname in _needed_elsewhere(list(modules.values()))]
    if stamp is not None and stamp.toolkit:
        parts.append(_toolkit(stamp.toolkit))
    body = {"root": root, "parts": parts}
    identity = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(body, sort_keys=True))
    document = {
        "$schema": f"http://cyclonedx.org/schema/bom-{_SPECIFICATION}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": _SPECIFICATION,
        "serialNumber": f"urn:uuid:{identity}",
        "version": 1,
        "metadata": {
            "tools": {"components": [{"type": "application", "name": "fatwheel", "version": __version__}]},
            "component": root,
        },
        "components": parts,
        "dependencies": [
            {"ref": root["bom-ref"], "dependsOn": [part["bom-ref"] for part in parts]},
            *({"ref": part["bom-ref"]} for part in parts),
        ],
    }
    return (json.dumps(document, indent=2) + "\n").encode()


def _root(name: WheelName, metadata: Message, stamp: EmbeddedMetadata | None) -> _Part:
    purl = f"pkg:pypi/{name.distribution}@{quote(str(name.version), safe='')}?file_name={quote(name.text, safe='')}"
    part: _Part = {
        "type": "library",
        "bom-ref": purl,
        "name": str(metadata["Name"] or name.distribution),
        "version": str(name.version),
        "purl": purl,
    }
    if metadata["Summary"]:
        part["description"] = str(metadata["Summary"])
    if metadata["License-Expression"]:
        part["licenses"] = [{"expression": str(metadata["License-Expression"])}]
    if stamp is not None:
        said = {
            "cuda": stamp.cuda, "arch": stamp.arch, "family": stamp.family, "targets": dotted(stamp.targets),
            "covers": dotted(stamp.covers), "commit": stamp.commit,
        }  # fmt: skip
        part["properties"] = _properties({key: value for key, value in said.items() if value})
    return part


def _module(member: str, one: Contents, sha256: bytes) -> _Part:
    """A library in the wheel: somebody else's where a repair tool put it, else the project's own."""
    vendored = bool(_VENDORED.search(member))
    file = member.rpartition("/")[2]
    return {
        "type": "library" if vendored else "file",
        "bom-ref": f"file:{member}",
        "name": _HASHED.sub("", file) if vendored else member,
        "hashes": [{"alg": "SHA-256", "content": sha256.hex()}],
        "properties": _properties(
            {"member": member}
            | {
                f"{target}:{kind}:bytes": str(code.stored)
                for target, codes in sums(one.entries).items()
                for kind, code in (("sass", codes.sass), ("ptx", codes.ptx))
                if code
            }
        ),
    }


def _requirement(text: str) -> _Part:
    try:
        wanted = Requirement(text)
    except InvalidRequirement:
        return {"type": "library", "bom-ref": f"requirement:{text}", "name": text}
    part: _Part = {"type": "library", "bom-ref": f"requirement:{text}", "name": wanted.name}
    exact = [one.version for one in wanted.specifier if one.operator in ("==", "===") and not one.version.endswith("*")]
    purl = f"pkg:pypi/{canonicalize_name(wanted.name)}"
    if len(exact) == 1:
        part["version"] = exact[0]
        purl += f"@{quote(exact[0], safe='')}"
    if wanted.marker and "extra" in str(wanted.marker):
        part["scope"] = "optional"
    return part | {"purl": purl, "properties": _properties({"requirement": text})}


def _needed_elsewhere(modules: Sequence[Contents]) -> list[str]:
    """Libraries that the loader must find outside of the wheel."""
    here = {one.member.name.rpartition("/")[2] for one in modules} | {
        one.elf.soname for one in modules if one.elf and one.elf.soname
    }
    return sorted({soname for one in modules if one.elf for soname in one.elf.needed} - here)


def _system(soname: str) -> _Part:
    return {
        "type": "library", "bom-ref": f"soname:{soname}", "name": soname,
        "properties": _properties({"found": "outside of the wheel, by the loader"}),
    }  # fmt: skip


def _toolkit(release: str) -> _Part:
    return {
        "type": "framework", "bom-ref": f"cuda-toolkit:{release}", "name": "cuda-toolkit", "version": release,
        "supplier": {"name": "NVIDIA"}, "properties": _properties({"found": "compiled with it"}),
    }  # fmt: skip


def _properties(values: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": f"fatwheel:{key}", "value": value} for key, value in values.items()]
