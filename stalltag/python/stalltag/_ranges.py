"""Tags of ranges, which may end in any order, beside those that others push and pop on the thread as on a stack.

A range that ends below a tag of others stays there, unseen, until that is popped. A pop of others means their own innermost tag: ranges
that began within that, and go on, are popped with it and pushed again. So the library's pop is replaced for all Python code with the import
of this module. What other code pops directly (C++, say) it may take from a range: then the range's end pops what was left.
"""
import threading
from typing import Any, List

import stalltag


class _Range:
    """One whose tag the thread holds. `owner` is None when it has ended, `depth` the thread's with the tag on top."""

    __slots__ = ("owner", "tag", "depth")

    def __init__(self, owner: Any, tag: stalltag.tag, depth: int) -> None:
        self.owner, self.tag, self.depth = owner, tag, depth


class _Held(threading.local):
    """Of this thread, innermost last."""

    def __init__(self) -> None:
        self.ranges: List[_Range] = []


_held = _Held()
_pop = stalltag._library.stalltag_pop
_depth = stalltag._library.stalltag_depth


def begin(owner: Any, tag: stalltag.tag) -> None:
    ranges = _held.ranges
    if ranges and ranges[-1].owner is None:
        _drop_ended(ranges)
    tag.__enter__()
    ranges.append(_Range(owner, tag, _depth()))


def end(owner: Any) -> None:
    """Of the innermost range of that owner. Nothing if it has none on this thread."""
    ranges = _held.ranges
    for each in reversed(ranges):
        if each.owner is owner:
            each.owner = None
            if each is ranges[-1] and each.depth == _depth() and (len(ranges) == 1 or ranges[-2].owner is not None):  # most often
                ranges.pop()
                _pop()
            else:
                _drop_ended(ranges)
            return


def _drop_ended(ranges: List[_Range]) -> None:
    """Pops those that no tag of others lies upon."""
    while True:
        top = _top(ranges)
        ended = next((at for at in range(top, len(ranges)) if ranges[at].owner is None), None)
        if ended is None:
            return
        _push_again(ranges, _pop_from(ranges, ended))


def _top(ranges: List[_Range]) -> int:
    """From where on they are the thread's innermost tags, with none of others upon or between them."""
    at, depth = len(ranges), _depth()
    while at and ranges[at - 1].depth >= depth:
        at -= 1
        ranges[at].depth = depth  # less than it was: other code has popped that tag, and left one of its own below
        depth -= 1
    return at


def _pop_from(ranges: List[_Range], at: int) -> List[_Range]:
    popped = ranges[at:]
    del ranges[at:]
    for each in popped:
        if each.depth > 0:
            _pop()
    return popped


def _push_again(ranges: List[_Range], popped: List[_Range]) -> None:
    for each in popped:
        if each.owner is not None:
            each.tag.__enter__()
            each.depth = _depth()
            ranges.append(each)


def _pop_of_others() -> None:
    ranges = _held.ranges
    if not ranges:
        _pop()
        return
    popped = _pop_from(ranges, _top(ranges))
    _pop()
    if ranges and ranges[-1].owner is None:
        _drop_ended(ranges)
    _push_again(ranges, popped)


stalltag._pop = _pop_of_others
