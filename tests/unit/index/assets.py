"""A directory store with real wheels in it, and a reader of the pages that an index makes of it."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from fatwheel.index import make_index
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.index import Index, IndexReport
from fatwheel.records.manifest import Manifest
from fatwheel.stores import open_store
from fatwheel.wheels.making.pack import pack

LINUX = "cp39-abi3-manylinux_2_28_x86_64"


def make_wheel(
    folder: Path,
    version: str = "1.0+cu130.sm9x",
    *,
    project: str = "demo-kernels",
    tags: str = LINUX,
    covers: tuple[str, ...] = ("9.0",),
    stamped: bool = True,
    requires_python: str = ">=3.9",
    body: str = "",
    requires: tuple[str, ...] = (),
    blob: int = 0,
) -> Path:
    """A wheel of one module that states its version, and ``blob`` random bytes."""
    local = version.partition("+")[2].split(".")
    name = project.replace("-", "_").replace(".", "_").lower()
    tree = folder / f"tree-{version}-{hashlib.sha256(repr((tags, body, project)).encode()).hexdigest()[:8]}"
    (tree / name).mkdir(parents=True, exist_ok=True)
    (tree / name / "__init__.py").write_text(f'__version__ = "{version}"\n{body}')
    if blob:
        (tree / name / "code.bin").write_bytes(random.Random(1).randbytes(blob))
    arch = next((arch for arch in ("x86_64", "aarch64") if tags.endswith(arch)), None)
    toolkit = f"{local[0][2:-1]}.{local[0][-1]}" if local[0] else None
    stamp = EmbeddedMetadata(
        distribution=project, version=version, cuda=local[0] or None, toolkit=toolkit, arch=arch,
        family=local[1] if len(local) > 1 else None, targets=list(covers), covers=list(covers), commit=None,
    )  # fmt: skip
    fields = {"requires_python": requires_python, "requires_dist": list(requires)}
    return pack(
        tree, folder / "wheels" / tree.name, distribution=project, version=version, tags=tags, metadata=fields,
        embedded=stamp if stamped else None,
    )  # fmt: skip


@dataclass
class Anchor:
    """One link of a page."""

    text: str = ""
    attributes: dict[str, str] = field(default_factory=dict)

    @property
    def href(self) -> str:
        return self.attributes["href"]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.anchors: list[Anchor] = []
        self._open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.anchors.append(Anchor(attributes={key: value or "" for key, value in attrs}))
            self._open = True

    def handle_endtag(self, tag: str) -> None:
        self._open = self._open and tag != "a"

    def handle_data(self, data: str) -> None:
        if self._open:
            self.anchors[-1].text += data


@dataclass
class Shelf:
    """The store at ``root/store`` and its index at ``root/index``."""

    root: Path

    @property
    def store(self) -> Path:
        return self.root / "store"

    @property
    def out(self) -> Path:
        return self.root / "index"

    def put(self, wheel: Path, tag: str = "v1", *, name: str | None = None, metadata: bool = False) -> Path:
        """Put a file into a published release."""
        place = self.store / tag / (name or wheel.name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(wheel.read_bytes())
        if metadata:
            import zipfile

            with zipfile.ZipFile(wheel) as archive:
                text = archive.read(next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA")))
            place.with_name(f"{place.name}.metadata").write_bytes(text)
        return place

    def wheel(self, version: str = "1.0+cu130.sm9x", tag: str = "v1", *, metadata: bool = False, **about) -> Path:
        """Make a wheel and put it into a published release."""
        return self.put(make_wheel(self.root, version, **about), tag, metadata=metadata)

    def manifest(self, tag: str = "v1", **fields) -> None:
        """Write a release's manifest."""
        Manifest(tag=tag, **fields).write(self.store / tag / "manifest.json")

    def index(self, base_url: str | None = None, out: Path | None = None) -> IndexReport:
        """Write the index."""
        return make_index(open_store(f"dir:{self.store}"), out or self.out, base_url)

    def data(self) -> Index:
        """What index.json says."""
        return Index.read(self.out / "index.json")

    def links(self, page: str) -> list[Anchor]:
        """The links of a page, as ``cu130/demo-kernels``."""
        reader = _Reader()
        reader.feed((self.out / page / "index.html").read_text(encoding="utf-8"))
        return reader.anchors

    def files(self, page: str) -> list[str]:
        """The texts of a page's links, in their order."""
        return [anchor.text for anchor in self.links(page)]

    def target(self, page: str, anchor: Anchor) -> Path:
        """The file that a relative link of a page leads to."""
        base = (self.out / page).as_uri() + "/index.html"
        return Path(unquote(urlsplit(urljoin(base, anchor.href)).path))

    def pages(self) -> set[str]:
        """All pages, by folder."""
        return {path.parent.relative_to(self.out).as_posix() for path in self.out.rglob("index.html")}
