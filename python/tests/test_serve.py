"""A live `brickwork serve`, scraped by Prometheus' own client library."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import brickwork as bw
import pytest
from conftest import lacking

Figures = dict[tuple[str, tuple[tuple[str, str], ...]], float]

PROGRAM = Path(__file__).parents[2] / "examples" / "millionaires.bwp"
OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class Service:
    """A service that is started with a configuration file, which begins with this text."""

    def __init__(self, command: str, folder: Path, role: str, text: str, token: str) -> None:
        config = folder / f"{role}.toml"
        config.touch(mode=0o600)
        config.write_text(text)
        store: list[str | Path] = ["--store", folder / f"{role}.store", "--store-key", folder / "store.key"]
        self.token = token
        self.process = subprocess.Popen(
            [command, "serve", "--config", config, *store], stderr=subprocess.PIPE, text=True
        )
        self.http = self._said("requests are taken at ")
        self.listens = self._said("waiting for the peer at ") if "listen =" in text else ""

    def _said(self, what: str) -> str:
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        assert line.startswith(what), line + self.process.stderr.read()
        return line.removeprefix(what).strip()

    def get(self, path: str, **headers: str) -> tuple[str, str]:
        request = urllib.request.Request(f"http://{self.http}/{path}", headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return str(answer.headers["content-type"]), str(answer.read().decode())

    def run(self, body: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(
            f"http://{self.http}/run",
            data=json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    def figures(self) -> Figures:
        """Returns all samples, as the library's strict parser of OpenMetrics reads them."""
        try:
            from prometheus_client.openmetrics.parser import text_string_to_metric_families
        except ImportError:
            lacking("there is no Prometheus client: pip install prometheus-client")
        kind, text = self.get("metrics", Accept=OPEN_METRICS)
        assert kind == OPEN_METRICS
        found: Figures = {}
        parse: Callable[[str], Iterator[Any]] = text_string_to_metric_families
        for family in parse(text):
            assert family.name.startswith("brickwork_") and family.documentation
            for sample in family.samples:
                found[sample.name, tuple(sorted(sample.labels.items()))] = sample.value
        return found

    def until(self, holds: Callable[[Figures], bool]) -> Figures:
        begun = time.monotonic()
        while not holds(found := self.figures()):
            assert time.monotonic() - begun < 60, found
            time.sleep(0.05)
        return found

    def end(self) -> None:
        self.process.terminate()
        assert self.process.wait(60) == 0
        assert self.process.stderr is not None
        self.process.stderr.close()


@pytest.fixture
def services(tmp_path: Path) -> Iterator[list[Service]]:
    """A garbler and an evaluator, connected, with stock. The evaluator's input to `richer` is a standing
    input."""
    command = shutil.which("brickwork")
    if command is None:
        lacking("the command is not built: cargo build --release")
    publics = [bw.keygen(tmp_path / f"{role}.key") for role in ("garbler", "evaluator")]
    bw.keygen(tmp_path / "store.key", store_key=True)
    token = secrets.token_hex(32)
    with open(tmp_path / "token", "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write(token)
    running: list[Service] = []
    place = 'listen = "127.0.0.1:0"'
    for number, role in enumerate(["garbler", "evaluator"]):
        stands = "input = '7'" if number else ""
        program = f'[[program]]\nname = "richer"\nfile = "{PROGRAM}"\nlow = 2\nhigh = 4\n{stands}\n'
        text = (
            f'role = "{role}"\nidentity = "{role}.key"\npeer = "{publics[1 - number]}"\n{place}\n'
            f'http = "127.0.0.1:0"\ntoken = "token"\nthreads = 1\n{program}'
        )
        running.append(Service(command, tmp_path, role, text, token))
        place = f'connect = "{running[0].listens}"'
    yield running
    for service in running:
        service.end()


def of(name: str, **labels: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    return name, tuple(sorted(labels.items()))


def test_prometheus_reads_the_figures(services: list[Service]) -> None:
    garbler, evaluator = services
    richer = of("brickwork_stock", program="richer")
    for service in services:
        before = service.until(lambda found: found.get(richer, 0) >= 3)
        assert before[of("brickwork_peer_connected")] == 1 and before[of("brickwork_waiting")] == 0
    for wealth in (8, 6):
        answer = garbler.run({"program": "richer", "input": wealth})
        assert answer["outputs"] == {"alice": int(wealth > 7), "bob": int(wealth < 7)}
    done = of("brickwork_runs_total", program="richer", outcome="done")
    # The evaluator may record a run after the garbler has answered.
    for service in services:
        after = service.until(lambda found: found.get(done) == 2)
        assert after[of("brickwork_run_seconds_count", program="richer")] == 2
        assert after[of("brickwork_run_seconds_bucket", program="richer", le="+Inf")] == 2
        assert 0 < after[of("brickwork_run_seconds_sum", program="richer")] < 120
        assert after[of("brickwork_made_total", program="richer")] >= 3
        assert after[of("brickwork_line_bytes_total")] > 1000
    assert garbler.figures()[of("brickwork_answers_total", status="200")] > 2
    # A client that does not accept OpenMetrics gets the same data as text.
    kind, text = evaluator.get("metrics")
    assert kind.startswith("text/plain; version=0.0.4") and "brickwork_runs_total" in text


def test_requests_that_wait_are_counted_while_they_do(services: list[Service]) -> None:
    garbler, evaluator = services
    waiting = of("brickwork_waiting")
    # The client sends an id for which the garbler has given no input.
    answers: list[dict[str, Any]] = []
    asks = threading.Thread(
        target=lambda: answers.append(evaluator.run({"program": "richer", "id": "late", "input": 1}))
    )
    asks.start()
    evaluator.until(lambda found: found[waiting] == 1)
    answers.append(garbler.run({"program": "richer", "id": "late", "input": 2}))
    asks.join(60)
    assert [answer["outputs"] for answer in answers] == [{"alice": 1, "bob": 0}] * 2
    evaluator.until(lambda found: found[waiting] == 0)
