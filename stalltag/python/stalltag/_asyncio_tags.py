"""Tags held across `await`: `async with stalltag.tag(...)`.

All tasks of a loop share its thread, so a task's tags must be the thread's only while the task runs. They are kept in a context variable,
which asyncio switches with the task and hands to the tasks that it begins; and each callback of the loop is run with the tags of its
context pushed before it and popped behind it. For that Handle._run is replaced when the first such tag begins: that is where asyncio's own
loops run each step of a task. A loop that is not one of these (uvloop's) has no such place.
"""
import asyncio
import contextvars
import threading
import warnings


class Held:
    """One `async with` that goes on. Tasks begun inside of it have it in their context for good; `open` says when it is over."""

    __slots__ = ("arguments", "open")

    def __init__(self, arguments):
        self.arguments, self.open = arguments, True


_held = contextvars.ContextVar("stalltag", default=())
_push = _pop = None
_warned = False


class _Step(threading.local):
    """Whether this thread's loop runs a callback with its tags now: false in one that was begun before Handle._run was replaced."""
    is_switched = False


_step = _Step()


def _open(context):
    return [held for held in context.get(_held, ()) if held.open]


def _take_over(push, pop):
    global _push, _pop
    _push, _pop = push, pop
    run = asyncio.events.Handle._run

    def run_with_tags(handle):
        context = handle._context
        if _held in context:
            for held in _open(context):
                _push(*held.arguments)
        _step.is_switched = True
        try:
            return run(handle)
        finally:
            _step.is_switched = False
            if _held in context:  # with those that began in this step
                for _ in _open(context):
                    _pop()

    asyncio.events.Handle._run = run_with_tags


def _is_switched(loop):
    """Whether the loop switches tags with its tasks; else a warning says that it does not."""
    global _warned
    if not isinstance(loop, asyncio.BaseEventLoop) and not _warned:
        _warned = True
        warnings.warn("stalltag: %s does not say when it switches tasks, so `async with stalltag.tag()` does nothing in it; asyncio's own "
                      "loops do" % type(loop).__module__, RuntimeWarning, stacklevel=4)
    return isinstance(loop, asyncio.BaseEventLoop)


async def begin(arguments, push, pop):
    """Begins a tag of the running task; returns what end() takes."""
    if not _is_switched(asyncio.get_running_loop()):
        return None
    if _push is None:
        _take_over(push, pop)
    held = Held(arguments)
    _held.set(_held.get() + (held,))
    if _step.is_switched:
        _push(*arguments)
    else:
        await asyncio.sleep(0)  # nothing would pop it at this step's end: it begins with the next
    return held


def end(held):
    """Those that began later, and have not ended, stay."""
    if held is None:
        return
    before = [each for each in _held.get() if each.open]
    held.open = False
    later = before[before.index(held) + 1:] if held in before else []
    _held.set(tuple(each for each in before if each is not held))
    for _ in range(len(later) + (held in before)):
        _pop()
    for each in later:
        _push(*each.arguments)
