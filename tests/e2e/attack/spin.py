"""A thread with no request in flight that uses a CPU is in no stall: what the cases test_inflight_* share."""
from attack import cpu_in_stall, describe, spans_of, total


def judge(case, name, top, lines, spin_ms):
    """No on-CPU sample of the tags spin-K lies in a stall, and samples are taken at all (of what is in flight, under busy-K)."""
    spins = [span["tag"] for span in spans_of(lines) if span["tag"].startswith("spin-")]
    for tag in spins:
        # The profiler counts on-CPU samples only in stalls: each would be 10 ms of the spin.
        wrong = max(cpu_in_stall(top, tag), total(top, tag, state="cpu_stall"))
        case.tap.check(wrong == 0, f"{name}: {tag}: {spin_ms} ms of pure CPU, no request in flight, are in no stall",
                       f"on-CPU in a stall {wrong / 1e9:.3f} s", *describe(top, tag))
    case.tap.check(bool(spins), f"{name}: ran")
    case.tap.note(f"{name}: {lines[-1].get('requests')} requests; of the busy part "
                  f"{sum(cpu_in_stall(top, s['tag']) for s in spans_of(lines) if s['tag'].startswith('busy-')) / 1e9:.3f} s on-CPU in stalls")
