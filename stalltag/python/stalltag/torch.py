"""Tags from the ranges that a PyTorch program marks for torch.profiler.

    import stalltag.torch

    stalltag.torch.record_functions()

From then on each range of torch.profiler.record_function (torch.autograd.profiler.record_function is the same class), as a
context manager or as a decorator, is a tag of its thread; nested ranges are nested tags. A range that goes on then has none. One that ends
before another that began later, as torch.profiler's step() does within the loop's own range, leaves that one its tag; so it does
where the other is a tag of stalltag.tag(), push() or a trainer's callback.
PyTorch has ranges of its own: those of its DataLoader, its optimizers and its data-parallel modules become tags, too, the
long names among them shortened:

    enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__   data_load
    Optimizer.step#AdamW.step                                       optimizer_step/AdamW
    Optimizer.zero_grad#AdamW.zero_grad                             optimizer_zero_grad/AdamW
    ProfilerStep#12                                                 profiler_step, with the id 12
    FSDP::all_gather (layers.3)                                     FSDP::all_gather/layers.3
    Forward 3, Backward 3 (of a pipeline's microbatch)              Forward/3, Backward/3

Ranges that C++ code makes by itself (operators, those of compiled code) are none of these. A range that is held across an
`await` is its thread's tag meanwhile, as a plain `with stalltag.tag()` would be.

What torch.compile compiles has no tags: it leaves ranges out, and stalltag.tag() and tagged() do nothing in it once this module is
imported. Before, they break the graph, and with fullgraph=True are an error; push() and pop() always are. So tag the call of what is
compiled.
"""
import fnmatch
import functools
import re
import threading
from typing import Any, Callable, Dict, Iterable, Optional, Tuple

import torch
from torch.autograd.profiler import record_function

import stalltag
from stalltag import _ranges

__all__ = ["record_functions", "RecordFunctions"]

_SHORT = [(re.compile(r"enumerate\(DataLoader\)#.*"), "data_load"),
          (re.compile(r"Optimizer\.(step|zero_grad)#(.*)\.\1"), r"optimizer_\1/\2"),
          (re.compile(r"ProfilerStep#\d+"), "profiler_step"),
          (re.compile(r"(FSDP::\S+) \((.*)\)"), r"\1/\2"),
          (re.compile(r"(Forward|Backward) (\d+)"), r"\1/\2")]
_NUMBERED = re.compile(r"ProfilerStep#(\d{1,18})")
_CACHED = 4096  # names whose answers are kept: a program may put the step's number into each

_UNKNOWN: Any = object()

# What is traced takes it for a constant. Not is_compiling(), whose flag another thread may set between a tag's begin and its end.
stalltag._traced = getattr(getattr(torch, "compiler", None), "is_dynamo_compiling", None)

_lock = threading.Lock()
_active: Tuple["RecordFunctions", ...] = ()
_answers: Dict[str, Any] = {}
_patched = False


def short_name(name: str) -> str:
    """What the tag of a range is called."""
    for pattern, short in _SHORT:
        if pattern.fullmatch(name):
            return pattern.sub(short, name)
    return name


def _number(name: str) -> int:
    """The id that the range's own name says; 0: none."""
    found = _NUMBERED.fullmatch(name)
    return int(found.group(1)) if found else 0


class RecordFunctions:
    """One selection of ranges; made by record_functions(). stop() ends it, and so does the end of a `with` block."""

    def __init__(self, names: Optional[Tuple[str, ...]], id: Callable[[], int]) -> None:
        self.names, self.id = names, id

    def takes(self, name: str) -> bool:
        """By its own name or the short one."""
        if self.names is None:
            return True
        return any(fnmatch.fnmatchcase(each, pattern) for pattern in self.names for each in (name, short_name(name)))

    def stop(self) -> None:
        """Ranges that begin later have no tags from this one. Those that go on keep theirs until they end."""
        _choose(lambda active: tuple(each for each in active if each is not self))

    def __enter__(self) -> "RecordFunctions":
        return self

    def __exit__(self, exc_type: Any, exc: Any, traceback: Any) -> None:
        self.stop()


def record_functions(names: Optional[Iterable[str]] = None, id: Optional[Callable[[], int]] = None) -> RecordFunctions:
    """Makes tags of the ranges whose names match one of the globs `names`, by default of all. `id` is called, without
    arguments, when a range begins, and returns the tag's id: the step's number, say. Where several selections take a range,
    the first decides."""
    if isinstance(names, str):
        raise TypeError("names is a list of globs: [%r]" % names)
    chosen = RecordFunctions(None if names is None else tuple(names), id or _no_id)
    _patch()
    _choose(lambda active: active + (chosen,))
    return chosen


def _no_id() -> int:
    return 0


def _choose(change: Callable[[Tuple[RecordFunctions, ...]], Tuple[RecordFunctions, ...]]) -> None:
    global _active, _answers
    with _lock:
        _active = change(_active)
        _answers = {}


def _answer(name: str) -> Any:
    """(the selection that takes the range, the tag's name, the tag itself if its id is always the same), or None."""
    answers = _answers  # of one state of _active: _choose() puts another in its place
    for chosen in _active:
        if chosen.takes(name):
            short = short_name(name).replace("\0", "")
            found: Any = (chosen, short, stalltag.tag(short, _number(name)) if chosen.id is _no_id else None)
            break
    else:
        found = None
    if len(answers) >= _CACHED:
        answers.clear()
    answers[name] = found
    return found


def _begin(marked: Any) -> bool:
    """Whether its tag was pushed. Nothing that goes wrong here may reach the program."""
    try:
        name = marked.name
        found = _answers.get(name, _UNKNOWN)
        if found is _UNKNOWN:
            found = _answer(name)
        if found is None:
            return False
        chosen, short, ready = found
        _ranges.begin(marked, ready if ready is not None else stalltag.tag(short, chosen.id()))
    except Exception:
        return False
    return True


def _patch() -> None:
    """Puts functions in the place of the class's own __enter__ and __exit__, once: whoever imported the class has it, too."""
    global _patched
    with _lock:
        if _patched:
            return
        ranges: Any = record_function
        enter, leave = ranges.__enter__, ranges.__exit__
        _patched = True

    @functools.wraps(enter)
    def enter_with_tag(self: Any) -> Any:
        pushed = _active and _begin(self)
        try:
            return enter(self)
        except BaseException:
            if pushed:
                _ranges.end(self)
            raise

    @functools.wraps(leave)
    def leave_with_tag(self: Any, exc_type: Any, exc_value: Any, traceback: Any) -> Any:
        try:
            return leave(self, exc_type, exc_value, traceback)
        finally:
            _ranges.end(self)

    ranges.__enter__, ranges.__exit__ = enter_with_tag, leave_with_tag
