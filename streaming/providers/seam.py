"""Foreign network errors as ours, in one place. Only the type of a foreign error is ever told:

its text may quote a header, and so a key.
"""

from __future__ import annotations

import socket
import ssl

import httpcore

from streaming.providers.errors import TransportError


def invalid_address() -> TransportError:
    return TransportError(
        "invalid_base_url", "the provider's address is not a plain HTTP URL", retryable=False
    )


def unsendable() -> TransportError:
    return TransportError("invalid_header", "a header of the profile cannot be sent", retryable=False)


def mapped(error: Exception) -> TransportError:
    """One of our errors for one of theirs; only the type's name is told."""
    name = type(error).__name__
    if isinstance(error, httpcore.LocalProtocolError | httpcore.UnsupportedProtocol):
        return unsendable()
    if isinstance(error, httpcore.ConnectError | httpcore.ConnectTimeout):
        return _connect_error(error)
    if isinstance(error, httpcore.RemoteProtocolError):
        return TransportError("connection_broken", f"the answer broke off ({name})", retryable=True)
    return TransportError("connection_reset", f"the connection was lost ({name})", retryable=True)


def _connect_error(error: BaseException) -> TransportError:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return TransportError("tls_certificate", "the certificate is not trusted", retryable=False)
        if isinstance(cause, ssl.SSLError):
            return TransportError("tls_failed", "no secure connection could be made", retryable=True)
        if isinstance(cause, socket.gaierror):
            return TransportError("host_unknown", "the provider's host was not found", retryable=True)
        cause = cause.__cause__ or cause.__context__
    return TransportError("connection_failed", "the provider could not be reached", retryable=True)
