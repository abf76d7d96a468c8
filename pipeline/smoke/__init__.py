"""The smoke station: whether a wheel imports with only what it declares, and whether its kernels run on this GPU."""

from pipeline.records.files import SMOKE
from pipeline.smoke.station import smoke_wheel
from pipeline.smoke.subject import Subject, subject_of

__all__ = ["SMOKE", "Subject", "smoke_wheel", "subject_of"]
