"""A concurrent cuckoo filter: approximate membership with deletion, growth and expiry."""

from ._guira_filter import (
    ExpiringFilter,
    Filter,
    FullError,
    SnapshotError,
    Stats,
    __version__,
)

__all__ = [
    "ExpiringFilter",
    "Filter",
    "FullError",
    "SnapshotError",
    "Stats",
    "__version__",
]
