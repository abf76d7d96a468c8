"""fatwheel: declarative release orchestration for CUDA wheels."""

__version__ = "0.1.0"
