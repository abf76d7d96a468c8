"""The smoke record of a wheel: ``X.whl.smoke.json`` next to ``X.whl``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fatwheel.digests import Digest
from fatwheel.records.base import Record
from fatwheel.targets import Capability, dotted

Outcome = Literal["passed", "failed", "skipped"]


class Check(Record):
    """The outcome of one test, with details."""

    outcome: Outcome
    detail: str = ""


class Device(Record):
    """The GPU that a test ran on."""

    name: str
    capability: Capability
    driver: str | None = None


class SmokeRecord(Record):
    """The import and GPU tests of one wheel. ``executed``: the capabilities of its coverage that were GPU-tested.

    ``python``: the Python version of the import test, ``modules``: the imported modules. ``fat_binaries``: the number
    of loaded fat binaries, ``without_code``: names of libraries without code for the device.
    """

    wheel: str
    sha256: Digest
    import_: Check = Field(alias="import")
    gpu: Check | None = None  # null: not requested
    device: Device | None = None
    executed: list[Capability] = []
    not_executed: list[Capability] = []
    python: str | None = None
    modules: list[str] = []
    fat_binaries: int | None = None
    without_code: list[str] = []

    @property
    def proven(self) -> str:
        """What was tested successfully, in short: ``GPU 9.0``, ``import``, or ``skipped``."""
        if self.executed:
            return f"GPU {dotted(self.executed)}"
        return "import" if self.import_.outcome == "passed" else self.import_.outcome

    @property
    def passed(self) -> bool:
        """Whether no test failed."""
        return self.import_.outcome != "failed" and (self.gpu is None or self.gpu.outcome != "failed")
