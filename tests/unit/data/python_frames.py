"""Calls itself by all the ways there are from Python to Python, and blocks at the innermost of them, again and again.

    python_frames.py TIMES [interpreter]

Each time it writes its thread's stack, innermost first, a frame a line: FILE <tab> LINE <tab> FUNCTION; before
it "thread IDENT TID", behind it "blocked"; then it reads a byte of its input. Ends at end of input. With
"interpreter" the innermost frames are those of a second interpreter in the same thread.
"""
import functools
import os
import sys
import threading

TIMES = int(sys.argv[1])


def tell():
    text = "thread %d %d\n" % (threading.get_ident(), threading.get_native_id()) + "".join(stack_lines(2)) + "blocked\n"
    os.write(1, text.encode())


def stack_lines(depth):
    frame, lines = sys._getframe(depth), []
    while frame:
        code = frame.f_code
        lines.append("%s\t%d\t%s\n" % (code.co_filename, frame.f_lineno, getattr(code, "co_qualname", code.co_name)))
        frame = frame.f_back
    return lines


def block():
    # One line, so that the frame is at the same line when it tells and when it blocks.
    tell(); byte = os.read(0, 1)  # noqa: E702
    if not byte:
        os._exit(0)


# Each way takes what remains to be called.
def plain(rest):
    go_on(rest)


def long_call(rest):
    functools.partial(
        go_on,
        rest,
    )(
    )


class Thing:
    def method(self, rest):
        go_on(rest)

    def __call__(self, rest):
        go_on(rest)

    def __getattr__(self, name):
        if name != "attribute":
            raise AttributeError(name)
        go_on(self.rest)

    def __lt__(self, other):
        go_on(self.rest or other.rest)
        return True

    def __enter__(self):
        go_on(self.rest)

    def __exit__(self, *error):
        pass

    def __init__(self, rest=None):
        self.rest = rest

    @property
    def value(self):
        return go_on(self.rest)

    @staticmethod
    def static(rest): return go_on(rest)


class Late:
    def __init__(self, rest):
        go_on(rest)


class Dying:
    def __init__(self, rest):
        self.rest = rest

    def __del__(self):
        go_on(self.rest)


def by_method(rest):
    Thing().method(rest)


def by_call(rest):
    Thing()(rest)


def by_attribute(rest):
    Thing(rest).attribute


def by_sort(rest):
    sorted([Thing(rest), Thing()])


def by_key(rest):
    [1].sort(key=lambda _: go_on(rest))


def by_map(rest):
    list(map(go_on, [rest]))


def by_reduce(rest):
    functools.reduce(lambda _, more: go_on(more), [None, rest])


def by_with(rest):
    with Thing(rest):
        pass


def by_property(rest):
    return Thing(rest).value


def by_static(rest):
    Thing.static(rest)


def by_class(rest):
    Late(rest)


def by_death(rest):
    dying = Dying(rest)
    del dying


def by_comprehension(rest):
    [go_on(rest) for _ in range(1)]


def by_generator_expression(rest):
    any(go_on(rest) for _ in range(1))


def generator(rest):
    yield 1
    go_on(rest)


def delegating(rest):
    yield from generator(rest)


def by_for(rest):
    for _ in generator(rest):
        pass


def by_yield_from(rest):
    for _ in delegating(rest):
        pass


def by_next(rest):
    steps = generator(rest)
    next(steps)
    next(steps, None)


async def innermost(rest):
    go_on(rest)


async def awaiting(rest):
    await innermost(rest)


def by_await(rest):
    try:
        awaiting(rest).send(None)
    except StopIteration:
        pass


def by_exec(rest):
    exec(compile("\n\n\ngo_on(rest)\n", "<made up>", "exec"), {"go_on": go_on, "rest": rest})


def by_except(rest):
    try:
        raise ValueError
    except ValueError:
        go_on(rest)
    finally:
        rest = None


def by_cell(rest):
    def inner():
        return go_on(rest)
    inner()


def größe(rest):
    go_on(rest)


def by_keywords(rest):
    go_on(*(), **{"rest": rest})


def by_decorator(rest):
    cached.cache_clear()
    cached(rest)


@functools.lru_cache(maxsize=1)
def cached(rest):
    go_on(rest)


def by_thread(rest):
    thread = threading.Thread(target=go_on, args=(rest,))
    thread.start()
    thread.join()


def by_callback(rest):
    try:
        import ctypes
    except ImportError:
        return go_on(rest)
    call = ctypes.CFUNCTYPE(None)(lambda: go_on(rest))
    return call()


# Runs in an interpreter of its own, which knows nothing of the frames outside.
INNER = """
import os, sys
def outermost():
    go_on()
def go_on():
    text = "thread %s"
    frame = sys._getframe()
    while frame:
        code = frame.f_code
        text += "%%s\t%%d\t%%s\\n" %% (code.co_filename, 13 if code.co_name == "go_on" else frame.f_lineno,
                                 getattr(code, "co_qualname", code.co_name))
        frame = frame.f_back
    os.write(1, (text + %r + "blocked\\n").encode()); os.read(0, 1)
outermost()
"""


def by_interpreter(interpreters):
    made = interpreters.create()
    thread = "%d %d\\n" % (threading.get_ident(), threading.get_native_id())
    interpreters.run_string(made, INNER % (thread, "".join(stack_lines(1))))
    interpreters.destroy(made)


def two_interpreters():
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        import _interpreters as interpreters
    by_interpreter(interpreters)


WAYS = [plain, long_call, by_method, by_call, by_attribute, by_sort, by_key, by_map, by_reduce, by_with, by_property, by_static,
        by_class, by_death, by_comprehension, by_generator_expression, by_for, by_yield_from, by_next, by_await, by_exec,
        by_except, by_cell, größe, by_keywords, by_decorator, by_callback]


def go_on(rest):
    if rest:
        rest[0](rest[1:])
    else:
        block()


def shuffled(turn):
    """Another order each turn, by a generator of random numbers that is the same in all versions."""
    ways, state = list(WAYS), turn * 7919 + 1
    for i in range(len(ways) - 1, 0, -1):
        state = (state * 1103515245 + 12345) % 2 ** 31
        j = (state >> 8) % (i + 1)
        ways[i], ways[j] = ways[j], ways[i]
    if turn % 2:
        ways.insert(0, by_thread)
    return tuple(ways[:20])


for turn in range(TIMES):
    if sys.argv[2:] == ["interpreter"]:
        two_interpreters()
    else:
        go_on(shuffled(turn))
