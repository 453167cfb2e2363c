"""Other processes, for tests of filters that processes share."""

from __future__ import annotations

import subprocess
import sys


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    """Run a script in another process, which finds its arguments in `a`."""
    script = f"import sys, os, signal; a = sys.argv[1:]; import guira_filter as g\n{script}"
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output(process: subprocess.Popen[str]) -> str:
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return out.strip()
