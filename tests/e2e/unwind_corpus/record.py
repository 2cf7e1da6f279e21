"""Run inside gdb: takes a program to its stops and records each, for replay.c to unwind: registers, stack, other
memory that they point to, executable mappings, and, to hold the result against, the frames that gdb sees.

The file $RECORD_JOB is a JSON object: "out", where the recording goes (replay.c says what its lines are), and "steps",
taken one after the other:

    to LOCATION     runs until a breakpoint there (as gdb's tbreak); A | B | C: at whichever comes first
    syscall NAME    runs until the system call is entered
    stepi N         N instructions, none recorded
    record          records this stop
    sweep N         records it, then after every instruction, N of them, or until the function has returned
    over N          as sweep, calls taken in one step
    short N         records with N bytes of the stack and no other memory
    gdb COMMAND     any command of gdb's
"""
import json
import os
import traceback

import gdb

REGISTERS = "rip rsp rbp rbx r12 r13 r14 r15 rax rcx rdx rsi rdi r8 r9 r10 r11".split()
RED_ZONE = 128
STACK_BYTES = 1 << 20
SWEEP_STACK_BYTES = 1 << 17
POINTED_BYTES = 512
MAX_FRAMES = 4096
WORD = (1 << 64) - 1
PREPARE = ["set pagination off", "set confirm off", "set breakpoint pending on", "set backtrace past-main on",
           "set backtrace past-entry on", "set backtrace limit %d" % MAX_FRAMES, "set print max-depth 0",
           "set startup-with-shell off", "handle all nostop noprint pass"]


def register(frame, name):
    return int(frame.read_register(name)) & WORD


class Memory:
    """What is mapped, as /proc has it."""

    def __init__(self, pid):
        self.all, self.executable = [], []
        with open(f"/proc/{pid}/maps") as maps:
            for line in maps:
                field = line.rstrip("\n").split(None, 5)
                start, end = (int(number, 16) for number in field[0].split("-"))
                self.all.append((start, end, field[1]))
                if "x" in field[1]:
                    self.executable.append((start, end, int(field[2], 16), field[5] if len(field) > 5 else ""))

    def bytes_at(self, start, want):
        """(start, hex) of as much as the writable mapping at `start` has; None outside of them."""
        for low, high, rights in self.all:
            if low <= start < high and rights.startswith("rw"):
                length = min(want, high - start)
                return start, gdb.selected_inferior().read_memory(start, length).tobytes().hex()
        return None


class Recorder:
    def __init__(self, out):
        self.out, self.maps, self.number = out, None, 0

    def line(self, *fields):
        text = "\t".join(f"{field:x}" if isinstance(field, int) else str(field) for field in fields)
        self.out.write(text.replace("\n", " ") + "\n")

    def record(self, name, stack_bytes=STACK_BYTES, more=True):
        memory = Memory(gdb.selected_inferior().pid)
        if memory.executable != self.maps:
            self.maps = memory.executable
            self.line("process")
            for mapping in self.maps:
                self.line("map", *mapping)
        forget_hidden_inlines()
        frames = list(all_frames())
        newest = gdb.newest_frame()
        values = [register(newest, register_name) for register_name in REGISTERS]
        self.line("stop", f"{self.number}-{name}")
        self.line("regs", *values)
        pointers = [values[1] - RED_ZONE] + [frame["sp"] for frame in frames] + values
        self.write_memory(memory, pointers, len(frames), stack_bytes, more)
        for frame in frames:
            self.line("frame", frame["pc"], *[frame[key] for key in ("kind", "name", "file")], str(frame["line"]))
        self.line("frames-end", frames[-1]["end"])
        self.line("end")
        self.number += 1

    def write_memory(self, memory, pointers, n_stacks, stack_bytes, more):
        """The stack; then every other stack that a frame is on; then what the registers point to."""
        covered = []
        for i, pointer in enumerate(pointers):
            if any(low <= pointer < high for low, high in covered) or (covered and not more):
                continue
            found = memory.bytes_at(pointer, stack_bytes if i <= n_stacks else POINTED_BYTES)
            if not found and not covered:
                found = memory.bytes_at(pointer + RED_ZONE, stack_bytes)
            if found:
                self.line("memory" if covered else "copy", *found)
                covered.append((found[0], found[0] + len(found[1]) // 2))


def forget_hidden_inlines():
    """At the first instruction of inlined code gdb shows the frames around it alone, until the pc has moved."""
    pc = register(gdb.newest_frame(), "rip")
    for other in (pc + 1, pc):
        gdb.newest_frame().select()
        gdb.execute(f"set $rip = {other}", to_string=True)
        gdb.newest_frame().name()
    gdb.newest_frame().select()
    assert register(gdb.newest_frame(), "rip") == pc


def all_frames():
    """Innermost first, without those that gdb makes up from call sites: a tail call leaves nothing on the stack."""
    kinds = {gdb.INLINE_FRAME: "inlined", gdb.SIGTRAMP_FRAME: "signal"}
    frame = gdb.newest_frame()
    while frame is not None and frame.is_valid():
        place, older, end = frame.find_sal(), None, ""
        try:
            older = frame.older()
            if older is None:
                end = gdb.frame_stop_reason_string(frame.unwind_stop_reason())
        except gdb.error as error:
            end = str(error)
        # There is no code at 0: it is what Go puts where the first return address would be.
        if frame.type() != gdb.TAILCALL_FRAME and (frame.pc() or frame.level() == 0):
            yield {"pc": frame.pc(), "kind": kinds.get(frame.type(), "real"), "sp": register(frame, "rsp"), "end": end,
                   "name": frame.name() or "??", "file": place.symtab.fullname() if place.symtab else "??",
                   "line": place.line if place.symtab else 0}
        frame = older


def is_running():
    return gdb.selected_inferior().pid != 0


def go():
    gdb.execute("continue" if is_running() else "run", to_string=True)
    if not is_running():
        raise gdb.GdbError("the program ended")


def to_location(locations):
    """A single one has to be there; of several, those that are."""
    for location in locations.split(" | "):
        try:
            gdb.execute(f"tbreak {location}", to_string=True)
        except gdb.error:
            if location == locations:
                raise
    go()
    gdb.execute("delete", to_string=True)


def to_syscall(name):
    gdb.execute(f"tcatch syscall {name}", to_string=True)
    go()


def sweep(recorder, command, count):
    began = register(gdb.newest_frame(), "rsp")
    caller = int.from_bytes(gdb.selected_inferior().read_memory(began, 8).tobytes(), "little")
    for _ in range(count):
        recorder.record(command, SWEEP_STACK_BYTES)
        gdb.execute(command, to_string=True)
        newest = gdb.newest_frame() if is_running() else None
        if not newest or register(newest, "rsp") > began + 8 or (newest.pc() == caller and register(newest, "rsp") > began):
            break
    if is_running():
        recorder.record("after", SWEEP_STACK_BYTES)


def take(recorder, step):
    word, _, rest = step.partition(" ")
    if word == "to":
        to_location(rest)
    elif word == "syscall":
        to_syscall(rest)
    elif word == "stepi":
        gdb.execute(f"stepi {rest}", to_string=True)
    elif word == "record":
        recorder.record(word)
    elif word == "short":
        recorder.record(word, int(rest), False)
    elif word == "sweep":
        sweep(recorder, "stepi", int(rest))
    elif word == "over":
        sweep(recorder, "nexti", int(rest))
    elif word == "gdb":
        gdb.execute(rest, to_string=True)
    else:
        raise gdb.GdbError(f"no such step: {step}")


def main():
    with open(os.environ["RECORD_JOB"]) as file:
        job = json.load(file)
    for command in PREPARE:
        gdb.execute(command, to_string=True)
    gdb.execute("unset environment", to_string=True)
    with open(job["out"], "w") as out:
        recorder = Recorder(out)
        for step in job["steps"]:
            try:
                take(recorder, step)
            except Exception as error:
                out.write(f"failed\t{step}: {error} {traceback.format_exc()!r}\n")
                break
    if is_running():
        gdb.execute("kill", to_string=True)


main()
