"""A concurrent cuckoo filter: approximate membership with deletion, growth and expiry."""

import sys
from typing import TYPE_CHECKING

from . import _guira_filter
from ._guira_filter import (
    BusyError,
    Estimate,
    ExpiringFilter,
    Filter,
    FullError,
    SnapshotError,
    Stats,
    __version__,
)

__all__ = [
    "BusyError",
    "Estimate",
    "ExpiringFilter",
    "Filter",
    "FullError",
    "SnapshotError",
    "Stats",
    "__version__",
]

if sys.platform == "linux" and hasattr(_guira_filter, "SharedFilter"):
    from ._guira_filter import (
        Participants,
        SharedExpiringFilter,
        SharedExpiringReader,
        SharedFileError,
        SharedFilter,
        SharedReader,
    )

    __all__ += [
        "Participants",
        "SharedExpiringFilter",
        "SharedExpiringReader",
        "SharedFileError",
        "SharedFilter",
        "SharedReader",
    ]

if not TYPE_CHECKING:  # A type checker would take any name for an attribute.

    def __getattr__(name: str) -> object:
        """Say why a name of shared filters is missing."""
        message = f"module {__name__!r} has no attribute {name!r}"
        if name in {
            "Participants",
            "SharedExpiringFilter",
            "SharedExpiringReader",
            "SharedFileError",
            "SharedFilter",
            "SharedReader",
        }:
            message += ": shared filters need Linux on a 64-bit processor"
        raise AttributeError(message)
