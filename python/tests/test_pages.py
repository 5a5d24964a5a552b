"""Pages in notebooks: the data that they show, and the data that they do not show."""

from __future__ import annotations

import html
import json
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import brickwork as bw
import numpy as np
import pytest


def test_runs_plans_and_programs_have_pages(millionaires: bw.Program, tmp_path: Path) -> None:
    run = bw.run(millionaires, garbler=1_234_567_891, evaluator=1_234_567_889)
    for shown in (run, bw.plan(millionaires), millionaires):
        page = shown.page()
        assert page.startswith("<!DOCTYPE html>") and "<script" not in page and "default-src 'none'" in page
        path = tmp_path / "page.html"
        path.write_text("another one, that all may read")
        path.chmod(0o644)
        assert shown.report(path).read_text() == page
        assert stat.S_IMODE(path.stat().st_mode) == 0o600 and list(tmp_path.iterdir()) == [path]
        frame = shown._repr_html_()
        (inner,) = re.findall(r'srcdoc="([^"]*)"', frame)
        assert html.unescape(inner) == page and 'sandbox=""' in frame
    page = run.page()
    for secret in ("1234567891", "1 234 567 891", "garbler_richer&quot;: 1", "recovered"):
        assert secret not in page
    for phase in run.phases:
        assert phase.name in page
    assert millionaires.digest in page.replace("&#8203;", "").replace("<wbr>", "")


def test_what_cannot_be_written_is_an_error(millionaires: bw.Program, tmp_path: Path) -> None:
    with pytest.raises(bw.ResourceError, match="nowhere"):
        millionaires.report(tmp_path / "nowhere" / "page.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("executions", [None, 3])
def test_outputs_are_on_a_page_that_is_asked_for_them(
    millionaires: bw.Program, executions: int | None, tmp_path: Path
) -> None:
    ours, theirs = (5, 3) if executions is None else ([5, 6, 3], [3, 6, 5])
    options: Any = {} if executions is None else {"executions": executions}
    run = bw.run(millionaires, ours, theirs, **options)
    learned: Any = {"garbler_richer": 1, "equal": 0}
    if executions:
        both = zip(run.garbler["garbler_richer"].tolist(), run.garbler["equal"].tolist())
        learned = [{"garbler_richer": richer, "equal": equal} for richer, equal in both]
        assert learned[1] == {"garbler_richer": 0, "equal": 1}
    shown = html.unescape(run.page(outputs=True))
    (text,) = set(re.findall(r"<code>([\[{].*?)</code>", shown))
    assert json.loads(text) == learned
    assert "garbler_richer" not in html.unescape(run.page()).split("Solderings")[0]
    assert run.report(tmp_path / "page.html", outputs=True).read_text() == run.page(outputs=True)


def test_solderings_are_those_of_the_cut_that_was_run(compiled: Callable[[str], bw.Program]) -> None:
    source = """
#parties 2
typedef uint_t 16 u16
#input 1 u16
#input 2 u16
#output 1 u16
/*@ component */
function u16 doubled(u16 a, u16 b) { return a * b; }
function void main() { output1 = doubled(doubled(input1, input2), input2); }
"""
    program = compiled(source)
    plan = bw.plan(program, cut="whole")
    whole = bw.run(program, 3, 4, cut="whole")
    given = bw.run(program, 3, 4, cut="given")
    assert plan.cut == whole.json["cut"] == "whole" and given.json["cut"] == "given"
    for one, pieces in ((plan, 1), (whole, 1), (given, 2)):
        found = one.record()["program"]
        assert found["slots"] == pieces and found["solderings"], one
    assert "doubled" in given.page() and "doubled" not in whole.page() + plan.page()


def test_a_page_of_a_party_alone(compiled: object) -> None:
    @bw.program
    def odd(a: bw.Garbler[bw.u8], b: bw.Evaluator[bw.u8]) -> bw.Evaluator[bw.u1]:
        return (a ^ b)[0]

    run = bw.run(odd, np.uint8(5), 6)
    assert run.garbler is None and run.evaluator == 1 and "odd" in run.page()
    # A traced program has a page, too.
    assert odd._repr_html_() == odd.as_program()._repr_html_() and "odd" in odd.page()
