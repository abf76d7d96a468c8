"""Sample stores, wheels and inventories: sparse files of any size, and manifests with their targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fatwheel.records.build import BuildRecord, ToolchainRecord
from fatwheel.records.inventory import CodeBytes, Inventory, Module, TargetCode
from fatwheel.records.manifest import Manifest, ManifestAsset
from fatwheel.records.plan import Cell
from fatwheel.report.snapshots import SizedWheel, series_of
from fatwheel.targets import Target, covers, parse_target, parse_targets

GIB = 1 << 30
MIB = 1 << 20
TOOLKITS = {"cu128": "12.8", "cu129": "12.9", "cu130": "13.0", "cu134": "13.4"}

# FlashInfer nightlies of 11 and 14 August 2026, in GiB; 12.1a was added to aarch64 of cu129 and cu130 (#4519).
AUGUST = {
    ("cu128", "x86_64"): (1.238, 1.274),
    ("cu128", "aarch64"): (1.228, 1.264),
    ("cu129", "x86_64"): (1.861, 1.906),
    ("cu129", "aarch64"): (1.848, 2.143),
    ("cu130", "x86_64"): (1.445, 1.480),
    ("cu130", "aarch64"): (1.619, 1.852),
}
TARGETS = "8.0 8.9 9.0a 10.0a"


def cell(cuda: str, arch: str, targets: str, version: str = "0.6.13", family: str | None = None) -> Cell:
    """A cell, named as in a plan."""
    parsed = parse_targets(targets)
    majors = {"sm9x": (7, 8, 9), "sm10x": (10, 11), "sm12x": (12,)}.get(family or "")
    local = f"{cuda}.{family}" if family else cuda
    id_ = f"{cuda}-{arch}-{family or 'all'}"
    return Cell(
        id=id_, package="flashinfer-jit-cache", version=version, cuda=cuda, toolkit=TOOLKITS[cuda], arch=arch,
        family=family, targets=list(parsed),
        covers=list(covers(parsed, majors, TOOLKITS[cuda])), local_version=local,
        wheel=f"flashinfer_jit_cache-{version}+{local}-cp39-abi3-manylinux_2_28_{arch}.whl",
        artifact=f"wheel-{id_}", image=None, runner=None, smoke=None,
    )  # fmt: skip


def build_record(made: Cell, size: int) -> BuildRecord:
    """The build record of a cell's wheel."""
    toolchain = ToolchainRecord(kind="system", release=made.toolkit, nvcc=None, host_compiler=None)
    return BuildRecord(
        wheel=made.wheel, bytes=size, sha256="0" * 64, cell=made, engine="host", toolchain=toolchain, commit=None
    )


def put_release(
    store: Path, tag: str, created: str, sizes: Sequence[tuple[Cell, int]], *, manifest: bool = True
) -> None:
    """A published release of sparse wheels in a folder store."""
    place = store / tag
    place.mkdir(parents=True)
    for made, size in sizes:
        with (place / made.wheel).open("wb") as file:
            file.truncate(size)
    (place / ".fatwheel-release.json").write_text(f'{{"created": "{created}"}}', encoding="utf-8")
    if manifest:
        assets = [
            ManifestAsset(name=made.wheel, size=size, sha256="0" * 64, build=build_record(made, size))
            for made, size in sizes
        ]
        Manifest(tag=tag, assets=assets).write(place / "manifest.json")


def august(store: Path) -> None:
    """The two nightlies of the public case."""
    for place, day in enumerate((11, 14)):
        sizes = []
        for (cuda, arch), gib in AUGUST.items():
            more = " 12.0f" if cuda != "cu128" else ""
            added = " 12.1a" if place and arch == "aarch64" and cuda != "cu128" else ""
            version = f"0.6.16.dev202608{day}"
            sizes.append((cell(cuda, arch, TARGETS + more + added, version), round(gib[place] * GIB)))
        put_release(store, f"nightly-202608{day}", f"2026-08-{day}T02:00:00+00:00", sizes)


def module(
    name: str, targets: Mapping[str, int] | Mapping[Target, int], *, host: int = 0, packed: bool = True
) -> Module:
    """A library with the given bytes of SASS for each target."""
    code = {
        parse_target(str(target)): TargetCode(sass=CodeBytes(stored=count, raw=count * (3 if packed else 1)))
        for target, count in targets.items()
    }
    total = sum(targets.values()) + host
    return Module(name=f"pkg/{name}.so", file_bytes=total, wheel_bytes=total if packed else total // 2, targets=code)


def wheel(made: Cell, modules: Sequence[Module], size: int | None = None) -> SizedWheel:
    """A wheel with an inventory."""
    total = sum(one.wheel_bytes for one in modules)
    inventory = Inventory(wheel=made.wheel, modules=list(modules), targets={})
    return SizedWheel(made.wheel, series_of(made.wheel), size or total, cell=made, inventory=inventory)
