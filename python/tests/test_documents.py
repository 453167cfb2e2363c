"""The examples of docstrings, of the README and of `examples/` run."""

from __future__ import annotations

import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path

import guira_filter
import pytest

ROOT = Path(__file__).parents[1]
CLASSES = [
    guira_filter.Filter,
    guira_filter.ExpiringFilter,
    guira_filter.SharedFilter,
    guira_filter.SharedReader,
    guira_filter.SharedExpiringFilter,
    guira_filter.SharedExpiringReader,
    guira_filter.Stats,
    guira_filter.Estimate,
    guira_filter.Participants,
]
MEMBERS = [
    pytest.param(member, id=f"{kind.__name__}.{name}")
    for kind in CLASSES
    for name, member in [("", kind), *inspect.getmembers(kind)]
    if not name.startswith("_")
]


@pytest.mark.parametrize("member", MEMBERS)
def test_docstrings(member: object, tmp_path: Path) -> None:
    doc = inspect.getdoc(member)
    assert doc, "no docstring"
    names = {**vars(guira_filter), "path": tmp_path / "filter"}
    examples = doctest.DocTestParser().get_doctest(doc, names, "", None, 0)
    assert doctest.DocTestRunner().run(examples).failed == 0


def test_the_readme() -> None:
    text = (ROOT / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})  # noqa: S102


EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples(example: Path, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, example, "--check"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 4


def test_everything_is_exported() -> None:
    for name in guira_filter.__all__:
        assert hasattr(guira_filter, name)
    assert guira_filter._guira_filter._has_arrow  # noqa: SLF001
