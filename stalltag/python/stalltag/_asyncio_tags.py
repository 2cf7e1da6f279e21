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
_lock = threading.Lock()
_warned = False


class _Step(threading.local):
    """What this thread's loop runs now with tags: the context, None in a callback that was begun before Handle._run was replaced; and how
    many tags that has pushed and not popped."""
    context, pushed = None, 0


_step = _Step()


def _open(context):
    return [held for held in context.get(_held, ()) if held.open]


def here():
    """What this context has, also what it has from the one that it was copied from; innermost last."""
    return _held.get()


def _push_all(tags):
    for held in tags:
        _push(*held.arguments)
    _step.pushed += len(tags)


def _pop_down_to(n):
    while _step.pushed > n:
        _pop()
        _step.pushed -= 1


def _take_over(push, pop):
    """Done once, also when the first tags of two threads' loops come at the same time."""
    global _push, _pop
    with _lock:
        if _push is None:
            _replace_run()
            _pop, _push = pop, push


def _replace_run():
    run = asyncio.events.Handle._run

    def run_with_tags(handle):
        context = handle._context
        outer = _step.context, _step.pushed  # a loop may be run within a callback of another's
        _step.context = context
        if _held in context:
            _push_all(_open(context))
        try:
            return run(handle)
        finally:
            _pop_down_to(outer[1])
            _step.context = outer[0]

    asyncio.events.Handle._run = run_with_tags


def _is_switched():
    """Whether the loop that runs switches tags with its tasks; else a warning says that it does not."""
    global _warned
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        loop = None  # trio's, say
    if not isinstance(loop, asyncio.BaseEventLoop) and not _warned:
        _warned = True
        warnings.warn("stalltag: %s does not say when it switches tasks, so `async with stalltag.tag()` does nothing in it; asyncio's own "
                      "loops do" % (type(loop).__module__ if loop else "this event loop"), RuntimeWarning, stacklevel=4)
    return isinstance(loop, asyncio.BaseEventLoop)


def _runs_here(tags):
    """Whether the step that goes on is the one in whose context `tags` were set: an eager task's first step is run within another's."""
    return _step.context is not None and _step.context.get(_held, ()) is tags


async def begin(arguments, push, pop):
    """Begins a tag of the running task; returns what end() takes."""
    if not _is_switched():
        return None
    if _push is None:
        _take_over(push, pop)
    held = Held(arguments)
    # Without those that have ended: tasks that each begin the next would hand all of them on.
    tags = tuple(each for each in _held.get() if each.open) + (held,)
    _held.set(tags)
    if _runs_here(tags):
        _push_all((held,))
        return held
    try:
        await asyncio.sleep(0)  # nothing would pop it at this step's end: it begins with the next
    except BaseException:
        end(held)  # cancelled before the block
        raise
    return held


def end(held):
    """Those that began later, and have not ended, stay. Called anywhere: what is not of the step that goes on is over with its own."""
    if held is None or not held.open:
        return
    before = _held.get()
    here = _runs_here(before) and held in before
    if here:
        open_before = [each for each in before if each.open]
        later = open_before[open_before.index(held) + 1:]
        _pop_down_to(_step.pushed - len(later) - 1)
    held.open = False
    _held.set(tuple(each for each in before if each is not held))
    if here:
        _push_all(later)
