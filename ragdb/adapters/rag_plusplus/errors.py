"""What goes wrong with slices, by the codes of the Graph Kernel."""

from __future__ import annotations


class SliceError(Exception):
    """A slice that there is not. ``code`` is that of the Graph Kernel, or ``HTTP_ERROR``."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message = code, message


class InvalidTurnId(SliceError):
    """INVALID_TURN_ID: a turn id that is blank, too long or has control characters."""


class PolicyNotFound(SliceError):
    """POLICY_NOT_FOUND: a policy that is not registered."""


class SliceFailed(SliceError):
    """SLICE_FAILED: no slice can be built, as around an anchor that is not stored."""


class HttpError(SliceError):
    """HTTP_ERROR: no answer, or one that is not an answer of a Graph Kernel."""


class ServiceUnavailable(SliceError):
    """SERVICE_UNAVAILABLE: the Graph Kernel is there and cannot answer now."""


CLASSES: dict[str, type[SliceError]] = {
    "INVALID_TURN_ID": InvalidTurnId,
    "POLICY_NOT_FOUND": PolicyNotFound,
    "SLICE_FAILED": SliceFailed,
    "HTTP_ERROR": HttpError,
    "SERVICE_UNAVAILABLE": ServiceUnavailable,
}


def error_of(code: str, message: str) -> SliceError:
    """The error of a code; SliceError itself for a code that RAG++ does not have."""
    return CLASSES.get(code, SliceError)(code, message)
