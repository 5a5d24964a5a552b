"""Pages of `--report`, opened in a real browser.

The command makes most of them. `BRICKWORK` is its path, if it is not in `target/release`. These tests need
Chromium (`CHROMIUM`, or on the path), playwright, and for the checks of accessibility axe. If one
of these programs is missing, the tests name it and are skipped; if `BRICKWORK_CI` is set, they fail. Each
page is opened once at each width.
"""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import brickwork as bw
import pytest
from conftest import lacking

# A page's file and the page's object; such a page of each kind, by name; a function that opens a page.
Page = tuple[pathlib.Path, dict[str, Any]]
Pages = dict[str, Page]
Open = Callable[..., Any]

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
VIEWS = [(400, "dark"), (1280, "light")]
PAPER = 718
"""Pixels of a page of A4 between its margins."""


def command() -> str:
    """Returns the command, or skips the test."""
    named = os.environ.get("BRICKWORK")
    built = ROOT / "target" / "release" / "brickwork"
    path = named or (str(built) if built.exists() else shutil.which("brickwork"))
    if path is None:
        lacking("the command is not built: cargo build --release, or BRICKWORK=…")
    return path


def chromium() -> str:
    """Returns the browser, or skips the test."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        lacking("there is no Chromium on the path; CHROMIUM names one")
    return path


def axe() -> str:
    """Returns the text of axe-core, or skips the test."""
    named = os.environ.get("AXE")
    if named:
        return pathlib.Path(named).read_text()
    found = importlib.util.find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        lacking("there is no axe: pip install axe-playwright-python, or AXE=axe.min.js")
    texts = list(pathlib.Path(found.origin).parent.rglob("axe.min.js"))
    assert texts, "axe_playwright_python has no axe.min.js"
    return texts[0].read_text()


def called(*words: object, folder: pathlib.Path) -> dict[str, Any]:
    """Calls the command, and returns the object that it prints."""
    call = [command(), *map(str, words), "--json", "--quiet"]
    ran = subprocess.run(call, capture_output=True, text=True, timeout=300, cwd=folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def made(folder: pathlib.Path, name: str, *words: object) -> Page:
    """Returns the page of a command, and the object that it prints."""
    page = folder / f"{name}.html"
    return page, called(*words, "--report", page, folder=folder)


def pages_of_both(folder: pathlib.Path, protocol: str, program: pathlib.Path) -> Pages:
    """Returns the pages of both parties of a run, each of which is a command of its own."""
    keys = {}
    for party in ("garbler", "evaluator"):
        key = folder / f"{party}.key"
        keys[party] = key, called("keygen", "-o", key, folder=folder)["public_key"]

    def of(party: str, place: str) -> list[object]:
        other = "evaluator" if party == "garbler" else "garbler"
        value = f"@{program.with_suffix(f'.{party}.json')}"
        words = [party, program, "--input", value, "--protocol", protocol, "--identity", keys[party][0]]
        return [*words, "--peer", keys[other][1], place]

    port = free_port()
    found: Pages = {}

    def first() -> None:
        found["garbler"] = made(folder, "garbler", *of("garbler", f"--listen=127.0.0.1:{port}"))

    thread = threading.Thread(target=first)
    thread.start()
    found["evaluator"] = made(folder, "evaluator", *of("evaluator", f"--connect=127.0.0.1:{port}"))
    thread.join(60)
    return found


def free_port() -> int:
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


HOSTILE = "<img src=x onerror=alert(1)>\"'</title></style><script>alert(2)</script>"


@bw.program
def traced(mine: bw.Garbler[bw.u32[4]], theirs: bw.Evaluator[bw.u32[4]]) -> bw.Both[bw.u32]:
    return bw.max(bw.max(mine), bw.max(theirs))


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    """Pages of real runs and plans."""
    folder = tmp_path_factory.mktemp("pages")
    aes = EXAMPLES / "aes-128-rounds.bwp"
    values = [f"--{party}=@{EXAMPLES / f'aes-128-rounds.{party}.json'}" for party in ("garbler", "evaluator")]
    called("examples", "auction", "-o", folder / "auction", folder=folder)
    auction = folder / "auction" / "auction.wir"
    bids = [f"--{party}=@{auction.with_suffix(f'.{party}.json')}" for party in ("garbler", "evaluator")]
    # A Bristol circuit is named after its file, and a file may have any name.
    circuit = folder / (HOSTILE.replace("/", "\u2215") + ".txt")
    circuit.write_text("1 3\n2 1 1\n1 1\n\n2 1 0 1 2 AND\n")
    stock = [*bids, "--store", folder / "stock", "--store-key", folder / "stock.key"]
    called("keygen", "--store-key", "-o", folder / "stock.key", folder=folder)

    runs = {
        "run": made(folder, "run", "run", aes, *values),
        "outputs": made(folder, "outputs", "run", auction, *bids, "--cut", "given", "--report-outputs"),
        "stored": made(folder, "stored", "run", auction, *stock),
        **pages_of_both(folder, "authenticated", auction),
        "hostile": made(folder, "hostile", "run", circuit, "--garbler=1", "--evaluator=1"),
        "plan": made(folder, "plan", "plan", auction),
        "proposal": made(folder, "proposal", "plan", auction, "--model", "semi-honest"),
        "compare": made(folder, "compare", "bench", "compare", auction, "--rounds", "1"),
    }
    for protocol in ("lego", "jimu", "semi-honest", "compgc"):
        runs[protocol] = made(folder, protocol, "run", auction, *bids, "--protocol", protocol)
    program = bw.load(aes)
    runs["program"] = program.report(folder / "program.html"), program.info()
    runs["traced"] = traced.as_program().report(folder / "traced.html"), traced.as_program().info()
    assert set(runs) == set(KINDS)
    assert HOSTILE[:8] in runs["hostile"][0].read_text().replace("&lt;", "<")
    return runs


KINDS = """run outputs stored garbler evaluator lego jimu semi-honest compgc hostile plan proposal compare
    program traced""".split()


# An open browser occupies the thread's event loop, which other modules' tests need.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser without a window."""
    try:
        from playwright import sync_api as playwright
    except ImportError:
        lacking("there is no playwright: pip install playwright")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def opened(browser: Any) -> Iterator[Open]:
    """Opens a page. Its requests, its scripts and its errors are recorded."""

    def open_it(path: pathlib.Path, width: int = 1280, scheme: str = "light", unsafe: bool = False) -> Any:
        # Scripts of the page are allowed, so a script on the page would run. The tests' own scripts bypass
        # its policy only where this is requested.
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=unsafe
        )
        page = context.new_page()
        page.asked, page.said = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))

        def dismiss(dialog: Any) -> None:
            page.said.append(dialog.message)
            dialog.dismiss()

        page.on("dialog", dismiss)
        page.goto(path.as_uri())
        return page

    yield open_it


@dataclass(frozen=True)
class Seen:
    """A page of a kind, opened at a width."""

    kind: str
    path: pathlib.Path
    record: dict[str, Any]
    width: int
    page: Any

    def details(self, are_open: bool) -> None:
        """Opens all tables, or closes them."""
        self.page.evaluate(
            f"document.querySelectorAll('details').forEach(e => e.open = {json.dumps(are_open)})"
        )


@pytest.fixture(
    scope="module",
    params=[(kind, *view) for kind in KINDS for view in VIEWS],
    ids=lambda view: f"{view[0]}-{view[1]}",
)
def seen(request: pytest.FixtureRequest, pages: Pages, opened: Open) -> Iterator[Seen]:
    kind, width, scheme = request.param
    path, record = pages[kind]
    page = opened(path, width, scheme)
    yield Seen(kind, path, record, width, page)
    page.context.close()


def test_nothing_is_asked_and_nothing_runs(seen: Seen) -> None:
    page = seen.page
    assert page.asked == [seen.path.as_uri()], "it asks for nothing but itself"
    assert page.said == []
    assert page.evaluate("document.scripts.length") == 0
    assert page.evaluate("document.querySelectorAll('img, iframe, object, embed, link, form, a').length") == 0
    handlers = (
        "[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames()).filter(n => /^on/.test(n))"
    )
    assert page.evaluate(handlers) == []


def test_the_policy_holds(pages: Pages, opened: Open) -> None:
    """Code that got onto a page by our mistake would neither run nor be loaded."""
    page = opened(pages["run"][0])
    page.evaluate(
        """() => {
            const script = document.createElement('script');
            script.textContent = 'window.ran = true';
            const image = document.createElement('img');
            image.src = 'http://127.0.0.1:9/x.png';
            document.body.append(script, image);
        }"""
    )
    page.wait_for_timeout(200)
    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in text for text in page.said), page.said


NOT_SHOWN = {"outputs", "output_bits", "input_map", "output_map", "from", "to"}
"""Data that no page shows, or shows only by name: results, wire numbers of bits, the ends of solderings."""


def numbers(value: Any, at: str = "") -> Iterator[tuple[str, float]]:
    """The numbers of a record that its page shows, with their positions."""
    if isinstance(value, dict):
        for name, one in value.items():
            if name not in NOT_SHOWN:
                yield from numbers(one, f"{at}.{name}")
    elif isinstance(value, list):
        for one in value:
            yield from numbers(one, at)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield at, value


def test_all_numbers_of_the_record_are_there(seen: Seen) -> None:
    found = seen.page.evaluate("[...document.querySelectorAll('data')].map(e => e.value)")
    on_the_page = {float(text) for text in found}
    all_of_them = list(numbers(seen.record))
    assert len(all_of_them) > 10
    assert [(at, number) for at, number in all_of_them if float(number) not in on_the_page] == []


def test_the_budget_is_a_picture_where_a_protocol_tells_it(seen: Seen) -> None:
    promise = seen.record.get("promise") or {}
    titles = seen.page.evaluate("[...document.querySelectorAll('svg > title')].map(e => e.textContent)")
    assert ("Each check by itself" in titles) == bool(promise.get("budget"))
    if seen.kind in ("run", "garbler", "evaluator", "plan"):
        assert promise["budget"]


def test_outputs_are_there_only_if_asked(pages: Pages, opened: Open) -> None:
    asked, record = pages["outputs"]
    text = opened(asked).inner_text("main")
    price = str(record["outputs"]["garbler"]["price"])
    assert "Outputs" in text and price in text
    path, record = pages["run"]
    text = path.read_text()
    assert record["outputs"]["garbler"][2:] not in text and record["output_bits"]["garbler"] not in text
    for party in ["garbler", "evaluator"]:
        value = json.loads((EXAMPLES / f"aes-128-rounds.{party}.json").read_text())
        assert re.sub("^0x", "", str(value)) not in text


# All visible texts, with the left, top, right and bottom of each line, and the text.
TEXTS = """() => {
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode, parent = node.parentElement;
        if (!node.data.trim() || parent.closest('title, desc, style')) continue;
        if (parent.closest('caption') && parent.closest('details')) continue;
        if (!parent.checkVisibility()) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        // What lies outside of a frame that moves is not seen.
        const frame = parent.closest('.wide')?.getBoundingClientRect();
        for (const r of range.getClientRects()) {
            const right = frame ? Math.min(r.right, frame.right) : r.right;
            if (r.width < 1 || r.height < 1 || right <= r.left) continue;
            found.push([r.left, r.top + scrollY, right, r.bottom + scrollY, node.data.trim()]);
        }
    }
    return found;
}"""


def overlapping(texts: list[Any]) -> Iterator[tuple[str, str]]:
    """Pairs of texts that overlap by more than the space around their letters."""
    texts = sorted(texts, key=lambda text: text[1])
    for k, one in enumerate(texts):
        for other in texts[k + 1 :]:
            if other[1] >= one[3]:
                break
            across = min(one[2], other[2]) - max(one[0], other[0])
            down = min(one[3], other[3]) - max(one[1], other[1])
            if across > 1 and down > 0.3 * min(one[3] - one[1], other[3] - other[1]):
                yield one[4], other[4]


def test_overlap_is_found() -> None:
    """The check for overlapping texts can fail."""
    one, beside, on_it = [0, 0, 50, 20, "a"], [51, 0, 90, 20, "b"], [40, 5, 60, 25, "c"]
    assert list(overlapping([one, beside])) == []
    assert sorted(overlapping([one, beside, on_it])) == [("a", "c"), ("b", "c")]


def lies_well(page: Any, width: int, state: str) -> None:
    """Asserts that no text overlaps another or lies outside, and that the page does not scroll sideways."""
    texts = page.evaluate(TEXTS)
    assert len(texts) > 20
    assert list(overlapping(texts)) == [], f"{state}, {width} pixels"
    outside = [text[4] for text in texts if text[0] < -1 or text[2] > width + 1]
    assert outside == [], f"{state}, {width} pixels"
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing moves sideways"


def test_no_text_lies_on_another(seen: Seen) -> None:
    for are_open in (False, True):
        seen.details(are_open)
        lies_well(seen.page, seen.width, "open" if are_open else "closed")


# For each visible element with letters: their colour, the colour of the background, and the text.
COLOURS = """() => [...document.querySelectorAll('main *')].filter(e =>
    e.checkVisibility() && !e.closest('title, desc, style') &&
    [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())
).map(e => {
    const picture = e.closest('svg'), style = getComputedStyle(e);
    const colour = e => getComputedStyle(e).backgroundColor;
    let behind = picture ?? e;
    while (colour(behind) === 'rgba(0, 0, 0, 0)' && behind.parentElement) behind = behind.parentElement;
    return [picture ? style.fill : style.color, colour(behind), e.textContent];
})"""


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2.2 between two colours."""

    def luminance(colour: str) -> float:
        parts = [float(part) / 255 for part in re.findall(r"[\d.]+", colour)[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


# Passed rules are only counted, because describing all their elements takes most of the time. Contrast takes
# most of the remaining time. So axe checks two rows of each table, because other rows are similar. It checks
# no pictures, because it cannot determine the colour of the background of a letter there. The next test
# checks the contrast of all texts.
AXE = """async () => {
    const rules = {'color-contrast': {enabled: false}}, resultTypes = ['violations'];
    const exclude = ['svg', 'tbody tr:nth-child(n+3)'];
    const found = await axe.run({resultTypes, rules});
    const contrast = await axe.run({exclude}, {resultTypes, runOnly: ['color-contrast']});
    return [[...found.violations, ...contrast.violations], found.passes.length, contrast.passes.length];
}"""


def test_axe_finds_nothing(seen: Seen) -> None:
    seen.details(True)
    seen.page.evaluate(axe())
    violations, passes, contrasts = seen.page.evaluate(AXE)
    assert passes > 10 and contrasts == 1, "axe looked at something"
    assert [(one["id"], [node["html"][:200] for node in one["nodes"]][:3]) for one in violations] == []


def stands_out(page: Any) -> None:
    """Asserts that all letters have enough contrast."""
    texts = page.evaluate(COLOURS)
    assert len(texts) > 20 and contrast("rgb(0, 0, 0)", "rgb(255, 255, 255)") == 21.0
    assert [text for ink, behind, text in texts if contrast(ink, behind) < 4.5] == []


def test_letters_stand_out(seen: Seen) -> None:
    seen.details(True)
    stands_out(seen.page)


def test_a_screen_reader_is_told_what_pictures_show(seen: Seen) -> None:
    if seen.width < 1000:
        pytest.skip("they are the same at every width")
    page = seen.page
    seen.details(False)
    pictures = page.get_by_role("img").all()
    assert pictures
    for picture in pictures:
        words = picture.get_attribute("aria-labelledby").split(" ")
        title, about = (page.locator(f"[id='{name}']").text_content() for name in words)
        assert title and len(about) > 40
        figure = picture.locator("xpath=ancestor::figure")
        assert figure.locator("table tbody tr").count() > 0
        caption = figure.locator("summary").first
        caption.focus()
        page.keyboard.press("Enter")
        assert figure.locator("table").first.is_visible(), "its data opens by the keyboard"


def test_paper_has_all_tables(seen: Seen) -> None:
    page = seen.page
    seen.details(False)
    page.emulate_media(media="print")
    page.set_viewport_size({"width": PAPER, "height": 1000})
    try:
        tables = page.evaluate("[...document.querySelectorAll('table')].map(e => e.checkVisibility())")
        assert tables and all(tables)
        lies_well(page, PAPER, "printed")
        stands_out(page)
    finally:
        page.emulate_media(media="screen")
        page.set_viewport_size({"width": seen.width, "height": 900})


def test_dark_is_dark(seen: Seen) -> None:
    style = "getComputedStyle(document.querySelector('main'))"
    background, ink = (
        sum(int(part) for part in re.findall(r"\d+", seen.page.evaluate(f"{style}.{what}"))[:3])
        for what in ("backgroundColor", "color")
    )
    assert (background < ink) == (dict(VIEWS)[seen.width] == "dark")
