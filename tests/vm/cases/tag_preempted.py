"""Threads that interrupt each other in the tag library's probes: none goes on under another's tag (bpf/uprobe.bpf.h says how one could)."""
import exact

KERNEL = "sid"
GUEST = """
record pushers "$PUSHERS"
"""


def check(case):
    tap = case.tap
    top, held, _ = case.recorded("pushers")
    worst = 0
    for thread in held:
        wall = sum(row["ns"] for row in top["ledger"] if row["tag"] == thread["tag"])
        off = exact.off_by(wall, thread["low_ns"], thread["high_ns"]) / thread["low_ns"]
        worst = max(worst, abs(off), key=abs)
        if abs(off) > 0.005:
            tap.check(False, f"{thread['tag']}: its time is its own", case.off(wall, thread["low_ns"]), *case.report(top, thread["tag"]))
    tap.check(len(held) == 48 and worst <= 0.005, "each thread's time is its own", f"{len(held)} threads, worst {worst:.3%}")
    tap.note(f"{case.kernel}: {len(held)} threads, worst {worst:.3%}")
