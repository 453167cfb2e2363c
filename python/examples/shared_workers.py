"""Worker processes that share one filter: each page is fetched once, whichever worker meets it.

pip install guira-filter
python shared_workers.py
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
from pathlib import Path

from guira_filter import SharedFilter

WORKERS = 4
PAGES = 2000


def links(page: int) -> list[str]:
    """The links of a page. Many pages link to the same ones."""
    return [f"https://example.org/{(page * step + 1) % PAGES}" for step in (3, 5, 7)]


def crawl(seen: SharedFilter, pages: range) -> list[str]:
    """Follow the links of some pages, and return those that this worker fetched."""
    # A shared filter is pickled as its path, so the worker opens the same file.
    return [url for page in pages for url in links(page) if seen.add_unique(url)]


def main(method: str) -> None:
    # tmpfs, if there is one: the kernel writes a file on disk back.
    memory = Path("/dev/shm")  # noqa: S108
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as directory:
        seen = SharedFilter.create(Path(directory, "seen"), PAGES, 1e-7)
        with multiprocessing.get_context(method).Pool(WORKERS) as pool:
            parts = [range(start, PAGES, WORKERS) for start in range(WORKERS)]
            fetched = pool.starmap(crawl, [(seen, part) for part in parts])
        urls = [url for part in fetched for url in part]
        assert len(urls) == len(set(urls)) == len(seen)
        assert set(urls) == {url for page in range(PAGES) for url in links(page)}
        print(f"{WORKERS} workers fetched {len(urls)} pages once each")


if __name__ == "__main__":
    main("fork" if "--fork" in sys.argv else "spawn")
