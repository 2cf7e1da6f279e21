"""The rooms of profiler/ and symbolizer/ and what their files include of each other, for tests/check.

A room is a folder of one of them. It may include those that stand before it in ROOMS, never those behind. A unit is a .c file with the header of
its name, and with NAME_state.h, which says what an opaque structure is made of; the headers in PUBLIC, which others take as the
contract of a whole room, are units of their own. Units include each other in no circle."""
import collections
import os
import re

ROOMS = {
    "symbolizer": ["types.h", "base", "elf", "names", "dwarf", "cfi", "index", "object", "kernel", "jit", "", "python"],
    "profiler": ["format", "config", "tracer", "signals", "process", "symbols", "tags", "output", "scrape", "session", "loaded", "top", "flame", "diff", "report",
                 "cli", ""],
}
PUBLIC = {"symbolizer/symbolizer.h", "symbolizer/types.h", "symbolizer/python/python.h", "pprof/profile.h", "stalltag/stalltag.h",
          "profiler/config/config.h", "profiler/tracer/tracer.h", "profiler/output/sink.h", "profiler/session/session.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"((?:symbolizer|profiler|pprof|stalltag)/[^"]+)"', re.M)


def room_of(path):
    """What ROOMS calls the room that a file is in."""
    top, _, rest = path.partition("/")
    return rest if rest in ROOMS[top] else rest.rpartition("/")[0]


def unit_of(path):
    return path if path in PUBLIC else re.sub(r"(_state)?\.[ch]$", "", path)


def includes(paths, text_of):
    """(path, included path) of the .c and .h files in `paths`, without generated headers."""
    for path in paths:
        for other in INCLUDE.findall(text_of(path)):
            if not other.endswith((".pb-c.h", ".skel.h")):
                yield path, other


def arrows(top, pairs):
    """{(room, other room): the includes that make it} of one of ROOMS."""
    found = collections.defaultdict(list)
    for path, other in pairs:
        if path.startswith(top + "/") and other.startswith(top + "/") and room_of(path) != room_of(other):
            found[room_of(path), room_of(other)].append((path, other))
    return found


def floors(top, between):
    """On how many floors the rooms stand, when each is above all that it includes."""
    height = {}
    for room in ROOMS[top]:
        height[room] = 1 + max((height.get(below, 0) for above, below in between if above == room and below != room), default=0)
    return max(height.values())


def circles(pairs):
    """The sets of units that include each other, sorted."""
    graph = collections.defaultdict(set)
    for path, other in pairs:
        if unit_of(path) != unit_of(other):
            graph[unit_of(path)].add(unit_of(other))

    def reached(start):
        seen, wanted = set(), [start]
        while wanted:
            for unit in graph.get(wanted.pop(), ()):
                if unit not in seen:
                    seen.add(unit)
                    wanted.append(unit)
        return seen

    reach = {unit: reached(unit) for unit in list(graph)}
    inside = [unit for unit in reach if unit in reach[unit]]
    return sorted({tuple(sorted(other for other in inside if other in reach[unit] and unit in reach[other])) for unit in inside})


def summary(top, paths, pairs):
    """One line: rooms, floors, arrows, how many of them go upward, circles."""
    between = arrows(top, pairs)
    order = ROOMS[top]
    upward = sum(order.index(above) < order.index(below) for above, below in between if above in order and below in order)
    rooms = {room_of(path) for path in paths if path.startswith(top + "/")}
    count = len(circles([pair for pair in pairs if pair[0].startswith(top + "/")]))
    return (f"{top}/: {len(rooms)} rooms, {floors(top, between)} floors, {len(between)} arrows, {upward} upward, {count} circles")


def breaches(paths, text_of):
    """Lines: a room that is none, an include upward, a circle."""
    pairs = list(includes(paths, text_of))
    for path in paths:
        if path.split("/")[0] in ROOMS and room_of(path) not in ROOMS[path.split("/")[0]]:
            yield f"{path}: {os.path.dirname(path)}/ is not in tests/include_graph.py"
    for top, order in ROOMS.items():
        for (above, below), made_by in arrows(top, pairs).items():
            if above in order and below in order and order.index(above) < order.index(below):
                yield from (f"{path}: includes {other}, which stands above it" for path, other in made_by)
    yield from ("a circle: " + " ".join(circle) for circle in circles(pairs))
