"""Run the smoke tests of one wheel and write its smoke record."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from fatwheel.declaration.model import Package
from fatwheel.digests import file_digest
from fatwheel.errors import SmokeError
from fatwheel.records.files import SMOKE, beside
from fatwheel.records.plan import Cell
from fatwheel.records.smoke import Check, SmokeRecord
from fatwheel.smoke.clean_environment import CleanEnvironment
from fatwheel.smoke.gpu import GpuResult, run_gpu_test
from fatwheel.smoke.imports import ImportResult, run_import_test
from fatwheel.smoke.interpreter import find_python
from fatwheel.smoke.subject import Subject, subject_of


def smoke_wheel(
    wheel: Path,
    *,
    gpu: bool = False,
    package: Package | None = None,
    cell: Cell | None = None,
    python: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> SmokeRecord:
    """Test a wheel and write ``X.whl.smoke.json`` beside it.

    Tests that this machine cannot run (another CPU, missing Python, no GPU) are skipped with the reason. A failed test
    is recorded, not raised. Results of an earlier run on the same file are kept where this run has none. ``python`` is
    the interpreter; by default one that supports the wheel's tags. Raises `UsageError` for a file that is not a wheel,
    `VerificationError` for an invalid wheel, `SmokeError` if the test environment cannot be created.
    """
    subject = subject_of(wheel, package, cell)
    sha256 = file_digest(wheel)
    imported, ran = _run_tests(subject, gpu, python, os.environ if environ is None else environ)
    executed = list(ran.executed) if ran else []
    record = SmokeRecord(
        wheel=wheel.name,
        sha256=sha256,
        import_=imported.check,
        gpu=ran.check if ran else None,
        device=ran.device if ran else None,
        executed=executed,
        not_executed=[capability for capability in subject.covers or () if capability not in executed],
        python=imported.python,
        modules=list(subject.modules),
        fat_binaries=ran.loaded if ran else None,
        without_code=[Path(path).name for path in ran.without] if ran else [],
    )
    place = beside(wheel, SMOKE)
    if place.is_file():
        record = merge(record, SmokeRecord.read(place))
    record.write(place)
    return record


def merge(now: SmokeRecord, before: SmokeRecord) -> SmokeRecord:
    """Return the newer record, with the results of tests that only the earlier one of the same file has."""
    if now.sha256 != before.sha256:
        return now
    update: dict[str, object] = {}
    if now.import_.outcome == "skipped" and before.import_.outcome != "skipped":
        update |= {"import_": before.import_, "python": before.python}
    if now.gpu is None and before.gpu is not None:
        kept = ("gpu", "device", "executed", "not_executed", "fat_binaries", "without_code")
        update |= {name: getattr(before, name) for name in kept}
    return now.model_copy(update=update)


def _run_tests(
    subject: Subject, gpu: bool, python: str | None, environ: Mapping[str, str]
) -> tuple[ImportResult, GpuResult | None]:
    reason = ""
    if python is None:
        python, reason = find_python(subject.name)
    if python is None:
        skipped = Check(outcome="skipped", detail=reason)
        return ImportResult(skipped), GpuResult(skipped) if gpu else None
    with tempfile.TemporaryDirectory(prefix="fatwheel-smoke-") as folder:
        bare = CleanEnvironment.make(Path(folder).resolve(), python, environ)
        try:
            bare.install([subject.wheel.resolve()], environ, _options(subject))
            imported = run_import_test(bare, subject, environ)
        except SmokeError as error:
            imported = ImportResult(Check(outcome="failed", detail=error.what))
        return imported, _run_gpu_test(bare, subject, imported, environ) if gpu else None


def _options(subject: Subject) -> list[str]:
    """Return options of the installation: a shim without its providers; other wheels with those in the same folder."""
    if subject.cell is not None and subject.cell.shim:
        return ["--no-deps"]
    return ["--find-links", str(subject.wheel.resolve().parent)]


def _run_gpu_test(
    bare: CleanEnvironment, subject: Subject, imported: ImportResult, environ: Mapping[str, str]
) -> GpuResult:
    if subject.placeholder:
        return GpuResult(Check(outcome="skipped", detail="not run: a placeholder wheel has no code"))
    if imported.check.outcome == "failed":
        return GpuResult(Check(outcome="skipped", detail="not run: the import test failed"))
    return run_gpu_test(bare, subject, environ)
