"""Recognize connections that failed because the server's TLS certificate is not trusted."""

from __future__ import annotations


def is_untrusted_certificate(error: BaseException) -> bool:
    """Whether an error, or one that caused it, is a failed certificate verification."""
    import ssl  # takes several milliseconds, and only failed connections need it

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False
