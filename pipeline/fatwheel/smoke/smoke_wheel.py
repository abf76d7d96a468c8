"""One wheel through its tests, and the record beside it."""

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
from fatwheel.smoke.gpu import Ran, run_gpu_test
from fatwheel.smoke.imports import Imported, try_import
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

    What cannot be tried here (another CPU, no such Python, no GPU) is skipped, with the reason; a failure is in the
    record and raises nothing. Results of an earlier run on the very same bytes stay where this one has none.
    ``python`` is the interpreter to try it with; by default one that the wheel's tags fit.
    Raises `UsageError` for what is no wheel, `VerificationError` for a broken one, `SmokeError` where no test
    environment can be made.
    """
    subject = subject_of(wheel, package, cell)
    sha256 = file_digest(wheel)
    imported, ran = _tests(subject, gpu, python, os.environ if environ is None else environ)
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
        record = joined(record, SmokeRecord.read(place))
    record.write(place)
    return record


def joined(now: SmokeRecord, before: SmokeRecord) -> SmokeRecord:
    """The newer record, with what an earlier one on the same bytes proved and the newer did not try."""
    if now.sha256 != before.sha256:
        return now
    update: dict[str, object] = {}
    if now.import_.outcome == "skipped" and before.import_.outcome != "skipped":
        update |= {"import_": before.import_, "python": before.python}
    if now.gpu is None and before.gpu is not None:
        kept = ("gpu", "device", "executed", "not_executed", "fat_binaries", "without_code")
        update |= {name: getattr(before, name) for name in kept}
    return now.model_copy(update=update)


def _tests(subject: Subject, gpu: bool, python: str | None, environ: Mapping[str, str]) -> tuple[Imported, Ran | None]:
    reason = ""
    if python is None:
        python, reason = find_python(subject.name)
    if python is None:
        skipped = Check(outcome="skipped", detail=reason)
        return Imported(skipped), Ran(skipped) if gpu else None
    with tempfile.TemporaryDirectory(prefix="fatwheel-smoke-") as folder:
        bare = CleanEnvironment.make(Path(folder).resolve(), python, environ)
        try:
            bare.install([subject.wheel.resolve()], environ, _options(subject))
            imported = try_import(bare, subject, environ)
        except SmokeError as error:
            imported = Imported(Check(outcome="failed", detail=error.what))
        return imported, _on_gpu(bare, subject, imported, environ) if gpu else None


def _options(subject: Subject) -> list[str]:
    """How a wheel is installed: wheels of its set lie beside it; a shim alone, since its providers may be elsewhere."""
    if subject.cell is not None and subject.cell.shim:
        return ["--no-deps"]
    return ["--find-links", str(subject.wheel.resolve().parent)]


def _on_gpu(bare: CleanEnvironment, subject: Subject, imported: Imported, environ: Mapping[str, str]) -> Ran:
    if subject.placeholder:
        return Ran(Check(outcome="skipped", detail="not proven: a placeholder, with no code in it"))
    if imported.check.outcome == "failed":
        return Ran(Check(outcome="skipped", detail="not proven: the import failed before"))
    return run_gpu_test(bare, subject, environ)
