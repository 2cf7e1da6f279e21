"""ddtrace_reads.py FILE SECONDS: reads FILE past the page cache under spans of ddtrace's, one within another; it knows nothing of stallprof. Prints for
each span {"span", "trace_id", "span_id", "least_ns", "most_ns"}: its own time, less that of the span within it, by clocks just inside of the span
and just outside. The first span begins when it has read for a second: on a busy host a profiler meets ddtrace's library some time after it was
mapped, and its spans from then on."""
import json
import mmap
import os
import sys
import time

from ddtrace import tracer

FILE = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
BUFFER = mmap.mmap(-1, 1 << 16)
BLOCKS = os.fstat(FILE).st_size // len(BUFFER)


def read_for(seconds):
    until, block = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        os.preadv(FILE, [BUFFER], block % BLOCKS * len(BUFFER))
        block += 1


def under_span(name, seconds, within=None):
    """Returns how long all of it took, at least and at most."""
    before = time.monotonic_ns()
    with tracer.trace(name) as span:
        begin = time.monotonic_ns()
        read_for(seconds)
        inner = under_span(*within) if within else (0, 0)
        least = time.monotonic_ns() - begin
    most = time.monotonic_ns() - before
    print(json.dumps({"span": name, "trace_id": f"{span.trace_id:032x}", "span_id": f"{span.span_id:016x}",
                      "least_ns": least - inner[1], "most_ns": most - inner[0]}), flush=True)
    return least, most


SECONDS = float(sys.argv[2])
read_for(1)
under_span("step", SECONDS, ("shard", 2 * SECONDS))
under_span("checkpoint", SECONDS)
