#!/usr/bin/python3
"""Stacks as gdb sees them, to hold ours against.

    gdb_stacks.py --pid PID [--tid TID] [--inside REGEX] [--tries N]

Stops the process with gdb while a thread waits inside a function that matches REGEX (default: a write or a sync), and
prints {"pid", "threads": [{"tid", "comm", "frames": [...]}]} with one frame a line of `bt`, innermost first:
{"function", "file", "line", "inlined", "pc", "object"}. A thread in an uninterruptible wait stops only when the wait
ends, still in its system call, so its user stack is the one of the wait. Tried N times (10), as a thread
may be caught between two waits. Exit code 1 when none was caught.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import time

WAITS = r"p?write(v|64)?(v2)?|fsync|fdatasync|p?read(v|64)?"

# Runs inside gdb. Lines are those of the call for callers and inlined frames, as in bt.
INSIDE_GDB = r"""
import gdb, json
def frames():
    frame = gdb.newest_frame()
    while frame is not None and frame.is_valid():
        place = frame.find_sal()
        yield {"function": frame.name() or "", "file": place.symtab.fullname() if place.symtab else "",
               "line": place.line, "inlined": frame.type() == gdb.INLINE_FRAME, "pc": frame.pc(),
               "object": gdb.solib_name(frame.pc()) or gdb.current_progspace().filename or ""}
        try:
            frame = frame.older()
        except gdb.error as error:
            yield {"function": "", "error": str(error)}
            return
threads = []
for thread in gdb.selected_inferior().threads():
    thread.switch()
    threads.append({"tid": thread.ptid[1] or thread.ptid[0], "comm": thread.name, "frames": list(frames())})
print("STACKS " + json.dumps(threads))
"""


def gdb_once(pid):
    """All threads of the process, or OSError with gdb's own words."""
    argv = ["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set auto-load off",
            "-ex", "set backtrace past-main on", "-p", str(pid), "-ex", "python exec(" + repr(INSIDE_GDB) + ")"]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
                          env=dict(os.environ, DEBUGINFOD_URLS=""))
    for line in done.stdout.splitlines():
        if line.startswith("STACKS "):
            return json.loads(line[len("STACKS "):])
    raise OSError("gdb gave no stacks:\n" + done.stdout[-2000:])


def waiting(thread, inside):
    """Is one of the innermost three frames (libc has wrappers inside) in a function that matches?"""
    return any(re.fullmatch(inside, re.sub(r"^(__libc_|__GI_|__)+", "", frame["function"]))
               for frame in thread["frames"][:3])


def stacks(pid, inside=WAITS, tid=None, tries=10):
    """The threads of pid that wait inside such a function; [] if none was caught in all the tries."""
    for attempt in range(tries):
        caught = [thread for thread in gdb_once(pid) if tid in (None, thread["tid"]) and waiting(thread, inside)]
        if caught:
            return caught
        time.sleep(0.05 * attempt)
    return []


def plain(function):
    """A function's name without what oracles disagree on: clone suffixes, versions, parameters, libc's aliases."""
    name = re.sub(r"@@?[A-Z0-9_.]+$", "", function)
    name = re.sub(r"\.(constprop|isra|part|cold|lto_priv)(\.\d+)*", "", name)
    name = re.sub(r"^(__libc_|__GI_)", "", name)
    return re.sub(r"\s+", "", name)


def leaf(name):
    """The last identifier of a C++ name, without templates and parameters, on which all demanglers agree."""
    name = name.replace("operator()", "operator_call").replace("->", "-")
    name = re.sub(r"operator([<>]=?|<<=?|>>=?)", lambda match: "operator_%d" % len(match[1]), name)
    depth, kept = 0, []
    for char in name:
        depth -= char in ">)}"
        if depth == 0 and char not in "<>(){}":
            kept.append(char)
        depth += char in "<({"
    return re.sub(r"(const|volatile|&|\[abi:\w+\])+$", "", "".join(kept)).split("::")[-1]


def same_function(ours, gdbs):
    ours, gdbs = plain(ours), plain(gdbs)
    return ours == gdbs or leaf(ours) == leaf(gdbs) != ""


def differences(ours, gdbs, from_function=None):
    """Compares two frame lists, innermost first; [] when equal. gdb's frames without a name or a file assert nothing
    about it. Both lists are cut to begin at the first frame of from_function if that is given (the system call's own
    wrapper is seen at another instruction)."""
    def cut(frames):
        if not from_function:
            return frames
        at = [i for i, frame in enumerate(frames) if same_function(frame["function"], from_function)]
        return frames[at[0]:] if at else frames
    ours, gdbs, found = cut(ours), cut(gdbs), []
    if len(ours) != len(gdbs):
        found.append(f"{len(ours)} frames, gdb has {len(gdbs)}")
    for i, (our, their) in enumerate(zip(ours, gdbs)):
        if their["function"] and not same_function(our["function"], their["function"]):
            found.append(f"frame {i}: {our['function']}, gdb has {their['function']}")
        if not their.get("file"):
            continue
        if os.path.basename(our.get("file") or "") != os.path.basename(their["file"]):
            found.append(f"frame {i} {our['function']}: file {our.get('file')}, gdb has {their['file']}")
        if our.get("line") != their["line"]:
            found.append(f"frame {i} {our['function']}: line {our.get('line')}, gdb has {their['line']}")
        if "inlined" in our and bool(our["inlined"]) != their["inlined"]:
            found.append(f"frame {i} {our['function']}: inlined {our['inlined']}, gdb has {their['inlined']}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pid", type=int, required=True)
    parser.add_argument("--tid", type=int)
    parser.add_argument("--inside", default=WAITS)
    parser.add_argument("--tries", type=int, default=10)
    args = parser.parse_args()
    try:
        caught = stacks(args.pid, args.inside, args.tid, args.tries)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"gdb_stacks.py: {error}", file=sys.stderr)
        return 1
    print(json.dumps({"pid": args.pid, "threads": caught}, indent=1))
    return 0 if caught else 1


if __name__ == "__main__":
    sys.exit(main())
