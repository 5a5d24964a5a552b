"""A job: this party's coordinator in the driver, and its lanes as actors."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import _native, errors
from .._tasks import Watch, wait
from ..errors import ResourceError, UsageError
from ..programs import as_program
from ..runs import AnyProgram, Record
from .files import Sink, Source
from .lane import Guarded

_PATIENCE = 30.0
"""Seconds that reading a stock's log may take."""

_STOPPING = 2.0
"""Seconds that a lane may take to stop before it is killed. If it is killed, it may miss a failed check of
its peer. Therefore its lane does not use its stock again, and a new one is made.
"""

_LOOK_EVERY = 2.0
"""Seconds between two checks whether this driver's own machine is part of the cluster."""


class JobIncomplete(errors.Error):
    """Some partitions are not complete. The message names the partitions in doubt, and explains how to
    continue.

    Attributes:
        job: the results of the job so far.
    """

    code = 1
    job: Job


@dataclass(frozen=True)
class Job:
    """The result of a job.

    Attributes:
        job: its identifier.
        done: partitions whose outputs both parties have.
        open: partitions that did not run.
        in_doubt: partitions whose lanes were lost while they ran.
        rows: the number of rows of all partitions.
        seconds: the duration of this call.
        security: shares of the promise, the number of charged shares, and the resulting bound.
    """

    job: str
    done: int
    open: int
    in_doubt: tuple[int, ...]
    rows: int
    seconds: float
    security: Record = field(repr=False)


def _job(found: Mapping[str, Any]) -> Job:
    partitions = found["partitions"]
    return Job(
        found["job"],
        partitions["done"],
        partitions["open"],
        tuple(partitions["in_doubt"]),
        found["rows"],
        found["seconds"],
        Record(found["security"]),
    )


@dataclass
class _Actor:
    """A lane's actor, with its remaining calls."""

    handle: Any
    attempt: int
    waiting: list[tuple[str, tuple[Any, ...]]]
    doing: tuple[str, tuple[Any, ...]] | None = None
    killed_at: float | None = None
    """The time at which it is killed if it was asked to stop."""


class _Workers:
    """The workers of this party as actors. The native coordinator calls these methods from a thread of its
    own; orders and news are JSON.
    """

    def __init__(self, plan: Mapping[str, Any], stands: Callable[[dict[str, int]], None] | None) -> None:
        self._plan, self._stands = plan, stands
        self._request: Mapping[str, Any] = plan["request"]
        self._rows: list[int] = self._request["rows"]
        self._job = self._terms = ""
        self._ended = False
        self._lanes: dict[int, _Actor] = {}
        self._machines = _Machines(os.path.join(self._request["folder"], "machines.json"))
        self._futures: dict[Any, int] = {}
        self._news: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._metrics = _Metrics()
        self._node = _own_node()
        self._next_look = 0.0
        self.refused: errors.Error | None = None
        """The reason why the job does not continue, if the coordinator does not know it."""

    # Methods that the coordinator calls.

    def begins(self, job: str, terms: str) -> None:
        self._job, self._terms = job, terms

    def kept(self) -> list[int]:
        sink: Sink = self._plan["sink"]
        return [partition for partition in range(len(self._rows)) if sink.has(partition)]

    def obey(self, order: str) -> None:
        ((what, fields),) = json.loads(order).items()
        lane: int = fields["lane"]
        if what == "start":
            with self._refusing():
                self._start(lane, fields["attempt"], fields["address"])
        elif what == "fill":
            self._then(lane, "fill", fields["partitions"])
        elif what == "run":
            self._then(lane, "run", fields["partition"], self._rows[fields["partition"]])
        elif what == "stop":
            self._stop(lane)

    def look(self, lane: int, attempt: int, partition: int) -> bool:
        import ray

        self._finish([lane])
        if not self._machines.has(lane):
            # The stock is only on that machine. The stock of another machine may be older.
            return True
        actor = self._actor(lane, self._machines.of(lane))
        try:
            # Stock that another process has, or has not released, may have been taken.
            end = time.monotonic() + _PATIENCE
            while True:
                kind, found = ray.get(actor.call.remote("look", attempt, partition), timeout=_PATIENCE)
                if kind == "done" and not found:
                    return False
                if time.monotonic() > end or kind == "done":
                    return True
                time.sleep(0.2)
        except Exception:
            return True
        finally:
            ray.kill(actor, no_restart=True)

    def news(self, patience: float) -> list[str]:
        import ray

        if not self._ended:
            with self._refusing():
                self._check_node()
        self._lose_patience()
        if self._futures:
            ready, _ = ray.wait(list(self._futures), num_returns=1, timeout=patience)
            for future in ready:
                self._answered(self._futures.pop(future), future)
        elif self._news.empty():
            time.sleep(patience)
        told = []
        while not self._news.empty():
            told.append(json.dumps(self._news.get()))
        return told

    def stands(self, progress: str) -> None:
        stands = json.loads(progress)
        self._metrics.stands(stands)
        if self._stands is not None:
            self._stands(stands)

    def end(self) -> None:
        self._ended = True
        self._finish(list(self._lanes))

    @contextlib.contextmanager
    def _refusing(self) -> Iterator[None]:
        """Keeps the reason, because the coordinator only learns that the driver ended."""
        try:
            yield
        except errors.Error as error:
            self.refused = error
            raise

    def _check_node(self) -> None:
        """Checks that Ray still starts tasks of this driver. Without its own raylet, Ray starts nothing and
        does not report it.
        """
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _LOOK_EVERY
        if self._node not in _alive():
            hint = "start both parties again with the same arguments: the job continues from the ledger"
            raise ResourceError("Ray has lost the machine of this driver", hint)

    # Methods about actors.

    def _actor(self, lane: int, node: str | None) -> Any:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        plan = self._plan
        threads = self._request["workers"]["threads"]
        options = {"num_cpus": threads, "scheduling_strategy": "SPREAD", **plan["lane_options"]}
        if node is not None:
            options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(node, soft=False)
        request = {"request": self._request, "job": self._job, "terms": self._terms, "lane": lane}
        # The program is an argument and not an object of Ray's store, because the driver would be lost with
        # the machine of such an object.
        arguments = (request, plan["program"], plan["source"], plan["sink"])
        # The coordinator restarts a lost lane from the ledger; Ray never does.
        fixed = {"max_restarts": 0, "max_task_retries": 0, "max_concurrency": 2}
        return ray.remote(Guarded).options(**{**options, **fixed}).remote(*arguments)

    def _start(self, lane: int, attempt: int, address: str | None) -> None:
        self._finish([lane])
        listen = self._plan["lanes_listen"] if address is None else None
        if address is not None:
            address = _checked(address, self._plan["peer_hosts"])
        if self._machines.lost(lane):
            # The lane's stock is lost with its machine, so the next stock is made elsewhere.
            self._machines.forget(lane)
            self._news.put({"gone": {"lane": lane, "attempt": attempt, "cause": "stock"}})
            return
        handle = self._actor(lane, self._machines.of(lane))
        self._lanes[lane] = _Actor(handle, attempt, [])
        for call in (("node", ()), ("start", (attempt, listen, address)), ("meet", ())):
            self._then(lane, call[0], *call[1])

    def _then(self, lane: int, method: str, *arguments: Any) -> None:
        if (actor := self._lanes.get(lane)) is not None:
            actor.waiting.append((method, arguments))
            self._go_on(lane)

    def _go_on(self, lane: int) -> None:
        actor = self._lanes[lane]
        if actor.doing is None and actor.waiting:
            actor.doing = actor.waiting.pop(0)
            method, arguments = actor.doing
            self._futures[actor.handle.call.remote(method, *arguments)] = lane

    def _answered(self, lane: int, future: Any) -> None:
        import ray

        actor = self._lanes[lane]
        assert actor.doing is not None
        method, arguments = actor.doing
        try:
            kind, given = ray.get(future)
        except Exception:
            # The actor is gone, with its process or its machine.
            kind, given = "gone", "line"
        is_stopped = actor.killed_at is not None
        if kind == "gone":
            self._lost(lane, "stopped" if is_stopped and given == "line" else given)
            return
        actor.doing = None
        name = {"lane": lane, "attempt": actor.attempt}
        if method == "node":
            self._machines.note(lane, given)
        elif method == "start" and given is not None:
            host, port = given.rsplit(":", 1)
            address = f"{self._plan['advertise'] or host}:{port}"
            self._news.put({"listens": {**name, "address": address}})
        elif method == "fill":
            self._news.put({"filled": name})
        elif method == "run":
            self._metrics.ran(arguments[1], given)
            self._news.put({"done": {**name, "partition": arguments[0]}})
        if is_stopped:
            self._lost(lane, "stopped")
        else:
            self._go_on(lane)

    def _stop(self, lane: int) -> None:
        """Asks a lane's actor to stop. Its own report is read first, so a failed check is never mistaken for
        a stop that the peer requested.
        """
        if (actor := self._lanes.get(lane)) is None or actor.killed_at is not None:
            return
        if actor.doing is None:
            self._lost(lane, "stopped")
            return
        actor.killed_at = time.monotonic() + _STOPPING
        actor.waiting.clear()
        actor.handle.call.remote("stop")

    def _finish(self, lanes: Sequence[int]) -> None:
        """Ends the actors of lanes, and waits for their reports."""
        import ray

        for lane in lanes:
            self._stop(lane)
        end = time.monotonic() + _STOPPING
        while futures := [future for future, lane in self._futures.items() if lane in lanes]:
            ready, _ = ray.wait(futures, num_returns=1, timeout=max(0.0, end - time.monotonic()))
            if not ready:
                break
            for future in ready:
                self._answered(self._futures.pop(future), future)
        for lane in lanes:
            self._kill(lane)

    def _lose_patience(self) -> None:
        """Kills actors that were asked to stop long ago."""
        now = time.monotonic()
        for lane, actor in list(self._lanes.items()):
            if actor.killed_at is not None and now > actor.killed_at:
                self._kill(lane)

    def _kill(self, lane: int) -> None:
        """Ends an actor that does not stop. An actor that has not started yet has seen nothing."""
        if (actor := self._lanes.get(lane)) is not None:
            is_there = actor.doing is None or actor.doing[0] != "node"
            self._lost(lane, "stock" if is_there else "stopped")

    def _lost(self, lane: int, cause: str) -> None:
        """Ends a lane's actor, and reports that it is gone."""
        import ray

        if (actor := self._lanes.pop(lane, None)) is None:
            return
        for future in [future for future, of in self._futures.items() if of == lane]:
            del self._futures[future]
        ray.kill(actor.handle, no_restart=True)
        self._news.put({"gone": {"lane": lane, "attempt": actor.attempt, "cause": cause}})


class _Machines:
    """The machine of each lane, and so the log of its stock. It is kept after a restart of the driver, too.

    Args:
        path: a file of the driver's.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._nodes: dict[int, str] = {}
        self._told: set[int] = set()
        if os.path.exists(path):
            with open(path) as file:
                self._nodes = {int(lane): node for lane, node in json.load(file).items()}

    def note(self, lane: int, node: str) -> None:
        """Stores the machine of a lane, durably, before anything runs there."""
        self._told.add(lane)
        if self._nodes.get(lane) == node:
            return
        self._nodes[lane] = node
        with tempfile.NamedTemporaryFile("w", dir=os.path.dirname(self._path), delete=False) as file:
            json.dump(self._nodes, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(file.name, self._path)

    def of(self, lane: int) -> str | None:
        """Returns the machine of a lane, or None if the lane may run anywhere."""
        return self._nodes[lane] if self.has(lane) else None

    def has(self, lane: int) -> bool:
        """Returns whether a lane has a machine, and this machine is available."""
        return self._nodes.get(lane) in _alive()

    def lost(self, lane: int) -> bool:
        """Returns whether a lane's machine has gone while this driver works. For an earlier cluster this is
        unknown, because a new cluster gives its machines new names.
        """
        return lane in self._told and not self.has(lane)

    def forget(self, lane: int) -> None:
        """Allows a lane to run on any machine."""
        self._told.discard(lane)


def _alive() -> set[str]:
    import ray

    nodes: Any = ray.nodes
    return {node["NodeID"] for node in nodes() if node["Alive"]}


def _own_node() -> str:
    import ray

    context: Any = ray.get_runtime_context()
    node: str = context.get_node_id()
    return node


class _Metrics:
    """Reports counts and times of a job through Ray's own metrics."""

    def __init__(self) -> None:
        from ray.util.metrics import Counter, Gauge, Histogram

        self._partitions = Gauge("brickwork_partitions", "Partitions of the job.", tag_keys=("state",))
        self._shares = Gauge("brickwork_shares_spent", "Shares of the job's promise that are used.")
        self._rows = Counter("brickwork_rows", "Rows of partitions that are done.")
        bounds = [0.1, 0.3, 1, 3, 10, 30, 100, 300]
        self._seconds = Histogram("brickwork_partition_seconds", "Time of a partition.", boundaries=bounds)

    def stands(self, progress: Mapping[str, int]) -> None:
        for state in ("done", "claimed", "open", "in_doubt"):
            self._partitions.set(progress[state], tags={"state": state})
        self._shares.set(progress["spent"])

    def ran(self, rows: int, seconds: float) -> None:
        self._rows.inc(rows)
        self._seconds.observe(seconds)


def _checked(address: str, hosts: Sequence[str]) -> str:
    """Returns the address of the peer's lane, which the peer names: one of the known hosts, and a port."""
    host, _, port = address.rpartition(":")
    if host not in hosts:
        raise UsageError(
            "the peer names a host that is not in peer_hosts",
            "add the host to peer_hosts if it belongs to the peer; otherwise stop the job",
        )
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) < 1 << 16):
        raise UsageError("the peer names an invalid port", "find out why before you continue with this peer")
    return f"{host}:{int(port)}"


def _cluster() -> str | None:
    """Returns the address of the cluster to join: the one that Ray finds, or none if that cluster is gone.

    Ray leaves a file with the address of the last cluster of this machine. If that cluster was killed, Ray
    searches for it for minutes. So this checks first whether anything listens there.
    """
    if os.environ.get("RAY_ADDRESS"):
        return None
    places = ["RAY_TMPDIR", *(["TMPDIR"] if sys.platform == "linux" else [])]
    folder = next((os.environ[place] for place in places if place in os.environ), "/tmp")
    try:
        with open(os.path.join(folder, "ray", "ray_current_cluster"), encoding="utf-8") as file:
            host, _, port = file.read().strip().rpartition(":")
    except (OSError, UnicodeDecodeError):
        return None
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
    except (OSError, OverflowError, ValueError):
        return "local"
    return None


def _coordinate(
    program: AnyProgram,
    rows: Sequence[int],
    source: Source | None,
    sink: Sink,
    *,
    role: str,
    peer: str,
    identity: str | os.PathLike[str],
    store_key: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    lanes: int,
    retries: int | None,
    security: int,
    listen: str | None,
    connect: str | None,
    advertise: str | None,
    lanes_listen: str,
    peer_hosts: Sequence[str],
    threads: int,
    timeout: int,
    lane_options: Mapping[str, Any] | None,
    rerun: Sequence[int],
    only_fill: bool,
    at_once: int | None,
    listening: Callable[[str], None] | None,
    stands: Callable[[dict[str, int]], None] | None,
    deadline: float | None,
) -> Job:
    ray = errors.needed("ray", "a job", "'brickwork[ray]'")
    if (listen is None) == (connect is None):
        raise UsageError(
            "give a party either listen or connect",
            "give listen='HOST:PORT' at one party, and connect='HOST:PORT' at the other",
        )
    if not ray.is_initialized():
        ray.init(address=_cluster(), include_dashboard=False, log_to_driver=False)
    found = as_program(program)
    place = os.path.abspath(os.fspath(folder))
    os.makedirs(place, exist_ok=True)
    # This is brickwork::jobs::JobRequest, for the coordinator and for each worker.
    request: dict[str, Any] = {
        "role": role,
        "identity": os.fspath(identity),
        "peer": peer,
        "lanes": lanes,
        "retries": retries,
        "security": security,
        "rows": list(rows),
        "at_once": at_once,
        "folder": place,
        "store_key": os.fspath(store_key),
        "control": {"listen": listen, "connect": connect, "timeout": timeout},
        "workers": {"threads": threads, "timeout": timeout},
    }
    hosts = list(peer_hosts) + ([connect.rsplit(":", 1)[0]] if connect is not None else [])
    plan: dict[str, Any] = {
        "request": request,
        "program": found.unchanged().native.compiled(),
        "source": source,
        "sink": sink,
        "lanes_listen": lanes_listen,
        "advertise": advertise,
        "peer_hosts": hosts,
        "lane_options": dict(lane_options or {}),
    }
    workers = _Workers(plan, stands)
    try:
        task = _native.coordinate(json.dumps(request), found.native, list(rerun), only_fill, workers)
        return _job(wait(task, Watch(listening=listening, deadline=deadline)).json)
    except errors.Error as error:
        if workers.refused is not None:
            raise workers.refused from None
        if (state := getattr(error, "stands", None)) is None:
            raise
        incomplete = JobIncomplete(str(error.args[0]), error.hint)
        incomplete.job = _job(state)
        raise incomplete from None


def map_partitions(
    program: AnyProgram,
    source: Source | Sequence[int],
    sink: Sink,
    *,
    role: str,
    peer: str,
    identity: str | os.PathLike[str],
    store_key: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    lanes: int = 4,
    retries: int | None = None,
    security: int = 40,
    listen: str | None = None,
    connect: str | None = None,
    advertise: str | None = None,
    lanes_listen: str = "127.0.0.1:0",
    peer_hosts: Sequence[str] = (),
    threads: int = 1,
    timeout: int = 30,
    lane_options: Mapping[str, Any] | None = None,
    rerun: Sequence[int] = (),
    at_once: int | None = None,
    listening: Callable[[str], None] | None = None,
    stands: Callable[[dict[str, int]], None] | None = None,
    deadline: float | None = None,
) -> Job:
    """Runs a program over two parties' tables, partition by partition; the peer calls the same.

    After any failure, call it again with the same arguments: it continues from the ledger in `folder`.

    Args:
        program: the program; each row is an execution of it.
        source: this party's rows, or the number of rows of each partition if it has no inputs.
        sink: the sink of this party's outputs.
        role: `garbler` or `evaluator`; the peer has the other one.
        peer: the peer's public key, or `@FILE`.
        identity: the file of this party's key, on every machine.
        store_key: the file of the stores' key, on every machine.
        folder: the ledger on this machine, and the stores of the lanes on theirs.
        lanes: the number of lanes that work side by side, the same at the peer.
        retries: additional stocks for lanes that are lost; a quarter of the lanes if None.
        security: the statistical security of the whole job, in bits.
        listen: the address at which this coordinator waits for the peer's; then its lanes wait, too.
        connect: the address at which the peer's coordinator waits.
        advertise: the host by which the peer reaches this party's lanes.
        lanes_listen: the address at which lanes listen on their machines.
        peer_hosts: hosts that this party's lanes may connect to.
        threads: the number of threads of each lane.
        lane_options: options of Ray for each lane's actor, such as `resources` or `memory`.
        rerun: partitions in doubt that are to run again; the peer must name them, too.
        at_once: the number of lanes that have work or stock at a time, if not all; the garbler's counts.
        listening: called with `HOST:PORT` once this coordinator listens.
        stands: called with the number of partitions in each state, whenever it changes.
        deadline: seconds that it may take.

    Raises: JobIncomplete: if partitions are in doubt, all shares are charged, or results are gone.
        PeerCheated: if a check failed: the job is over.
    """
    rows = list(source) if isinstance(source, Sequence) else list(source.rows())
    return _coordinate(
        program,
        rows,
        None if isinstance(source, Sequence) else source,
        sink,
        role=role,
        peer=peer,
        identity=identity,
        store_key=store_key,
        folder=folder,
        lanes=lanes,
        retries=retries,
        security=security,
        listen=listen,
        connect=connect,
        advertise=advertise,
        lanes_listen=lanes_listen,
        peer_hosts=peer_hosts,
        threads=threads,
        timeout=timeout,
        lane_options=lane_options,
        rerun=rerun,
        only_fill=False,
        at_once=at_once,
        listening=listening,
        stands=stands,
        deadline=deadline,
    )


class _Nowhere:
    """The sink of a job that runs nothing."""

    def write(self, partition: int, outputs: Any) -> None:
        raise UsageError("a job that only fills stock runs no partitions", "call map_partitions")

    def has(self, partition: int) -> bool:
        return False


def fill(
    program: AnyProgram,
    rows: Sequence[int],
    *,
    role: str,
    peer: str,
    identity: str | os.PathLike[str],
    store_key: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    lanes: int = 4,
    retries: int | None = None,
    security: int = 40,
    listen: str | None = None,
    connect: str | None = None,
    advertise: str | None = None,
    lanes_listen: str = "127.0.0.1:0",
    peer_hosts: Sequence[str] = (),
    threads: int = 1,
    timeout: int = 30,
    lane_options: Mapping[str, Any] | None = None,
    listening: Callable[[str], None] | None = None,
    stands: Callable[[dict[str, int]], None] | None = None,
    deadline: float | None = None,
) -> Job:
    """Makes the stocks of a job's lanes, for `map_partitions` with the same folder and the same rows.

    Args:
        rows: the number of rows of each partition.

    The others are those of `map_partitions`.
    """
    return _coordinate(
        program,
        list(rows),
        None,
        _Nowhere(),
        role=role,
        peer=peer,
        identity=identity,
        store_key=store_key,
        folder=folder,
        lanes=lanes,
        retries=retries,
        security=security,
        listen=listen,
        connect=connect,
        advertise=advertise,
        lanes_listen=lanes_listen,
        peer_hosts=peer_hosts,
        threads=threads,
        timeout=timeout,
        lane_options=lane_options,
        rerun=(),
        only_fill=True,
        at_once=None,
        listening=listening,
        stands=stands,
        deadline=deadline,
    )
