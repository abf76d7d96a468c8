"""The smoke station: whether a wheel imports with only what it declares, and whether its kernels run on this GPU."""

from fatwheel.records.files import SMOKE
from fatwheel.smoke.smoke_wheel import smoke_wheel
from fatwheel.smoke.subject import Subject, subject_of

__all__ = ["SMOKE", "Subject", "smoke_wheel", "subject_of"]
