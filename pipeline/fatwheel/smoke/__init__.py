"""The smoke stage: import a wheel in a clean environment, and run its kernels on a GPU of this machine."""

from fatwheel.records.files import SMOKE
from fatwheel.smoke.smoke_wheel import smoke_wheel
from fatwheel.smoke.subject import Subject, subject_of

__all__ = ["SMOKE", "Subject", "smoke_wheel", "subject_of"]
