"""Small wheels with records beside them."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

from fatwheel.records.build import BuildRecord, ToolchainRecord
from fatwheel.records.plan import Cell, Plan, PlannedPackage
from fatwheel.records.smoke import Check, SmokeRecord

FAMILIES = ("sm9x", "sm10x", "sm12x")


def wheel_name(family: str, version: str = "1.0") -> str:
    return f"demo-{version}+cu130.{family}-cp39-abi3-manylinux_2_28_x86_64.whl"


def make_wheel(folder: Path, family: str, payload: str = "", version: str = "1.0") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / wheel_name(family, version)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in (
            ("demo/__init__.py", f"family = {family!r}{payload}"),
            (
                f"demo-{version}+cu130.{family}.dist-info/METADATA",
                f"Metadata-Version: 2.1\nName: demo\nVersion: {version}+cu130.{family}\n",
            ),
        ):
            archive.writestr(zipfile.ZipInfo(name), text)
    return path


def make_cell(family: str) -> Cell:
    return Cell(
        id=f"cu130-x86_64-{family}", package="demo", version="1.0", cuda="cu130", toolkit="13.0", arch="x86_64",
        family=family, targets=["9.0a"], covers=["9.0"], local_version=f"cu130.{family}", wheel=wheel_name(family),
        artifact=f"demo-{family}", image=None, runner=None, smoke=None,
    )  # fmt: skip


def make_plan(completeness: str = "partial", size_limit: int = 2147483648) -> Plan:
    return Plan(
        packages=[PlannedPackage(name="demo", version="1.0", layout="family", cells=3)], channel="release",
        completeness=completeness, size_limit=size_limit, cells=[make_cell(f) for f in FAMILIES], excluded=[],
    )  # fmt: skip


def record_build(wheel: Path, family: str, **changes: object) -> BuildRecord:
    record = BuildRecord(
        wheel=wheel.name, bytes=wheel.stat().st_size, sha256=digest(wheel), cell=make_cell(family), engine="host",
        toolchain=ToolchainRecord(kind="pypi", release="13.0", nvcc="13.0.88", host_compiler="g++ 12"), commit=None,
    ).model_copy(update=changes)  # fmt: skip
    record.write(wheel.with_name(wheel.name + ".build.json"))
    return record


def record_smoke(wheel: Path, outcome: str = "passed", detail: str = "") -> SmokeRecord:
    check = Check.model_validate({"outcome": outcome, "detail": detail})
    record = SmokeRecord(wheel=wheel.name, sha256=digest(wheel), import_=check)
    record.write(wheel.with_name(wheel.name + ".smoke.json"))
    return record


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def sparse(path: Path, size: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(size)
    return path
