"""What a call can end with beside a result; all are RuntimeErrors."""


class MinikernelsError(RuntimeError):
    """CUDA answered with an error, or a library is missing. ``code`` is CUDA's error number, or None."""

    def __init__(self, message, code=None):
        super().__init__(message)
        self.code = code


class NoDevice(MinikernelsError):
    """There is no GPU that can be used, or no driver for it."""


class NoMachineCode(MinikernelsError):
    """This wheel was not compiled for the device."""
