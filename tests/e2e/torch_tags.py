"""torch_tags.py: what stalltag.torch makes of PyTorch's ranges, as "WHAT: yes" or "WHAT: NO (why)", one a line. Run by test_torch_tags,
under a Python that has torch; with --work it does a little work under ranges, for a recording."""
import os
import sys
import tempfile
import threading
import time

import stalltag

imported_alone = "torch" not in sys.modules

import torch  # noqa: E402
import torch.profiler  # noqa: E402
from torch.profiler import record_function  # noqa: E402  before the ranges are taken over

import stalltag.torch  # noqa: E402
from torch_tags_spy import Spied, say  # noqa: E402


class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        return torch.ones(2)


def ranges():
    with record_function("outer"):
        with record_function("inner"):
            pass


def check_ranges():
    with Spied() as said:
        ranges()
        say("no range is a tag before it is asked for", said, [])
    with stalltag.torch.record_functions(), Spied() as said:
        ranges()
        say("nested ranges are nested tags", said, ["outer", "inner", "pop", "pop"])
    with Spied() as said:
        ranges()
        say("after stop() there are none", said, [])
    with stalltag.torch.record_functions(["in*"], id=lambda: 7), Spied() as said:
        ranges()
        say("names choose, id() gives the id", said, [("inner", 7), "pop"])
    with stalltag.torch.record_functions(["inner"]), stalltag.torch.record_functions(id=lambda: 8), Spied() as said:
        ranges()
        say("of two selections the first that takes a range decides, once", said, [("outer", 8), "inner", "pop", "pop"])
    try:
        stalltag.torch.record_functions("inner")
        say("a text in place of a list is refused", "taken", "refused")
    except TypeError as error:
        say("a text in place of a list is refused", "list of globs" in str(error), True)


def check_exceptions():
    with stalltag.torch.record_functions(), Spied() as said:
        try:
            with record_function("outer"):
                raise KeyError("the program's own")
        except KeyError as error:
            say("an exception ends the tag and passes", (said, str(error)), (["outer", "pop"], "\"the program's own\""))
    with stalltag.torch.record_functions(id=lambda: 1 / 0), Spied() as said:
        ranges()
        say("an id() that fails costs the tag alone", said, [])
    chosen = stalltag.torch.record_functions()
    with Spied() as said:
        with record_function("outer"):
            chosen.stop()
        say("stop() within a range leaves its end", said, ["outer", "pop"])
    with Spied() as said:
        with record_function("outer"):
            chosen = stalltag.torch.record_functions()
        chosen.stop()
        say("a range that goes on at the begin has no tag and no pop", said, [])
    with stalltag.torch.record_functions(), Spied() as said:
        with record_function("a\0b"):
            pass
        say("a NUL in a name is left out", said, ["ab", "pop"])


def check_order():
    with stalltag.torch.record_functions(), Spied() as said:
        outer, inner = record_function("outer"), record_function("inner")
        outer.__enter__()
        inner.__enter__()
        outer.__exit__(None, None, None)
        say("a range that ends before one that began later takes no other's tag", (said, stalltag.depth()),
            (["outer", "inner", "pop", "pop", "inner"], 1))
        inner.__exit__(None, None, None)
    schedule = torch.profiler.schedule(wait=9, warmup=1, active=1)  # so the profiler only counts steps
    with stalltag.torch.record_functions(["own_step", "ProfilerStep#*"]), Spied() as said:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], schedule=schedule) as profiler:
            with record_function("own_step"):
                profiler.step()
        say("torch.profiler's step() within a range of the loop leaves each its tag", said,
            ["profiler_step", "own_step", "pop", "pop", "own_step", ("profiler_step", 1), "pop", "pop", ("profiler_step", 1), "pop"])
    with stalltag.torch.record_functions(["ProfilerStep#*"]), Spied() as said:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], schedule=schedule) as profiler:
            with stalltag.tag("own_step"):
                profiler.step()
        say("and so within a tag of the loop", said,
            ["profiler_step", "own_step", ("profiler_step", 1), "pop", "pop", "pop", ("profiler_step", 1), "pop"])
    with stalltag.torch.record_functions(), Spied() as said:
        for name in ("FSDP::all_gather (layers.3)", "Forward 3"):
            with record_function(name):
                pass
        say("ranges of each layer and microbatch are one class", said, ["FSDP::all_gather/layers.3", "pop", "Forward/3", "pop"])


@record_function("decorated")
def decorated(depth):
    return depth and decorated(depth - 1)


def scripted(x):
    with torch.autograd.profiler.record_function("scripted"):
        return x + 1


def check_uses():
    with stalltag.torch.record_functions(), Spied() as said:
        decorated(0)
        say("a decorated function's calls are tags", said, ["decorated", "pop"])
    other = []
    with stalltag.torch.record_functions():
        def work():
            with record_function("of its thread"):
                other.append(stalltag.depth())
        thread = threading.Thread(target=work)
        with record_function("outer"):
            thread.start()
            thread.join()
        say("each thread has its own", (other, stalltag.depth()), ([1], 0))
    with stalltag.torch.record_functions():
        try:
            say("functions with ranges can be scripted", float(torch.jit.script(scripted)(torch.zeros(1))), 1.0)
        except Exception as error:
            say("functions with ranges can be scripted", f"{type(error).__name__}: {error}", 1.0)
    with stalltag.torch.record_functions(), Spied() as said:
        parameter = torch.nn.Parameter(torch.ones(2))
        optimizer = torch.optim.SGD([parameter], lr=0.1)
        for batch in torch.utils.data.DataLoader(Samples()):
            (parameter * batch).sum().backward()
            optimizer.step()
        # The fourth call of the loader finds that it is at its end.
        tags = [each for each in said if each != "pop"]
        say("the loader's and the optimizer's own ranges have short names",
            (tags, said.count("pop")), (["data_load", "optimizer_step/SGD"] * 3 + ["data_load"], 7))


@stalltag.tagged("decorated")
def doubled(x):
    return x * 2


def compiled(x):
    with stalltag.tag("made", id=3):
        return doubled(x) + 1


def compiled_in_parts(x):
    with stalltag.tag("made", id=3):
        y = doubled(x)
        torch._dynamo.graph_break()
        return y + 1


def check_compiled():
    if not hasattr(getattr(torch, "compiler", None), "is_dynamo_compiling"):
        print(f"# torch {torch.__version__} does not compile: no check of tags in compiled code")
        return
    with Spied() as said:
        try:
            say("tags in compiled code do not break its graph, and do nothing",
                (float(torch.compile(compiled, backend="eager", fullgraph=True)(torch.ones(1))), said), (3.0, []))
        except Exception as error:
            say("tags in compiled code do not break its graph, and do nothing", f"{type(error).__name__}: {error}"[:300], "compiled")
    with Spied() as said:
        value = float(torch.compile(compiled_in_parts, backend="eager")(torch.ones(1)))
        say("what falls back to Python within a tag has a balance", (value, said.count("pop") * 2, stalltag.depth()), (3.0, len(said), 0))


def check_cost():
    """Of a range, in nanoseconds: alone, with the functions in place, and with a tag."""
    def one():
        with record_function("x"):
            pass

    def ns():
        times = []
        for _ in range(5):
            began = time.perf_counter_ns()
            for _ in range(2000):
                one()
            times.append((time.perf_counter_ns() - began) / 2000)
        return min(times)

    without = ns()
    with stalltag.torch.record_functions(["others"]):
        passed = ns()
    with stalltag.torch.record_functions():
        tagged = ns()
    print(f"# torch {torch.__version__}: a range takes {without:.0f} ns, not chosen {passed:.0f} ns, with its tag {tagged:.0f} ns")


def work():
    """For a recording: each range sleeps or writes for a known time."""
    with tempfile.TemporaryFile(dir=os.environ["WORK_DIR"]) as file, stalltag.torch.record_functions(id=lambda: 5):
        for _ in range(10):
            with record_function("train_step"):
                time.sleep(0.01)
                with record_function("checkpoint_write/run1"):
                    file.write(b"x" * 100000)
                    file.flush()
                    os.fsync(file.fileno())
                    time.sleep(0.02)


def main():
    say("import stalltag imports no torch", imported_alone, True)
    if "--work" in sys.argv:
        work()
    check_ranges()
    check_exceptions()
    check_order()
    check_uses()
    check_compiled()
    say("no tag is left", (stalltag.depth(), stalltag.losses()["stray_pops"]), (0, 0))
    check_cost()


main()
