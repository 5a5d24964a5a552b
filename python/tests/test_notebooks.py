"""The notebooks are executed, and the statements of the pages about Python are checked."""

from __future__ import annotations

import importlib
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import lacking

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) == 4


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path) -> None:
    try:
        nbformat: Any = importlib.import_module("nbformat")
        nbclient: Any = importlib.import_module("nbclient")
    except ImportError as missing:
        lacking(f"{missing}: pip install nbclient nbformat")
    if "demo_cheat" in path.read_text() and shutil.which("brickwork-demo-cheat") is None:
        lacking("brickwork-demo-cheat is not in PATH: cargo build --release -p brickwork-adversary")
    notebook = nbformat.read(path, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "outputs are not committed"
    nbclient.NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(path.parent)}}
    ).execute()


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


@pytest.mark.parametrize(
    "page, number",
    [
        ("README.md", 0),
        ("docs/reference/python.md", 0),
        ("docs/guides/python-programs.md", 0),
        ("docs/guides/frames.md", 0),
        ("docs/guides/sql.md", 0),
    ],
)
def test_what_pages_say_is_so(page: str, number: int, tmp_path: Path) -> None:
    """A comment after an expression is the value of that expression."""
    names: dict[str, Any] = {}
    checked = 0
    source = tmp_path / "page.py"
    lines = blocks(page)[number].splitlines()
    plain = [line for line in lines if not re.search(r"\S\s+# ", line)]
    source.write_text("\n".join(plain))
    exec(compile(source.read_text(), str(source), "exec"), names)
    for line in lines:
        if found := re.fullmatch(r"(\S.*?)\s+# (.*?)(: .*)?", line):
            given = eval(found[1], names)
            assert str(given).startswith(found[2]) or f"{given:.1f}" == found[2], line
            checked += 1
    assert checked > 0
