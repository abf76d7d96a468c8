"""The smoke station: whether a wheel imports with only what it declares, and whether its kernels run on this GPU."""

from pipeline.smoke.station import SMOKE, smoke_wheel
from pipeline.smoke.subject import Subject, subject_of

__all__ = ["SMOKE", "Subject", "smoke_wheel", "subject_of"]
