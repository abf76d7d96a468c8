"""The errors that calls raise; all are RuntimeErrors."""


class MinikernelsError(RuntimeError):
    """A CUDA error, or a missing library. ``code`` is CUDA's error number, or None."""

    def __init__(self, message, code=None):
        super().__init__(message)
        self.code = code


class NoDevice(MinikernelsError):
    """No usable GPU or no driver was found."""


class NoMachineCode(MinikernelsError):
    """This wheel was not compiled for the device."""
