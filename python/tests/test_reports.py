"""Pages of `--report`, opened in a real browser.

They are made here by the command: `BRICKWORK` says where it is, if it is not built in `target/release`. What
this needs is Chromium (`CHROMIUM`, or on the path), playwright, and for the checks of accessibility axe; what
is missing is said, and its tests are skipped, or fail where `BRICKWORK_CI` is set.
"""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import lacking

# A page's file, and the object that the command printed; of each kind one; and what opens one in the browser.
Page = tuple[pathlib.Path, dict[str, Any]]
Pages = dict[str, Page]
Open = Callable[..., Any]

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
WIDTHS = [400, 1280]
SCHEMES = ["dark", "light"]


def command() -> str:
    """The command, or a reason why it is lacking."""
    named = os.environ.get("BRICKWORK")
    built = ROOT / "target" / "release" / "brickwork"
    path = named or (str(built) if built.exists() else shutil.which("brickwork"))
    if path is None:
        lacking("the command is not built: cargo build --release, or BRICKWORK=…")
    return path


def chromium() -> str:
    """The browser, or a reason why it is lacking."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        lacking("there is no Chromium on the path; CHROMIUM names one")
    return path


def axe() -> str:
    """The text of axe-core, or a reason why it is lacking."""
    named = os.environ.get("AXE")
    if named:
        return pathlib.Path(named).read_text()
    found = importlib.util.find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        lacking("there is no axe: pip install axe-playwright-python, or AXE=axe.min.js")
    texts = list(pathlib.Path(found.origin).parent.rglob("axe.min.js"))
    assert texts, "axe_playwright_python has no axe.min.js"
    return texts[0].read_text()


def made(folder: pathlib.Path, name: str, *arguments: object) -> Page:
    """The page of a command, and the object that it prints."""
    page = folder / f"{name}.html"
    ran = subprocess.run(
        [command(), *map(str, arguments), "--report", page, "--json", "--quiet"],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return page, json.loads(ran.stdout)


HOSTILE = "<img src=x onerror=alert(1)>\"'</title></style><script>alert(2)</script>"


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    """Pages of real runs and plans: name, file, record."""
    folder = tmp_path_factory.mktemp("pages")
    aes = EXAMPLES / "aes-128-rounds.bwp"
    values = [
        "--garbler",
        f"@{EXAMPLES / 'aes-128-rounds.garbler.json'}",
        "--evaluator",
        f"@{EXAMPLES / 'aes-128-rounds.evaluator.json'}",
    ]
    subprocess.run(
        [command(), "examples", "auction", "-o", folder / "auction"],
        check=True,
        capture_output=True,
        timeout=60,
    )
    auction = folder / "auction" / "auction.wir"
    bids = [
        "--garbler",
        f"@{auction.with_suffix('.garbler.json')}",
        "--evaluator",
        f"@{auction.with_suffix('.evaluator.json')}",
    ]
    # A Bristol circuit is named after its file, and a file may be named anything.
    circuit = folder / (HOSTILE.replace("/", "\u2215") + ".txt")
    circuit.write_text("1 3\n2 1 1\n1 1\n\n2 1 0 1 2 AND\n")
    hostile = ["--garbler", "1", "--evaluator", "1"]
    runs = {
        "run": made(folder, "run", "run", aes, *values),
        "parts": made(folder, "parts", "run", auction, *bids, "--cut", "given", "--report-outputs"),
        "lego": made(folder, "lego", "run", auction, *bids, "--protocol", "lego"),
        "semi-honest": made(folder, "semi-honest", "run", aes, *values, "--protocol", "semi-honest"),
        "hostile": made(folder, "hostile", "run", circuit, *hostile),
        "plan": made(folder, "plan", "plan", auction),
        "proposal": made(folder, "proposal", "plan", auction, "--model", "semi-honest"),
        "compare": made(folder, "compare", "bench", "compare", auction, "--rounds", "1"),
    }
    assert HOSTILE[:8] in runs["hostile"][0].read_text().replace("&lt;", "<")
    return runs


KINDS = ["run", "parts", "lego", "semi-honest", "hostile", "plan", "proposal", "compare"]
if os.environ.get("BRICKWORK_QUICK"):
    # All that is different, once; `cargo xtask python` and `pytest` look at each page.
    KINDS = ["parts", "plan", "compare"]


# As long as it is open it has the thread's event loop, which other modules' tests need.
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


@pytest.fixture
def opened(browser: Any) -> Iterator[Open]:
    """Opens a page; what it asked for, and what it ran or complained of, is noted."""
    contexts = []

    def open_it(path: pathlib.Path, width: int = 1280, scheme: str = "light", unsafe: bool = False) -> Any:
        # Scripts of the page are allowed, so that one that is there would run; those of the test come past
        # its policy only where it is told so.
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=unsafe
        )
        contexts.append(context)
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
    for context in contexts:
        context.close()


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_asked_and_nothing_runs(kind: str, pages: Pages, opened: Open) -> None:
    path, _ = pages[kind]
    page = opened(path)
    assert page.asked == [path.as_uri()], "it asks for nothing but itself"
    assert page.said == []
    assert page.evaluate("document.scripts.length") == 0
    assert page.evaluate("document.querySelectorAll('img, iframe, object, embed, link, form, a').length") == 0
    handlers = (
        "[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames()).filter(n => /^on/.test(n))"
    )
    assert page.evaluate(handlers) == []


def test_the_policy_holds(pages: Pages, opened: Open) -> None:
    """What would come onto a page by a mistake of ours would not run and not be loaded."""
    path, _ = pages["run"]
    page = opened(path)
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


def shown_numbers(record: dict[str, Any]) -> Iterator[float]:
    """The numbers of what a page shows of its record, as they stand in it."""
    names = """phases predicted security and_gates choice alternatives candidates rows machine link rounds
        executions seconds round_trips cpu_seconds memory_bytes disk_bytes"""
    fields = names.split()
    open_ones = [record[field] for field in fields if field in record]
    cuts = record.get("decompositions", [])
    open_ones += cuts if len(cuts) > 1 else []
    while open_ones:
        value = open_ones.pop()
        if isinstance(value, dict):
            open_ones += value.values()
        elif isinstance(value, list):
            open_ones += value
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield value


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_are_those_of_the_record(kind: str, pages: Pages, opened: Open) -> None:
    path, record = pages[kind]
    found = opened(path).evaluate("[...document.querySelectorAll('data')].map(e => e.value)")
    on_the_page = {float(text) for text in found}
    numbers = list(shown_numbers(record))
    assert len(numbers) > 20
    assert [number for number in numbers if float(number) not in on_the_page] == []


def test_outputs_are_there_only_if_asked(pages: Pages, opened: Open) -> None:
    asked, record = pages["parts"]
    text = opened(asked).inner_text("main")
    price = str(record["outputs"]["garbler"]["price"])
    assert "Outputs" in text and price in text
    path, record = pages["run"]
    text = path.read_text()
    assert record["outputs"]["garbler"][2:] not in text and record["output_bits"]["garbler"] not in text
    for party in ["garbler", "evaluator"]:
        value = json.loads((EXAMPLES / f"aes-128-rounds.{party}.json").read_text())
        assert re.sub("^0x", "", str(value)) not in text


# Texts that are seen: each line of each of them as left, top, right, bottom, and what it says.
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
    """Pairs of texts that lie on each other by more than their letters' air."""
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
    """The check can fail."""
    one, beside, on_it = [0, 0, 50, 20, "a"], [51, 0, 90, 20, "b"], [40, 5, 60, 25, "c"]
    assert list(overlapping([one, beside])) == []
    assert sorted(overlapping([one, beside, on_it])) == [("a", "c"), ("b", "c")]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_text_lies_on_another(kind: str, width: int, pages: Pages, opened: Open) -> None:
    page = opened(pages[kind][0], width)
    for state in ["closed", "open"]:
        texts = page.evaluate(TEXTS)
        assert len(texts) > 20
        assert list(overlapping(texts)) == [], f"{state}, {width} pixels"
        outside = [text[4] for text in texts if text[0] < -1 or text[2] > width + 1]
        assert outside == [], f"{state}, {width} pixels"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing moves sideways"
        page.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")


@pytest.mark.parametrize("width, scheme", list(zip(WIDTHS, SCHEMES)))
@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_nothing(kind: str, width: int, scheme: str, pages: Pages, opened: Open) -> None:
    page = opened(pages[kind][0], width, scheme, unsafe=True)
    page.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
    page.evaluate(axe())
    found = page.evaluate("axe.run()")
    assert found["passes"], "axe looked at something"
    told = [(one["id"], [node["html"][:200] for node in one["nodes"]][:3]) for one in found["violations"]]
    assert told == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_screen_reader_is_told_what_pictures_show(kind: str, pages: Pages, opened: Open) -> None:
    page = opened(pages[kind][0])
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


def test_paper_has_all_tables(pages: Pages, opened: Open) -> None:
    page = opened(pages["run"][0])
    page.emulate_media(media="print")
    tables = page.locator("table")
    hidden = [k for k in range(tables.count()) if not tables.nth(k).is_visible()]
    assert tables.count() > 5 and hidden == []


def test_dark_is_dark(pages: Pages, opened: Open) -> None:
    def colours(scheme: str) -> list[int]:
        page = opened(pages["run"][0], scheme=scheme)
        style = "getComputedStyle(document.querySelector('main'))"
        return [
            sum(int(part) for part in re.findall(r"\d+", page.evaluate(f"{style}.{what}"))[:3])
            for what in ["backgroundColor", "color"]
        ]

    for scheme, is_dark in [("light", False), ("dark", True)]:
        background, ink = colours(scheme)
        assert (background < ink) == is_dark
