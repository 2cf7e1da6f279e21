"""Calls of a driver's library, on kernels that the host is not: by perf events before Linux 6.6, and with verifiers that know less. The
library is the stand-in of tests/e2e/libraries, where the rest of this cause's tests are."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "e2e", "libraries"))
import libraries  # noqa: E402

BUILD = sys.argv[1]
CUDA = libraries.build(BUILD, "standin_cuda", sources=["standin_cuda.c"], library="libcuda.so.1")
WAITS = libraries.build(BUILD, "gpu_waits")
HOWS = {"sleep": ["cuStreamSynchronize"], "nested": ["cuStreamSynchronize", "cuMemcpyDtoH_v2"], "jump": []}
# A guest attaches late: it emulates its CPU.
GUEST = "\n".join(f"record {how} {WAITS} library={CUDA} how={how} ms=200 tagged_ms=5000" for how in HOWS)


def check(case):
    for how, functions in HOWS.items():
        top, spans, calls = case.recorded(how)
        span, inside = spans[0], calls[0]
        states = {hook["hook"]: hook["state"] for hook in top["stamp"]["hooks"]}
        case.tap.check(states.get("uprobe/libcuda.so") == "attached", f"{how}: the library's functions are attached to", states)
        case.check_ledger(top, span)
        told = case.ns(top, how, "gpu_sync")
        if how == "jump":
            case.tap.check(told == 0, "jump: nothing is gpu_sync", *case.report(top, how))
            continue
        truth = inside["call_ns"] - inside["call_cpu_ns"] - inside["call_runqueue_ns"]
        case.tap.check(case.near_sleep(told, inside["call_ns"], inside["call_cpu_ns"], inside["call_runqueue_ns"]), f"{how}: what its calls slept is gpu_sync", case.off(told, truth), *case.report(top, how))
        stacks = [[frame["function"] for frame in stack["frames"]] for stack in top["stacks"] if stack["stall"] == "gpu_sync" and stack["delay_ns"]]
        case.tap.check(stacks and all(libraries.holds(stack, [*functions, "gpu_level", "main", "_start"]) for stack in stacks),
                       f"{how}: the stacks are whole", *stacks[:3])
        case.cell("gpu_sync", stalled_ns=told, clock_ns=truth, fault=f"stand-in for libcuda, {how}")
