"""The software bill of materials (SBOM) of a wheel, in CycloneDX (PEP 770).

It lists the libraries in the wheel with their digests and device code, the requirements, the system libraries and the
toolkit. It contains no date and no random number: the same wheel gives the same bytes.
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
from fatwheel.wheels.formats.wheel_name import WheelName
from fatwheel.wheels.making.writer import Late, item_from_bytes
from fatwheel.wheels.reading.contents import Contents
from fatwheel.wheels.reading.inventory import sum_code

FILE = "sboms/fatwheel.cdx.json"
"""Its path in the dist-info folder."""
_SPECIFICATION = "1.6"
_VENDORED = re.compile(r"(?:^|/)[^/]+\.libs/")  # where auditwheel puts the libraries that it bundles
_HASHED = re.compile(r"-[0-9a-f]{8}(?=\.so)")  # what auditwheel adds to their names

_Component = dict[str, Any]


def make_bill_item(
    name: WheelName, folder: str, metadata: bytes, modules: Mapping[str, Contents], embedded: EmbeddedMetadata | None
) -> Late:
    """The bill as a member of the dist-info ``folder``, made once the digests of all other members are known."""
    return lambda digests: item_from_bytes(
        f"{folder}/{FILE}", make_bill(name, read_headers(metadata), modules, digests, embedded)
    )


def make_bill(
    name: WheelName,
    metadata: Message,
    modules: Mapping[str, Contents],
    digests: Mapping[str, bytes],
    embedded: EmbeddedMetadata | None,
) -> bytes:
    """The bill as JSON. ``modules`` and ``digests`` (SHA-256) are by the member names of this wheel."""
    root = _make_root(name, metadata, embedded)
    parts = [_make_module(member, modules[member], digests[member]) for member in sorted(modules)]
    parts += [_make_requirement(text) for text in sorted(set(map(str, metadata.get_all("Requires-Dist", []))))]
    parts += [_make_system_library(soname) for soname in _find_needed_elsewhere(list(modules.values()))]
    if embedded is not None and embedded.toolkit:
        parts.append(_make_toolkit(embedded.toolkit))
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


def _make_root(name: WheelName, metadata: Message, embedded: EmbeddedMetadata | None) -> _Component:
    purl = f"pkg:pypi/{name.distribution}@{quote(str(name.version), safe='')}?file_name={quote(name.text, safe='')}"
    part: _Component = {
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
    if embedded is not None:
        values = {
            "cuda": embedded.cuda, "arch": embedded.arch, "family": embedded.family,
            "targets": dotted(embedded.targets), "covers": dotted(embedded.covers), "commit": embedded.commit,
        }  # fmt: skip
        part["properties"] = _make_properties({key: value for key, value in values.items() if value})
    return part


def _make_module(member: str, one: Contents, sha256: bytes) -> _Component:
    """A library in the wheel: a third party's if a repair tool bundled it, else the project's own."""
    vendored = bool(_VENDORED.search(member))
    file = member.rpartition("/")[2]
    return {
        "type": "library" if vendored else "file",
        "bom-ref": f"file:{member}",
        "name": _HASHED.sub("", file) if vendored else member,
        "hashes": [{"alg": "SHA-256", "content": sha256.hex()}],
        "properties": _make_properties(
            {"member": member}
            | {
                f"{target}:{kind}:bytes": str(code.stored)
                for target, codes in sum_code(one.entries).items()
                for kind, code in (("sass", codes.sass), ("ptx", codes.ptx))
                if code
            }
        ),
    }


def _make_requirement(text: str) -> _Component:
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return {"type": "library", "bom-ref": f"requirement:{text}", "name": text}
    part: _Component = {"type": "library", "bom-ref": f"requirement:{text}", "name": requirement.name}
    exact = [
        one.version for one in requirement.specifier if one.operator in ("==", "===") and not one.version.endswith("*")
    ]
    purl = f"pkg:pypi/{canonicalize_name(requirement.name)}"
    if len(exact) == 1:
        part["version"] = exact[0]
        purl += f"@{quote(exact[0], safe='')}"
    if requirement.marker and "extra" in str(requirement.marker):
        part["scope"] = "optional"
    return part | {"purl": purl, "properties": _make_properties({"requirement": text})}


def _find_needed_elsewhere(modules: Sequence[Contents]) -> list[str]:
    """Libraries that the loader must find outside the wheel."""
    here = {one.member.name.rpartition("/")[2] for one in modules} | {
        one.elf.soname for one in modules if one.elf and one.elf.soname
    }
    return sorted({soname for one in modules if one.elf for soname in one.elf.needed} - here)


def _make_system_library(soname: str) -> _Component:
    return {
        "type": "library", "bom-ref": f"soname:{soname}", "name": soname,
        "properties": _make_properties({"found": "outside the wheel, by the loader"}),
    }  # fmt: skip


def _make_toolkit(release: str) -> _Component:
    return {
        "type": "framework", "bom-ref": f"cuda-toolkit:{release}", "name": "cuda-toolkit", "version": release,
        "supplier": {"name": "NVIDIA"}, "properties": _make_properties({"found": "compiled with it"}),
    }  # fmt: skip


def _make_properties(values: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": f"fatwheel:{key}", "value": value} for key, value in values.items()]
