"""Fixtures of several files."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def path() -> Iterator[Path]:
    """Return a path in a directory of tmpfs that everybody may enter."""
    memory = Path("/dev/shm")  # noqa: S108
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as directory:
        Path(directory).chmod(0o755)
        yield Path(directory, "filter")
