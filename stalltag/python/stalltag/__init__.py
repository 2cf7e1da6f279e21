"""Say what a thread is working for, so that a stall profiler can tell its waits apart.

    import stalltag

    with stalltag.tag("checkpoint_write/run42/step80000", id=80000):
        save(model)

    @stalltag.tagged("shard_read")
    def read_shard(path): ...

Tags nest, each thread has its own, and the innermost one counts. The name is path-like, from the general to the
particular (at most 255 bytes of UTF-8; more is cut). The id is exact: any integer of 64 bits; 0 means none.

A tag belongs to the operating system's thread. A thread pool's workers do not inherit the tag of the code that
submitted the work: tag the function that runs there.

Under asyncio all tasks of a loop share one thread. A tag that is held across an `await` belongs to the task:

    async with stalltag.tag("shard_fetch", id=7):
        await session.get(url)

The thread holds it while the task runs, and so do tasks begun inside of the block, until the block ends. What the task awaits
meanwhile is other tasks' time, or the loop's. tagged() does the same for coroutine functions. This needs one of asyncio's
own loops: uvloop does not say when it switches tasks, and a warning tells so. A plain `with` must not hold an `await`: it would be
charged with other tasks' waits.

Neither form may hold a generator's `yield`, `async with` in an async generator as little as `with`: it would be charged with what the
consumer does and waits for until it asks for the next item. Put tags around the parts between. (In a function for
contextlib.contextmanager, where the consumer is the block, that is as it should be.)

The work is done by libstalltag.so, which pip installs with this module. It is looked for in the program itself, then as
$STALLTAG_LIBRARY if that is set, and nowhere else in that case; otherwise among the libraries that are loaded already (an
extension may be linked with it, and two copies would keep a thread's tags apart), beside this file, by the system's loader,
in this Python's lib folder and in /usr/local/lib. Where none can be loaded, tags do nothing: a warning says so once, at the
import, and library_path is None. Import OpenTelemetry's or Datadog's library before the first tag: stalltag then leaves
OpenTelemetry's thread context to it.
"""
import contextlib
import ctypes
import functools
import inspect
import operator
import os
import sys
import warnings

from . import _tagged

__all__ = ["tag", "tagged", "push", "pop", "depth", "losses", "library_path"]


class _Losses(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("too_deep", "names_cut", "stray_pops", "no_memory")]


_USED = ("stalltag_push_sized", "stalltag_pop", "stalltag_depth", "stalltag_read_losses")


def _candidates():
    """Every place to look, as (path for dlopen, its mode, must it exist as a file)."""
    chosen = os.environ.get("STALLTAG_LIBRARY")
    mode = ctypes.DEFAULT_MODE
    if chosen:
        return [(chosen, mode, False)]
    here = os.path.dirname(os.path.abspath(__file__))
    names = ("libstalltag.so.1", "libstalltag.so")
    found = [(names[0], mode | os.RTLD_NOLOAD, False)] if hasattr(os, "RTLD_NOLOAD") else []
    found += [(os.path.join(here, name), mode, True) for name in names]
    found += [(name, mode, False) for name in names]
    for folder in (os.path.join(sys.prefix, "lib"), "/usr/local/lib"):
        found += [(os.path.join(folder, name), mode, True) for name in names]
    return found


def _load():
    """(library, where it is), or (None, what was tried). PyDLL keeps the interpreter's lock during a call: the calls last
    nanoseconds, giving it up costs more."""
    tried = []
    try:
        program = ctypes.PyDLL(None)
        if all(hasattr(program, name) for name in _USED):
            return program, "the program itself"
    except (OSError, TypeError) as error:
        tried.append("the program itself: %s" % error)
    for path, mode, must_exist in _candidates():
        if must_exist and not os.path.exists(path):
            tried.append("%s: no such file" % path)
            continue
        try:
            library = ctypes.PyDLL(path, mode)
            for name in _USED:
                getattr(library, name)
            return library, path
        except (OSError, AttributeError) as error:
            tried.append("%s: %s" % (path, error))
    return None, tried


class _Nothing:
    """Stands for the library where there is none."""

    @staticmethod
    def stalltag_push_sized(id, name, length):
        pass

    @staticmethod
    def stalltag_pop():
        pass

    @staticmethod
    def stalltag_depth():
        return 0

    @staticmethod
    def stalltag_read_losses(counts):
        pass


_library, library_path = _load()
if _library is None:
    warnings.warn("stalltag: no libstalltag.so could be loaded, so tags do nothing. Install stalltag by pip, or name the "
                  "library in STALLTAG_LIBRARY. Tried:\n  " + "\n  ".join(library_path), RuntimeWarning, stacklevel=2)
    _library, library_path = _Nothing, None
else:
    _library.stalltag_push_sized.restype = None  # no argtypes: arguments made once by _arguments() cost half as much
    _library.stalltag_pop.restype = None
    _library.stalltag_depth.restype = ctypes.c_uint
    _library.stalltag_read_losses.argtypes = (ctypes.POINTER(_Losses),)
    _library.stalltag_read_losses.restype = None
_push = _library.stalltag_push_sized
_pop = _library.stalltag_pop
_depth = _library.stalltag_depth
_read_losses = _library.stalltag_read_losses
# stalltag.torch sets it to what tells whether torch.compile traces the caller. That cannot trace calls of a C library: it has no tags.
_traced = None


def _arguments(name, id):
    """Those of _push(), in C's types. Checked here, as ctypes itself would cut names and ids without a word."""
    if isinstance(name, bytes):
        encoded = name
    elif isinstance(name, str):
        encoded = name.encode("utf-8", "replace")
    else:
        raise TypeError("a tag's name is a str, not %s" % type(name).__name__)
    if b"\0" in encoded:
        raise ValueError("a tag's name cannot hold a NUL")
    number = operator.index(id)
    if not 0 <= number < 1 << 64:
        raise ValueError("a tag's id is an integer of 64 bits, 0 to 2**64 - 1, not %d" % number)
    return ctypes.c_uint64(number), encoded, ctypes.c_size_t(len(encoded))


def push(name, id=0):
    """Begin a tag; pop() must follow on the same thread. Prefer `with tag(...)`."""
    _push(*_arguments(name, id))


def pop():
    """End the innermost tag of this thread."""
    _pop()


def depth():
    """How many tags this thread holds."""
    return _depth()


def losses():
    """What readers could not be shown since the process began: a dict of counts."""
    counts = _Losses()
    _read_losses(ctypes.byref(counts))
    return {name: getattr(counts, name) for name, _ in _Losses._fields_}


def _for_tasks():
    """Imported with the first such tag: asyncio is large."""
    from . import _asyncio_tags
    return _asyncio_tags


def _current_task():
    """None outside of a loop."""
    try:
        return sys.modules["asyncio"].current_task()
    except RuntimeError:
        return None


class tag:
    """Context manager: the block's thread, or with `async with` its task, works for (name, id). One object may be entered any number of
    times."""

    __slots__ = ("_id", "_name", "_length", "_begun")

    def __init__(self, name, id=0):
        self._id, self._name, self._length = (0, b"", 0) if _traced and _traced() else _arguments(name, id)
        self._begun = {}  # by the task that is in `async with`: what _asyncio_tags.begin() gave, innermost last

    def __enter__(self):
        if not (_traced and _traced()):
            _push(self._id, self._name, self._length)
        return self

    def __exit__(self, exc_type, exc, traceback):
        if not (_traced and _traced()):
            _pop()

    async def __aenter__(self):
        held = await _for_tasks().begin((self._id, self._name, self._length), _push, pop)
        self._begun.setdefault(_current_task(), []).append(held)
        return self

    async def __aexit__(self, exc_type, exc, traceback):
        task, held = self._ending(_current_task())
        if task not in self._begun:
            return
        self._begun[task].remove(held)
        if not self._begun[task]:
            del self._begun[task]
        _for_tasks().end(held)

    def _ending(self, task):
        """(task, what ends now): its innermost; where another task ends it, as of a generator that is thrown away, the innermost that its
        context comes from, else that of a task that is over, or the only one."""
        if task in self._begun:
            return task, self._begun[task][-1]
        for held in reversed(_for_tasks().here()):
            for each, begun in self._begun.items():
                if held in begun:
                    return each, held
        over = [each for each in self._begun if each is None or each.done() or len(self._begun) == 1]
        return (over[-1], self._begun[over[-1]][-1]) if over else (None, None)


# What contextlib's decorators put in the place of a generator function: a call of it only makes an object, too. Others may well run it to
# its end.
_MANAGERS = frozenset(made(lambda: (yield)).__code__ for made in (contextlib.contextmanager, contextlib.asynccontextmanager))


def _makes_a_generator(function):
    while getattr(function, "__code__", None) in _MANAGERS:
        function = function.__wrapped__
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def _called(function):
    """What a call of it may run: itself, or the __call__ of its class."""
    while isinstance(function, functools.partial):
        function = function.func
    return function, getattr(type(function), "__call__", None)


def tagged(name, id=0):
    """Decorator: each call of the function, or coroutine function, works for (name, id). It can be pickled as the function itself, also by
    value (cloudpickle, dill); who takes it needs this module. TypeError for generator functions, and what
    contextlib.contextmanager makes of them: a call only makes an object."""
    arguments = _arguments(name, id)

    def decorate(function):
        called = _called(function)
        if any(map(inspect.iscoroutinefunction, called)):
            return _tagged.of_coroutine_function(function, name, id)
        if any(map(_makes_a_generator, called)):
            raise TypeError("%r hands its thread to others while it waits, and its tag with it; "
                            "use stalltag.tag() around parts that do not await or yield" % function)
        return _tagged.of_function(function, arguments)

    return decorate
