"""The checks of the Python module, run by test_stalltag_python under each Python there is. Prints "name: yes|NO"."""
import asyncio
import contextlib
import ctypes
import functools
import gc
import importlib.util
import os
import sys
import threading
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../stalltag/python"))
sys.dont_write_bytecode = True
import stalltag  # noqa: E402

library = ctypes.PyDLL(os.environ["STALLTAG_LIBRARY"])


def seen():
    """(id, name) as the calling thread's slot has it, or None."""
    pointer = ctypes.c_void_p.in_dll(library, "stalltag_thread_ctx_v1").value
    if not pointer:
        return None
    head = ctypes.string_at(pointer, 30)
    size = int.from_bytes(head[26:28], sys.byteorder)
    return int.from_bytes(head[16:24], "big"), ctypes.string_at(pointer + 30, max(size - 2, 0)).decode("utf-8")


def check_nesting():
    with stalltag.tag("checkpoint_write/step8", id=8):
        outer = seen()
        with stalltag.tag("fsync"):
            inner, depth = seen(), stalltag.depth()
        back = seen()
    return (outer, inner, depth, back, seen()) == ((8, "checkpoint_write/step8"), (0, "fsync"), 2,
                                                  (8, "checkpoint_write/step8"), None)


def check_exception():
    try:
        with stalltag.tag("a", id=1):
            with stalltag.tag("b", id=2):
                raise KeyError("x")
    except KeyError:
        return seen() is None and stalltag.depth() == 0


def check_decorator():
    @stalltag.tagged("shard_read", id=2**64 - 1)
    def read(a, *, b):
        """doc"""
        if b is None:
            raise ValueError
        return seen(), a + b

    try:
        read(1, b=None)
    except ValueError:
        pass
    return (read(1, b=2) == ((2**64 - 1, "shard_read"), 3) and seen() is None and read.__name__ == "read"
            and read.__doc__ == "doc")


def check_one_object_many_times():
    step = stalltag.tag("step", id=5)
    with step:
        with step:
            depth = stalltag.depth()
    with step as same:
        return depth == 2 and same is step and seen() == (5, "step")


def check_compiled_code_has_no_tags():
    """torch.compile cannot trace the library's functions. stalltag.torch says how to ask whether it traces."""
    @stalltag.tagged("decorated")
    def decorated():
        return seen()

    ready, held = stalltag.tag("ready", id=1), []
    try:
        for traces in (True, False):
            stalltag._traced = lambda: traces
            with ready:
                held += [seen(), decorated()]
            with stalltag.tag("made", id=2):
                held.append(seen())
    finally:
        stalltag._traced = None
    return held == [None] * 3 + [(1, "ready"), (0, "decorated"), (2, "made")] and stalltag.depth() == 0


def check_threads():
    results = []

    def work(number):
        good = seen() is None
        for i in range(200):
            with stalltag.tag("worker/%d" % i, id=number << 32 | i):
                good = good and seen() == (number << 32 | i, "worker/%d" % i)
        results.append(good)

    with stalltag.tag("main", id=1):
        threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results == [True] * 8 and seen() == (1, "main")


def check_push_and_pop():
    stalltag.push(b"bytes/too", 3)
    held = seen()
    stalltag.pop()
    return held == (3, "bytes/too") and seen() is None


def refused(error, call):
    try:
        call()
    except error:
        return stalltag.depth() == 0
    return False


def check_refusals():
    async def async_generator():
        yield 1

    def generator():
        yield 1

    class Generator:
        def __call__(self):
            yield 1

    yielding = (generator, async_generator, contextlib.contextmanager(generator), contextlib.asynccontextmanager(async_generator),
                functools.partial(contextlib.contextmanager(generator)), Generator())
    return all((refused(ValueError, lambda: stalltag.tag("x", id=2**64)), refused(ValueError, lambda: stalltag.tag("x", id=-1)),
                refused(TypeError, lambda: stalltag.tag("x", id=1.5)), refused(TypeError, lambda: stalltag.tag(None)),
                refused(ValueError, lambda: stalltag.push("a\0b")),
                *(refused(TypeError, lambda: stalltag.tagged("x")(each)) for each in yielding)))


def check_generators_that_are_run():
    """A decorator may run a generator function to its end: then a call is the work."""
    def collecting(function):
        @functools.wraps(function)
        def run():
            return list(function())

        return run

    @stalltag.tagged("collected")
    @collecting
    def depths():
        yield stalltag.depth()

    return depths() == [1] and stalltag.depth() == 0


def check_names():
    before = stalltag.losses()["names_cut"]
    with stalltag.tag("\u20ac" * 85):
        whole = seen()
    with stalltag.tag("x" + "\u20ac" * 85):
        cut = seen()
    with stalltag.tag("lone surrogate \udc80"):
        replaced = seen()
    return (whole == (0, "\u20ac" * 85) and cut == (0, "x" + "\u20ac" * 84) and replaced == (0, "lone surrogate ?")
            and stalltag.losses()["names_cut"] == before + 1)


def check_fork():
    with stalltag.tag("parent", id=4):
        child = os.fork()
        if not child:
            held = seen()
            with stalltag.tag("child", id=5):
                good = held == (4, "parent") and seen() == (5, "child")
            with open("/proc/self/maps") as maps:
                os._exit(0 if good and sum("OTEL_CTX" in line for line in maps) == 1 else 1)
        return os.waitpid(child, 0)[1] == 0 and seen() == (4, "parent")


def check_executor_under_asyncio():
    @stalltag.tagged("shard_read", id=6)
    def read():
        return seen()

    async def main():
        return await asyncio.get_running_loop().run_in_executor(None, read)

    return asyncio.run(main()) == (6, "shard_read") and seen() is None


async def see_and_wait(times, pause=0.001):
    """What the thread holds each time that the task goes on."""
    held = []
    for _ in range(times):
        held.append(seen())
        await asyncio.sleep(pause)
    return held


def check_await_switches_the_tag_with_the_task():
    async def work(number):
        async with stalltag.tag("outer", id=number):
            before = await see_and_wait(5)
            async with stalltag.tag("inner/%d" % number):
                within = await see_and_wait(5)
            return before + within + await see_and_wait(5)

    async def main():
        return await asyncio.gather(work(1), work(2), see_and_wait(15))

    async def alone():
        held = await main()
        return held + [seen()]

    expected = [[(number, "outer")] * 5 + [(0, "inner/%d" % number)] * 5 + [(number, "outer")] * 5 for number in (1, 2)]
    return asyncio.run(alone()) == expected + [[None] * 15, None] and seen() is None and stalltag.depth() == 0


def check_await_tasks_begun_inside_work_for_the_tag_until_it_ends():
    async def main():
        async with stalltag.tag("fetch", id=9):
            child = asyncio.ensure_future(see_and_wait(8, 0.005))
            await asyncio.sleep(0.012)
        return await child, seen()

    held, after = asyncio.run(main())
    return held[0] == held[1] == (9, "fetch") and held[-1] is None and after is None and stalltag.depth() == 0


def check_await_a_task_that_begins_the_next_keeps_no_ended_tags():
    """As one that is called again and again does by ensure_future() or call_later(): each has its parent's context."""
    async def work(left):
        async with stalltag.tag("step", id=left):
            following = asyncio.ensure_future(work(left - 1)) if left > 1 else None
            held = seen()
        return (await following if following else []) + [(held, len(sys.modules["stalltag._asyncio_tags"]._held.get()))]

    # One begins within the tag of the one before, so it inherits that, and no more of them.
    done = asyncio.run(work(50))
    return [held for held, _ in done] == [(n, "step") for n in range(1, 51)] and max(n for _, n in done) <= 1 and stalltag.depth() == 0


def check_await_ends_by_exceptions_and_cancelling():
    async def work():
        async with stalltag.tag("cancelled"):
            await asyncio.sleep(60)

    async def main():
        task = asyncio.ensure_future(work())
        await asyncio.sleep(0.002)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            pass
        try:
            async with stalltag.tag("raises"):
                await asyncio.sleep(0)
                raise KeyError("x")
        except KeyError:
            return seen()

    return asyncio.run(main()) is None and stalltag.depth() == 0


def check_await_tags_that_end_in_another_order():
    async def main():
        first, second = stalltag.tag("first"), stalltag.tag("second")
        await first.__aenter__()
        await second.__aenter__()
        await asyncio.sleep(0)
        both = seen()
        await first.__aexit__(None, None, None)
        await asyncio.sleep(0)
        left = seen()
        await second.__aexit__(None, None, None)
        return both, left, seen()

    return asyncio.run(main()) == ((0, "second"), (0, "second"), None) and stalltag.depth() == 0


def check_await_decorated_coroutine_functions():
    @stalltag.tagged("evaluate", id=3)
    async def evaluate(n):
        await asyncio.sleep(0)
        return seen(), n

    async def main():
        return await asyncio.gather(evaluate(1), evaluate(2)), seen()

    return asyncio.run(main()) == ([((3, "evaluate"), 1), ((3, "evaluate"), 2)], None) and evaluate.__name__ == "evaluate"


def check_await_decorated_objects_whose_call_is_a_coroutine_function():
    class Evaluation:
        async def __call__(self, n):
            await asyncio.sleep(0)
            return seen(), n

    tag = stalltag.tagged("evaluate", id=3)

    async def main():
        return await asyncio.gather(tag(Evaluation())(1), tag(functools.partial(Evaluation(), 2))()), seen()

    return asyncio.run(main()) == ([((3, "evaluate"), 1), ((3, "evaluate"), 2)], None) and stalltag.depth() == 0


def check_await_one_object_in_several_tasks():
    shared = stalltag.tag("shared", id=4)

    async def work():
        async with shared:
            return await see_and_wait(3)

    async def main():
        return await asyncio.gather(work(), work(), see_and_wait(3))

    return asyncio.run(main()) == [[(4, "shared")] * 3, [(4, "shared")] * 3, [None] * 3] and stalltag.depth() == 0


def check_await_eager_tasks_leave_nothing_to_who_began_them():
    """Python 3.12 and later: a task's first step is run within its parent's."""
    async def child(number):
        async with stalltag.tag("child", id=number):
            return await see_and_wait(3)

    async def main():
        if hasattr(asyncio, "eager_task_factory"):
            asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        async with stalltag.tag("parent", id=9):
            children = [asyncio.get_running_loop().create_task(child(number)) for number in (1, 2)]
            own = seen()
            held = await asyncio.gather(*children)
        return own, held, seen()

    return asyncio.run(main()) == ((9, "parent"), [[(1, "child")] * 3, [(2, "child")] * 3], None) and stalltag.depth() == 0


def check_await_ended_elsewhere():
    async def generator():
        async with stalltag.tag("generator"):
            yield seen()

    async def main():
        left = generator()
        first = await left.__anext__()

        async def close():
            await left.aclose()
            return seen()

        return first, await asyncio.ensure_future(close()), seen()

    first, after, last = asyncio.run(main())
    return first == (0, "generator") and after is None and last is None and stalltag.depth() == 0


def check_await_ended_elsewhere_of_a_shared_one():
    fetch = stalltag.tag("fetch")

    async def generator():
        async with fetch:
            yield seen()

    async def bystander(enter, go, done):
        await enter.wait()
        async with fetch:
            go.set()
            await done.wait()
            return seen()

    async def main():
        enter, go, done = asyncio.Event(), asyncio.Event(), asyncio.Event()
        other = asyncio.ensure_future(bystander(enter, go, done))
        async for first in generator():
            enter.set()
            await go.wait()
            break
        gc.collect()
        for _ in range(5):  # the loop closes what is thrown away in a task of its own
            await asyncio.sleep(0)
        done.set()
        return first, await other, seen()

    first, others, last = asyncio.run(main())
    return first == (0, "fetch") and others == (0, "fetch") and last is None and stalltag.depth() == 0


def check_await_in_another_loop_keeps_nothing():
    from stalltag import _asyncio_tags
    held, fetch = _asyncio_tags.begin, stalltag.tag("fetch")

    async def of_another_loop(*_):  # as in one that runs its callbacks in its own way (uvloop's): there is no tag
        return None

    async def main():
        async with fetch:
            pass

    try:
        _asyncio_tags.begin = of_another_loop
        asyncio.run(main())
    finally:
        _asyncio_tags.begin = held
    return not fetch._begun and stalltag.depth() == 0


def check_await_cancelled_before_the_block():
    async def eager():
        async with stalltag.tag("never"):
            raise AssertionError

    async def main():
        if not hasattr(asyncio, "eager_task_factory"):
            return None
        task = asyncio.eager_task_factory(asyncio.get_running_loop(), eager())
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            pass
        await asyncio.sleep(0.001)
        return seen()

    return asyncio.run(main()) is None and stalltag.depth() == 0


def check_await_one_object_in_several_threads():
    shared, wrong = stalltag.tag("shared", id=4), []

    async def blocks():
        for _ in range(2000):
            async with shared:
                if seen() != (4, "shared"):
                    wrong.append(seen())
                await asyncio.sleep(0)
            if stalltag.depth():
                wrong.append(stalltag.depth())

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    threads = [threading.Thread(target=lambda: asyncio.run(blocks())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(interval)
    return not wrong and stalltag.depth() == 0


def check_await_two_loops_begin_the_first_tags_at_once():
    """Handle._run is replaced once, though both threads find that it is not yet."""
    spec = importlib.util.find_spec("stalltag._asyncio_tags")
    fresh, meeting, replaced = importlib.util.module_from_spec(spec), threading.Barrier(2), []
    spec.loader.exec_module(fresh)

    class Handle:
        @property
        def _run(self):
            try:
                meeting.wait(0.1)
            except threading.BrokenBarrierError:
                pass  # the other one does not come

        @_run.setter
        def _run(self, value):
            replaced.append(value)

    fresh.asyncio = types.SimpleNamespace(events=types.SimpleNamespace(Handle=Handle()))
    threads = [threading.Thread(target=fresh._take_over, args=(stalltag._push, stalltag._pop)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(replaced) == 1 and fresh._push is stalltag._push


def ranges_of_torch():
    """(stalltag.torch, the class whose ranges it takes over). Of PyTorch only that is here, so that these checks run without it."""
    if "torch.autograd.profiler" not in sys.modules:
        class record_function:
            def __init__(self, name):
                self.name = name

            def __enter__(self):
                return self

            def __exit__(self, *_):
                pass

        for name in ("torch", "torch.autograd", "torch.autograd.profiler"):
            sys.modules[name] = types.ModuleType(name)
        sys.modules["torch.autograd.profiler"].record_function = record_function
    return importlib.import_module("stalltag.torch"), sys.modules["torch.autograd.profiler"].record_function


def begun(range):
    range.__enter__()
    return range


def end(*ranges):
    for each in ranges:
        each.__exit__(None, None, None)


def check_torch_ranges_end_in_any_order():
    torch, record_function = ranges_of_torch()
    with torch.record_functions():
        a, b, c = [begun(record_function(name)) for name in "abc"]
        held = []
        for each in (b, a, c):
            end(each)
            held.append((seen(), stalltag.depth()))
    return held == [((0, "c"), 2), ((0, "c"), 1), (None, 0)]


def check_torch_ranges_and_the_tag_of_a_with():
    """torch.profiler's step() within it ends a range that began before it, and begins one that outlives it."""
    torch, record_function = ranges_of_torch()
    held = []
    with torch.record_functions():
        now = begun(record_function("0"))
        for step in (1, 2, 3):
            with stalltag.tag("train_step", id=step):
                end(now)
                held.append(seen())
                now = begun(record_function(str(step)))
                held.append(seen())
            held.append((seen(), stalltag.depth()))
        end(now)
    return held == sum([[(step, "train_step"), (0, str(step)), ((0, str(step)), 1)] for step in (1, 2, 3)], []) and (
        seen(), stalltag.depth()) == (None, 0)


def check_torch_ranges_around_a_callback():
    """Lightning with profiler="pytorch": the calls that begin and end a trainer's stage are ranges themselves."""
    torch, record_function = ranges_of_torch()
    stages, held = importlib.import_module("stalltag._stages").Stages(), []
    with torch.record_functions():
        for step in (1, 2):
            call = begun(record_function("on_train_batch_start"))
            stages.begin("train_step", step)
            end(call)
            held.append(seen())
            with record_function("forward"):
                held.append(seen())
            held.append(seen())
            call = begun(record_function("on_train_batch_end"))
            stages.end("train_step")
            held.append(seen())
            end(call)
            held.append((seen(), stalltag.depth()))
    return held == sum([[(step, "train_step"), (0, "forward"), (step, "train_step"), (0, "on_train_batch_end"), (None, 0)]
                        for step in (1, 2)], [])


def check_torch_ranges_and_pops_of_other_code():
    """Of C++, say, whose pops take a range's tag for its own: what is left is popped all the same."""
    torch, record_function = ranges_of_torch()
    before = stalltag.losses()["stray_pops"]
    with torch.record_functions():
        stalltag.push("other")
        a, b = begun(record_function("a")), begun(record_function("b"))
        library.stalltag_pop()
        end(b)
        one_left = stalltag.depth()
        end(a)
        none_left = stalltag.depth()
        a = begun(record_function("a"))
        stalltag.push("other")
        end(a)
        library.stalltag_pop()
        with record_function("next"):
            depth = stalltag.depth()
    return (one_left, none_left, depth, stalltag.depth()) == (1, 0, 1, 0) and stalltag.losses()["stray_pops"] == before


def check_torch_ranges_held_across_await():
    torch, record_function = ranges_of_torch()

    async def main():
        awaits = asyncio.Event()

        async def meanwhile():
            await awaits.wait()
            return seen()

        other = asyncio.ensure_future(meanwhile())
        async with stalltag.tag("task", id=3):
            held = begun(record_function("range"))
            awaits.set()
            await asyncio.sleep(0)
            end(held)
            return await other, seen()

    with torch.record_functions():
        return asyncio.run(main()) == ((0, "range"), (3, "task")) and seen() is None and stalltag.depth() == 0


for name, check in sorted(globals().copy().items()):
    if name.startswith("check_"):
        try:
            good = check()
        except Exception as error:
            good, name = False, "%s (%r)" % (name, error)
        print("%s: %s" % (name[6:].replace("_", " "), "yes" if good is True else "NO"))
