"""A party as a Ray cluster: one program over two parties' tables, partition by partition, in many lanes.

    import brickwork as bw
    import brickwork.ray as bwray

    job = bwray.map_partitions(
        program, bwray.Files("parts/*.parquet"), bwray.Folder("results"),
        role="garbler", listen="0.0.0.0:7000", peer="@bob.pub", identity="/key/alice.key",
        store_key="/key/store.key", folder="/stock/job", lanes=16,
    )
    job.done, job.security.bound_log2

Each lane is an actor with a session, a store and secrets of its own; the peer's cluster has as many. The page
docs/guides/clusters.md describes the promise of a job, and why nothing runs twice. Programs, addresses,
numbers of partitions, paths and counters pass through Ray. Keys, stock, inputs and outputs never do: actors
read keys and inputs from files, and write outputs themselves.
"""

from .files import Files, Folder, Sink, Source
from .job import Job, JobIncomplete, fill, map_partitions

__all__ = ["Files", "Folder", "Job", "JobIncomplete", "Sink", "Source", "fill", "map_partitions"]
