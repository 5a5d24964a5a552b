"""Jobs of many lanes on Ray: two parties, each with a Ray cluster of its own, on this machine."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import brickwork as bw
import pytest

pytest.importorskip("ray")

LIMIT = 240.0
"""Seconds that a party may be silent, or take to begin and to end. They are many, because the machine may be
busy."""

PARTY = """
import json, sys
import ray
import brickwork as bw
import brickwork.ray as bwray

plan = json.loads(sys.argv[1])

def started(start, **how):
    # Ray gives a node 30 s to start and no more, which is too little on a busy machine.
    for left in (2, 1, 0):
        try:
            return start(**how)
        except Exception as e:
            if left == 0 or "timed out during startup" not in str(e):
                raise

if (raylets := plan.pop("raylets")) == 1:
    started(ray.init, address="local", num_cpus=4, include_dashboard=False, log_to_driver=False)
else:
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 4, "include_dashboard": False}
    cluster = started(Cluster, initialize_head=True, head_node_args=head)
    for _ in range(1, raylets):
        started(cluster.add_node, num_cpus=4)
    ray.init(address=cluster.address, log_to_driver=False)
source = bwray.Files(plan.pop("source"))
sink = bwray.Folder(plan.pop("sink"), format=plan.pop("format"))
program = bw.Program(plan.pop("program"))
only_fill = plan.pop("only_fill")
begun = None
held = not plan.pop("hold")

def say(**what):
    print(json.dumps(what), flush=True)

def stands(now):
    # The coordinator waits here once, so that a test can kill any process before the job continues.
    global begun, held
    begun = now["done"] if begun is None else begun
    if not held and now["done"] > begun:
        held = True
        say(held=now)
        sys.stdin.readline()

say(node=ray.get_runtime_context().get_node_id())
plan["listening"] = lambda address: say(listens=address)
plan["stands"] = stands
try:
    if only_fill:
        job = bwray.fill(program, source.rows(), **plan)
    else:
        job = bwray.map_partitions(program, source, sink, **plan)
except bwray.JobIncomplete as incomplete:
    job = incomplete.job
say(job=job.job, done=job.done, in_doubt=job.in_doubt, spent=job.security.spent)
say(session=ray._private.worker._global_node.get_session_dir_path())
sys.stdin.readline()  # The cluster stays until somebody has looked at it.
"""


class Party:
    """One party's driver, in a process of its own.

    Its cluster's processes belong to its session. The session identifies them even after their parents have
    ended.
    """

    def __init__(self, plan: dict[str, Any], errors: Path) -> None:
        command = [sys.executable, "-W", "ignore", "-c", PARTY, json.dumps(plan)]
        # A raylet that has died is missed after five seconds, and not after 15.
        health = {} if plan["raylets"] == 1 else {"RAY_health_check_period_ms": "1000"}
        # No worker is started before a lane needs it.
        spare = {"RAY_prestart_worker_first_driver": "0", "RAY_enable_worker_prestart": "0"}
        # The drivers have the same priority as the processes beside the tests. Otherwise they might wait for
        # all of them.
        nice = {"RAY_worker_niceness": "0"}
        environment = {**os.environ, "RAY_DEDUP_LOGS": "0", **spare, **nice, **health}
        pipe = subprocess.PIPE
        self._errors = errors
        with errors.open("w") as file:
            self.process = subprocess.Popen(
                command,
                stdin=pipe,
                stdout=pipe,
                stderr=file,
                text=True,
                env=environment,
                start_new_session=True,
            )
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.node = ""

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self._lines.put(line)
        self._lines.put(None)

    def next(self, field: str) -> Any:
        """Returns the next message of the driver with this name."""
        while True:
            try:
                line = self._lines.get(timeout=LIMIT)
            except queue.Empty:
                raise AssertionError(f"the party does not say {field}: {self.said()}") from None
            if line is None:
                self._lines.put(None)
                raise AssertionError(f"the party ended without {field}: {self.said()}")
            if not line.startswith("{"):
                continue  # The line is a message of Ray.
            said = json.loads(line)
            if field in said:
                return said if field == "job" else said[field]
            assert "job" not in said, f"the job ended without {field}: {said}"

    def go_on(self) -> None:
        """Lets the driver continue, or end, where it waits."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def leave(self) -> int:
        """Lets the driver end. Returns its exit code."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        return self.process.wait(LIMIT)

    def actors(self) -> list[int]:
        """Returns the processes of its lanes, once there are any."""
        end = time.monotonic() + LIMIT
        while not (found := self._processes(b"ray::Guarded")):
            assert time.monotonic() < end, f"there is no lane to kill: {self.said()}"
            time.sleep(0.02)
        return found

    def raylet(self, of_driver: bool) -> int:
        """Returns one of its raylets: the driver's, or another one."""
        (own,) = self._processes(f"--node_id={self.node}".encode())
        return own if of_driver else next(one for one in self._processes(b"raylet/raylet") if one != own)

    def kill(self) -> None:
        """Kills the driver and its cluster, so that nothing of it is left."""
        self.process.kill()
        end = time.monotonic() + LIMIT
        # The last killed worker may have started another process.
        while processes := self._processes(b""):
            assert time.monotonic() < end, f"they do not die: {processes}"
            for process in processes:
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.05)
        self.leave()
        self._reader.join(LIMIT)

    def holds(self, session: str, needles: list[bytes]) -> list[bytes]:
        """Returns those of these texts that occur in the files of its Ray session, or in the memory of its
        control store."""
        found: set[bytes] = set()

        def look(content: bytes) -> None:
            found.update(needle for needle in needles if needle in content)

        for path in files_below(Path(session)):
            look(path.read_bytes())
        (store,) = self._processes(b"gcs_server")
        with open(f"/proc/{store}/mem", "rb", buffering=0) as memory:
            for begin, end in written(Path(f"/proc/{store}/smaps").read_text()):
                try:
                    memory.seek(begin)
                    look(memory.read(end - begin))
                except (OSError, OverflowError):
                    pass  # The range is gone, or belongs to the kernel.
        return sorted(found)

    def _processes(self, name: bytes) -> list[int]:
        """Returns the living processes of its session whose command contains this text."""
        found = []
        for folder in Path("/proc").iterdir():
            try:
                fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
                is_its_own = int(fields[3]) == self.process.pid and fields[0] != "Z"
                if is_its_own and name in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
            except (OSError, ValueError, IndexError):
                pass
        return found

    def said(self) -> str:
        """Returns the end of the text that the driver and Ray have written to stderr."""
        return self._errors.read_text()[-4000:]


def written(smaps: str) -> Iterator[tuple[int, int]]:
    """Yields the ranges of a process's memory that it has written."""
    place = (0, 0)
    for line in smaps.splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            span, rights, *_ = line.split()
            begin, end = (int(number, 16) for number in span.split("-"))
            place = (begin, end) if rights.startswith("rw") else (0, 0)
        elif line.startswith("Rss:") and int(line.split()[1]) > 0 and place != (0, 0):
            yield place


def files_below(folder: Path) -> Iterator[Path]:
    """Returns the files of a Ray session, without its sockets."""
    return (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


class Pair:
    """Both parties of a job, and their files."""

    def __init__(self, folder: Path, program: bw.Program, rows: list[int]) -> None:
        self.folder, self.program, self.rows = folder, program, rows
        self.parties: list[Party] = []
        self.keys = {}
        for role in ("garbler", "evaluator"):
            self.keys[role] = bw.keygen(folder / f"{role}.key")
            parts = folder / f"{role}-parts"
            parts.mkdir()
            for k, count in enumerate(rows):
                values = [self.value(role, k, row) for row in range(count)]
                (parts / f"{k:03}.json").write_text(json.dumps(values))
        self.store_key = os.urandom(32)
        (folder / "store.key").write_text(self.store_key.hex())
        (folder / "store.key").chmod(0o600)
        program.save(folder / "program.bwp")

    @staticmethod
    def value(role: str, partition: int, row: int) -> int:
        # These are numbers that no other test writes.
        return 0x5EC2E700 + (partition * 131 + row * 17 + (1000 if role == "evaluator" else 0)) % 1503

    def secrets(self) -> list[bytes]:
        """Returns keys and inputs of both parties, in the forms in which they could be written."""
        keys = [(self.folder / f"{role}.key").read_text().strip() for role in ("garbler", "evaluator")]
        # All inputs begin in the same way, in digits and, from the end, in bytes.
        numbers = [b"1589831", b"1589832", *(bytes([k, 0xC2, 0x5E, 0, 0, 0, 0]) for k in range(0xE7, 0xED))]
        words = [word.encode() for key in keys for word in key.split() if len(word) >= 32]
        assert len(words) == 2, "both identities"
        raw = [base64.b64decode(word)[-32:] for word in words]
        return [self.store_key, self.store_key.hex().encode(), *words, *raw, *numbers]

    def plan(self, role: str, address: str | None, **more: Any) -> dict[str, Any]:
        peer = self.keys["evaluator" if role == "garbler" else "garbler"]
        place = {"listen": "127.0.0.1:0"} if address is None else {"connect": address}
        return {
            "role": role,
            "peer": peer,
            "identity": str(self.folder / f"{role}.key"),
            "store_key": str(self.folder / "store.key"),
            "folder": str(self.folder / f"{role}-job"),
            "program": str(self.folder / "program.bwp"),
            "source": str(self.folder / f"{role}-parts"),
            "sink": str(self.folder / f"{role}-results"),
            "format": "json",
            "lanes": 2,
            "retries": 4,
            "only_fill": False,
            "raylets": 1,
            "hold": False,
            **place,
            **more,
        }

    def start(self, hold: bool = False, **more: Any) -> tuple[Party, Party]:
        """Starts both parties.

        Args:
            hold: whether the garbler's coordinator waits once a partition is done.
        """
        garbler = self._party(self.plan("garbler", None, hold=hold, **more))
        return garbler, self._party(self.plan("evaluator", garbler.next("listens"), **more))

    def _party(self, plan: dict[str, Any]) -> Party:
        party = Party(plan, self.folder / f"party-{len(self.parties)}.txt")
        self.parties.append(party)
        party.node = party.next("node")
        return party

    def close(self) -> None:
        """Kills the remaining processes of all parties and their clusters."""
        for party in self.parties:
            party.kill()

    def check(self, done: Iterator[int] | range) -> None:
        for k in done:
            mine = [self.value("garbler", k, row) for row in range(self.rows[k])]
            theirs = [self.value("evaluator", k, row) for row in range(self.rows[k])]
            expected = [{"garbler_richer": int(x > y), "equal": int(x == y)} for x, y in zip(mine, theirs)]
            for role in ("garbler", "evaluator"):
                found = json.loads((self.folder / f"{role}-results" / f"part-{k:05}.json").read_text())
                assert found == expected, (role, k)

    def stores_are_sound(self) -> None:
        for role in ("garbler", "evaluator"):
            for lane in (self.folder / f"{role}-job").glob("lane-*"):
                bw.Store(lane, key=self.folder / "store.key").verify()


@pytest.fixture
def pair(tmp_path: Path, millionaires: bw.Program) -> Iterator[Pair]:
    with contextlib.closing(Pair(tmp_path, millionaires, [20] * 12)) as pair:
        yield pair


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="it looks for processes")
def test_a_job_runs_on_two_clusters(pair: Pair) -> None:
    """Stock is made, lanes of either party are killed while they run, and nothing runs twice."""
    fillers = pair.start(only_fill=True)
    filled = [party.next("job") for party in fillers]
    assert [party.leave() for party in fillers] == [0, 0]
    assert all(job["done"] == 0 and job["spent"] == 2 for job in filled)
    parties = pair.start(hold=True)
    parties[0].next("held")
    for party in parties:
        os.kill(party.actors()[0], signal.SIGKILL)
    parties[0].go_on()
    jobs = [party.next("job") for party in parties]
    for party in parties:
        session = party.next("session")
        # The arguments of an actor are visible. So the search finds them, and no secret among them.
        told = str(pair.folder).encode()
        assert party.holds(session, [told, *pair.secrets()]) == [told]
    assert [party.leave() for party in parties] == [0, 0]
    assert jobs[0] == jobs[1] and jobs[0]["job"] == filled[0]["job"]
    in_doubt = jobs[0]["in_doubt"]
    assert jobs[0]["done"] + len(in_doubt) == 12
    pair.check(k for k in range(12) if k not in in_doubt)
    pair.stores_are_sound()
    if in_doubt:
        again = pair.start(rerun=in_doubt)
        jobs = [party.next("job") for party in again]
        assert [party.leave() for party in again] == [0, 0]
        assert all(job["done"] == 12 for job in jobs)
        pair.check(range(12))


def test_a_lane_ends_with_its_raylet() -> None:
    """A worker whose parent is killed ends by itself and releases its store, because nobody else ends it."""
    worker = "import time; from brickwork.ray.lane import end_with_parent; end_with_parent(); "
    worker += "print('there', flush=True); time.sleep(60); print('still there')"
    parent = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"
    command = [sys.executable, "-c", parent, worker]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as raylet:
        assert raylet.stdout is not None
        assert raylet.stdout.readline() == "there\n"
        raylet.kill()
        # Both processes write there, so the output ends when both have ended.
        assert raylet.stdout.read() == ""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="it looks for processes")
def test_coordinators_and_raylets_die(pair: Pair) -> None:
    """Two clusters of two raylets each. The evaluator's coordinator is killed with its whole cluster. Then
    the raylet of the garbler's coordinator is killed, and all lanes. Each time the job ends at both parties,
    and continues when both begin again. Then the garbler's other raylet is killed, and the job continues
    without it. Nothing runs twice. Each killed worker may have begun a stock, so the promise reserves as
    many.
    """
    parties = pair.start(raylets=2, hold=True, retries=16)
    parties[0].next("held")
    parties[1].kill()
    parties[0].go_on()
    assert parties[0].leave() != 0, "it went on alone"
    parties = pair.start(raylets=2, hold=True, retries=16)
    parties[0].next("held")
    for process in (parties[0].raylet(of_driver=True), *parties[0].actors()):
        os.kill(process, signal.SIGKILL)
    parties[0].go_on()
    assert [party.leave() for party in parties] == [1, 1]
    assert "Ray has lost the machine of this driver\nhint: start both parties again" in parties[0].said()
    parties = pair.start(raylets=2, hold=True, retries=16)
    parties[0].next("held")
    os.kill(parties[0].raylet(of_driver=False), signal.SIGKILL)
    parties[0].go_on()
    jobs = [party.next("job") for party in parties]
    assert [party.leave() for party in parties] == [0, 0]
    assert jobs[0] == jobs[1], "both ledgers"
    in_doubt = jobs[0]["in_doubt"]
    assert jobs[0]["done"] + len(in_doubt) == 12 and jobs[0]["spent"] <= 18
    pair.check(k for k in range(12) if k not in in_doubt)
    pair.stores_are_sound()


def test_a_cluster_that_is_gone_is_not_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from brickwork.ray import job

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    assert job._cluster() is None, "there was none"
    last = tmp_path / "ray" / "ray_current_cluster"
    last.parent.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as there:
        last.write_text(f"127.0.0.1:{there.getsockname()[1]}")
        assert job._cluster() is None, "Ray finds it"
    assert job._cluster() == "local"
    for text in ["", "nothing", "127.0.0.1:", "127.0.0.1:99999999999999999999"]:
        last.write_text(text)
        assert job._cluster() == "local", text
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert job._cluster() is None, "what is named is taken"


def test_lanes_are_sent_to_no_other_host() -> None:
    from brickwork.ray import job

    hosts = ["alice.example", "bob.example", "[::1]"]
    assert job._checked("bob.example:7000", hosts) == "bob.example:7000"
    assert job._checked("[::1]:00443", hosts) == "[::1]:443"
    for address in ["bob.example.evil:7000", "evil:7000", "127.0.0.1:7000", "7000", "bob.example", ""]:
        with pytest.raises(bw.UsageError, match="not in peer_hosts"):
            job._checked(address, hosts)
    for port in ["", "0", "65536", "-1", "+1", " 1", "1_0", "\u0661", "7000;reboot", "$(reboot)", "1" * 200]:
        with pytest.raises(bw.UsageError, match="an invalid port"):
            job._checked(f"bob.example:{port}", hosts)


class Actor:
    """An actor whose answers a test gives, with a record of its calls."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.killed = False

    @property
    def call(self) -> Actor:
        return self

    def remote(self, method: str, *arguments: Any) -> str:
        self.asked.append(method)
        return method


@pytest.mark.parametrize(
    ("answer", "heard"),
    [
        (("gone", "check"), [{"gone": {"cause": "check"}}]),
        (("gone", "line"), [{"gone": {"cause": "stopped"}}]),
        (("done", 0.5), [{"done": {"partition": 3}}, {"gone": {"cause": "stopped"}}]),
        (None, [{"gone": {"cause": "stock"}}]),
    ],
)
@pytest.mark.parametrize("at_end", [False, True])
def test_what_a_lane_sees_is_heard_before_it_is_ended(
    answer: Any, heard: list[Any], at_end: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lane reports a failed check even if the peer has the lane stopped. A lane that is killed before any
    report has used its stock.
    """
    import ray
    from brickwork.ray import job

    actor = Actor()
    monkeypatch.setattr(job, "_STOPPING", 0.2)
    monkeypatch.setattr(job, "_alive", lambda: {"here"})
    monkeypatch.setattr(ray, "wait", lambda futures, **_: (futures if answer else [], []))
    monkeypatch.setattr(ray, "get", lambda future: answer)
    monkeypatch.setattr(ray, "kill", lambda handle, no_restart: setattr(handle, "killed", True))
    workers = object.__new__(job._Workers)
    workers._futures, workers._news, workers._node, workers._next_look = {}, queue.SimpleQueue(), "here", 0.0
    workers._ended, workers._rows = False, [20] * 4
    metrics: Any = type("Metrics", (), {"ran": lambda *_: None})()
    workers._metrics = metrics
    workers._lanes = {1: job._Actor(actor, 7, [])}
    workers.obey('{"run": {"lane": 1, "partition": 3}}')
    workers.obey('{"fill": {"lane": 1, "partitions": 1}}')
    if at_end:
        workers.end()
    else:
        workers.obey('{"stop": {"lane": 1}}')
        assert not actor.killed, "it is killed before it was heard"
    told: list[Any] = []
    end = time.monotonic() + LIMIT
    while not actor.killed or not told:
        told += [json.loads(news) for news in workers.news(0.01)]
        assert time.monotonic() < end
    told += [json.loads(news) for news in workers.news(0.0)]
    assert actor.asked == ["run", "stop"]
    name = {"lane": 1, "attempt": 7}
    assert told == [{kind: {**name, **body}} for news in heard for kind, body in news.items()]


def test_partitions_stay_what_they_were(tmp_path: Path) -> None:
    """A file that arrives while a job runs shifts no partition."""
    import pickle

    from brickwork import ray as bwray

    for name, rows in (("b.json", [1, 2]), ("d.json", [3])):
        (tmp_path / name).write_text(json.dumps(rows))
    source = bwray.Files(tmp_path)
    assert source.rows() == [2, 1]
    (tmp_path / "a.json").write_text("[9]")
    source = pickle.loads(pickle.dumps(source))
    assert [source.read(0), source.read(1)] == [[1, 2], [3]]


@pytest.mark.parametrize("kind", ["path", "uri", "other"])
def test_a_result_is_there_when_it_is_whole(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file gets its name only when it is complete, on every kind of file system."""
    from brickwork import ray as bwray
    from brickwork.ray import files
    from pyarrow import fs

    place = {"path": str(tmp_path), "uri": tmp_path.as_uri(), "other": "other://folder"}[kind]
    if kind == "other":
        system = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
        monkeypatch.setattr(files, "_filesystem", lambda path: (system, "folder"))
    sink = bwray.Folder(place)
    sink.write(2, [1, 2])
    assert sink.has(2) and not sink.has(1)
    (written,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert written.name == "part-00002.json" and json.loads(written.read_text()) == [1, 2]

    def broken(*_: Any) -> None:
        raise OSError("no space")

    monkeypatch.setattr(os, "replace", broken)
    if kind == "other":
        monkeypatch.setattr(files, "_filesystem", lambda path: (Broken(system), "folder"))
    with pytest.raises((bw.ResourceError, OSError)):
        sink.write(1, [3])
    assert not sink.has(1)


class Broken:
    """A file system on which no file gets its final name."""

    type_name = "subtree"

    def __init__(self, system: Any) -> None:
        self._system = system

    def __getattr__(self, name: str) -> Any:
        if name == "move":
            raise OSError("no space")
        return getattr(self._system, name)
