"""Editions: a wheel rewritten under the same or another name, with every text that names it in agreement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fatwheel.errors import VerificationError
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.files import EMBEDDED
from fatwheel.wheels.formats.metadata import Fields, edit_headers, set_tags, write_metadata, write_wheel_file
from fatwheel.wheels.formats.record import SIGNATURES, read_record
from fatwheel.wheels.formats.wheel_name import WheelName
from fatwheel.wheels.io.compression import DEFAULT_LEVEL
from fatwheel.wheels.making import sbom
from fatwheel.wheels.making.renaming import Renaming
from fatwheel.wheels.making.writer import LARGE, Copied, Item, item_from_bytes, item_from_member, write_wheel
from fatwheel.wheels.reading.archive import Archive
from fatwheel.wheels.reading.contents import Contents
from fatwheel.wheels.reading.read_embedded import read_embedded


def write_dist_info(
    name: WheelName,
    distribution: str,
    fields: Fields,
    *,
    embedded: EmbeddedMetadata | None,
    licenses: Sequence[str] = (),
) -> dict[str, bytes]:
    """METADATA, WHEEL and fatwheel.json of a new wheel, by member name; parameters as for `write_metadata`."""
    texts = {"METADATA": write_metadata(name, distribution, fields, licenses), "WHEEL": write_wheel_file(name)}
    if embedded is not None:
        texts[EMBEDDED] = embedded.to_json().encode()
    return {f"{name.dist_info}/{file}": data for file, data in texts.items()}


def _generated_members(folder: str) -> set[str]:
    """The members of the dist-info ``folder`` that describe the whole wheel, so that every edition has its own."""
    return {f"{folder}/{file}" for file in ("RECORD", *SIGNATURES, sbom.FILE)}


@dataclass
class Edition:
    """The wheel ``name``, made from the members of ``archive``.

    Members are listed under their names in ``archive``; `write` moves those of the dist-info and .data folders. The
    members in ``kept`` are written; of these, ``texts`` and ``libraries`` have new contents. A text that is not in
    ``kept`` is added. ``with_bill`` adds a bill of materials (SBOM). RECORD, its signatures and fatwheel's bill of
    materials are never in ``kept``: they describe the wheel as it was.
    """

    archive: Archive
    name: WheelName
    renaming: Renaming
    kept: dict[str, Contents]
    embedded: EmbeddedMetadata | None
    with_bill: bool
    texts: dict[str, bytes] = field(default_factory=dict)
    libraries: dict[str, Item] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        archive: Archive,
        contents: Iterable[Contents],
        name: WheelName,
        *,
        embedded: EmbeddedMetadata | None = None,
    ) -> Edition:
        """The edition that keeps all ``contents``, with METADATA, WHEEL and fatwheel.json in agreement with ``name``.

        ``embedded`` replaces the wheel's embedded metadata; without it, the wheel's own is kept and only its version
        follows. Raises `VerificationError` if METADATA must change and there is none.
        """
        before, folder = WheelName.parse(archive.name), archive.dist_info
        outdated = _generated_members(folder)
        edition = cls(
            archive=archive,
            name=name,
            renaming=Renaming.between(folder, before, name),
            kept={one.member.name: one for one in contents if one.member.name not in outdated},
            embedded=embedded or read_embedded(archive, invalid="ignore"),
            with_bill=f"{folder}/{sbom.FILE}" in archive.by_name,
        )
        edition._set_metadata(before)
        edition._set_embedded(before, replaced=embedded is not None)
        if name.tags != before.tags:
            edition.texts[edition.own("WHEEL")] = set_tags(edition.read(edition.own("WHEEL")), name)
        return edition

    def own(self, file: str) -> str:
        """The member name of a file in the dist-info folder, as in ``archive``."""
        return f"{self.renaming.before}/{file}"

    def read(self, member: str) -> bytes:
        """The contents of a small member in this edition. Raises `VerificationError` if there is none."""
        if member in self.texts:
            return self.texts[member]
        if member not in self.archive.by_name:
            file = member.rpartition("/")[2]
            raise VerificationError(f"{file} not found in the wheel", where=self.archive.name, help="build it again")
        return self.archive.read(self.archive.by_name[member])

    def rewrite(self, texts: Mapping[str, bytes]) -> None:
        """Give members new contents, or add members. Files that the edition writes itself are not replaced."""
        generated = _generated_members(self.renaming.before)
        self.texts = {name: data for name, data in texts.items() if name not in generated} | self.texts

    def write(self, path: Path, *, level: int = DEFAULT_LEVEL, large: int = LARGE, recompress: bool = False) -> Path:
        """Write the wheel to ``path``; ``level`` and ``large`` as for `write_wheel`.

        Unchanged members keep their compressed bytes, for which ``kept`` must have their digests. With ``recompress``
        they are compressed again instead, and must match their digests in the RECORD of ``archive``.
        """
        recorded = self._read_recorded_digests() if recompress else {}
        items = [self._make_item(one, recompress, recorded) for one in self.kept.values()]
        items += [item_from_bytes(self.renaming.apply(n), data) for n, data in self.texts.items() if n not in self.kept]
        folder = self.renaming.after
        late = None
        if self.with_bill:
            modules = {self.renaming.apply(n): one for n, one in self.kept.items() if one.is_module}
            late = sbom.make_bill_item(self.name, folder, self.read(self.own("METADATA")), modules, self.embedded)
        return write_wheel(path, items, dist_info=folder, level=level, large=large, late=late)

    def _set_metadata(self, before: WheelName) -> None:
        changes = {}
        if self.name.distribution != before.distribution:
            changes["Name"] = [self.embedded.distribution if self.embedded else str(self.name.distribution)]
        if self.name.version != before.version:
            changes["Version"] = [str(self.name.version)]
        if changes:
            member = self.own("METADATA")
            self.texts[member] = edit_headers(self.read(member), changes)

    def _set_embedded(self, before: WheelName, *, replaced: bool) -> None:
        if self.embedded is not None and not replaced and self.name.version != before.version:
            self.embedded = self.embedded.model_copy(update={"version": str(self.name.version)})
            replaced = True
        if self.embedded is not None and replaced:
            self.texts[self.own(EMBEDDED)] = self.embedded.to_json().encode()

    def _read_recorded_digests(self) -> dict[str, str]:
        """SHA-256 digests in RECORD, by member name; digests of other kinds are not compared."""
        lines = read_record(self.read(self.own("RECORD")))
        return {line.name: line.digest.rstrip("=") for line in lines if line.digest.startswith("sha256=")}

    def _make_item(self, one: Contents, recompress: bool, recorded: Mapping[str, str]) -> Item | Copied:
        member = one.member
        name, executable = self.renaming.apply(member.name), bool(member.mode & 0o100)
        if member.name in self.texts:
            return replace(item_from_bytes(name, self.texts[member.name]), executable=executable)
        if member.name in self.libraries:
            return replace(self.libraries[member.name], name=name, executable=executable)
        if recompress:
            return item_from_member(self.archive, member, name, recorded.get(member.name, ""))
        return Copied(self.archive, member, one.sha256, name)
