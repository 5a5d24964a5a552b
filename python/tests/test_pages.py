"""Pages in notebooks: what they show and what they do not."""

from __future__ import annotations

import html
import re
from pathlib import Path

import brickwork as bw
import numpy as np


def test_runs_plans_and_programs_have_pages(millionaires: bw.Program, tmp_path: Path) -> None:
    run = bw.run(millionaires, garbler=1_234_567_891, evaluator=1_234_567_889)
    for shown in (run, bw.plan(millionaires), millionaires):
        page = shown.page()
        assert page.startswith("<!DOCTYPE html>") and "<script" not in page and "default-src 'none'" in page
        assert shown.report(tmp_path / "page.html").read_text() == page
        frame = shown._repr_html_()
        (inner,) = re.findall(r'srcdoc="([^"]*)"', frame)
        assert html.unescape(inner) == page and 'sandbox=""' in frame
    page = run.page()
    for secret in ("1234567891", "1 234 567 891", "garbler_richer&quot;: 1", "recovered"):
        assert secret not in page
    for phase in run.phases:
        assert phase.name in page
    assert millionaires.digest in page.replace("&#8203;", "").replace("<wbr>", "")


def test_a_page_of_a_party_alone(compiled: object) -> None:
    @bw.program
    def odd(a: bw.Garbler[bw.u8], b: bw.Evaluator[bw.u8]) -> bw.Evaluator[bw.u1]:
        return (a ^ b)[0]

    run = bw.run(odd, np.uint8(5), 6)
    assert run.garbler is None and run.evaluator == 1 and "odd" in run.page()
