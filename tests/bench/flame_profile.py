"""flame_profile.py FILE [STACKS]: writes a profile of so many different stacks (100,000), like those of a training host: loaders and
a training loop in Python, C code below it, the kernel inside; 40 frames each, four causes, 120 slices of a second."""
import functools
import os
import random
import sys

sys.path.insert(0, f"{os.path.dirname(os.path.abspath(__file__))}/../e2e")
from pprof_writer import Profile  # noqa: E402

START = 1_700_000_000
CLASSES = ["loader", "train_step", "checkpoint_write", "data_load"]
CAUSES = [("block_io", "vda"), ("block_io", "nvme0n1"), ("writeback", "vda"), ("throttle", "vda")]


@functools.lru_cache(None)
def frame(kind, level, choice):
    if kind == "python":
        return ((f"Module{level}.method_{choice}", f"/srv/train/module_{level}.py", 10 + choice),)
    if kind == "native":
        inlined = (f"inline_{level}_{choice}", "/usr/src/torch/aten.h", choice)
        outer = (f"torch::function_{level}_{choice}", "/usr/src/torch/aten.cpp", 100 + choice)
        return (inlined, outer) if choice % 3 == 0 else (outer,)
    return ((f"kernel_{level}_{choice}", "kernel/sched/core.c", choice),)


def stack(random_source):
    """Innermost first. Choices are skewed, as calls are: few are taken mostly."""
    frames = [frame("native", 0, 0)]
    for level in range(1, 40):
        kind = "python" if level < 20 else "native" if level < 32 else "kernel"
        choice = min(int(random_source.expovariate(1.2 if level % 4 == 0 else 4)), 11)
        frames.append(frame(kind, level, choice))
    return tuple(reversed(frames))


def write(path, stacks=100_000):
    source, seen, profile = random.Random(7), set(), Profile()
    while len(seen) < stacks:
        one = stack(source)
        if one in seen:
            continue
        seen.add(one)
        (cause, device), number = source.choice(CAUSES), len(seen)
        profile.sample(one, [1, source.randint(100_000, 20_000_000), 0], ai_tag=source.choice(CLASSES), stall=cause, device=device,
                       pid=1000 + number % 16, at=START + number % 120)
    profile.note("stallprof.format 2")
    profile.note(f"stallprof.covered first_ns={START}000000000 last_ns={START + 120}000000000 covered_ns=120000000000 windows=1")
    for name in CLASSES:
        for number, (cause, device) in enumerate(CAUSES):
            profile.note(f"stallprof.ledger tag={name} id=0000000000000001 pid={1000 + number} start=5 class={name} comm=python3 state=stall "
                         f"cause={cause} device={device} ns={60_000_000_000} count=6000")
    return profile.save(path)


if __name__ == "__main__":
    write(sys.argv[1], *map(int, sys.argv[2:]))
