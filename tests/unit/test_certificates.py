"""Untrusted TLS certificates are recognized by exception type, through any number of wrapping errors."""

from __future__ import annotations

import ssl

from fatwheel.certificates import is_untrusted_certificate


def test_the_cause_decides() -> None:
    outer = OSError("cannot connect")
    outer.__cause__ = RuntimeError("x")
    assert not is_untrusted_certificate(outer)
    outer.__cause__.__context__ = ssl.SSLCertVerificationError("self-signed certificate")
    assert is_untrusted_certificate(outer)


def test_the_message_does_not_decide() -> None:
    assert not is_untrusted_certificate(OSError("CERTIFICATE_VERIFY_FAILED"))
