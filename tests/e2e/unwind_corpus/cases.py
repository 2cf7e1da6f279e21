"""What test_unwind_corpus looks at: programs, how they are built, and where each is stopped (record.py has the steps)."""
import collections

# Source files, compiler, flags; `after`: commands for the finished program, with {} for its path.
Program = collections.namedtuple("Program", "sources compiler flags after", defaults=[()])
# `ends`: how our walks may end. One other than "complete", but for stops whose copy is short, means that gdb has made
# frames up: ours are fewer, all of them gdb's, and those that only gdb has are without names.
# `instead`: where gdb has it all wrong: the functions that there are, of each stop in one of them.
Case = collections.namedtuple("Case", "program arguments steps ends instead", defaults=[("complete",), ()])

FAST = ["-D_GNU_SOURCE", "-O2", "-g", "-fomit-frame-pointer"]
SLOW = ["-D_GNU_SOURCE", "-O0", "-g"]

PROGRAMS = {
    "frames-O2": Program(["frames.c"], "gcc", FAST),
    "frames-O0": Program(["frames.c"], "gcc", SLOW),
    "frames-clang": Program(["frames.c"], "clang", FAST),
    "detours": Program(["detours.c"], "gcc", FAST),
    "constructed.so": Program(["constructed.c"], "gcc", ["-O2", "-g", "-shared", "-fPIC"]),
    "throw": Program(["throw.cc"], "g++", FAST),
    "throw-clang": Program(["throw.cc"], "clang++", FAST),
    "rules": Program(["rules.S", "rules_main.c"], "gcc", FAST),
}

# Function of frames.c to step through, by shape.
SHAPES = {"registers": "many_registers", "alloca": "with_alloca", "large": "large", "realigned": "realigned",
          "dynamic": "realigned_dynamic", "variadic": "variadic", "tail": "tail_caller", "noreturn": "behind_the_end",
          "cold": "with_cold_part", "qsort": "sorted", "plt": "through_plt"}

# How detours.c's functions are stopped, by shape.
HERE = "to *here"
DETOURS = {
    "signal": ["to *handler", "sweep 60"],
    "altstack": [HERE, "sweep 60"],
    "nested": [HERE, "sweep 40"],
    "nested_altstack": [HERE, "sweep 40"],
    "fault": [HERE, "sweep 20", HERE, "sweep 30"],
    "context": [HERE, "sweep 60", HERE, "sweep 150"],
    "jump": [HERE, "sweep 120"],
    "vfork": ["gdb set follow-fork-mode child", "gdb set detach-on-fork on", HERE, "sweep 12"],
    "clone": ["gdb set follow-fork-mode child", "gdb set detach-on-fork on", HERE, "sweep 12"],
    "thread": [HERE, "sweep 12"],
    "jit": [HERE, "sweep 30"],
    "clock": ["to main", "to *__vdso_clock_gettime", "sweep 200"],
    "exit": [HERE, "sweep 30", HERE, "sweep 30"],
    "dlopen": ["to loaded", "sweep 30", "to unloaded", "sweep 30"],
}

RULES = "rule_cfa_register rule_cfa_expression rule_expressions rule_remember rule_remember rule_far rule_args_size".split()

# glibc's tables end a coroutine nowhere: its first function returns to the very beginning of __start_context, and what
# is before that belongs to no function.
OTHER_ENDS = {"context": ("no_cfi", "bad")}
# Without tables gdb takes whatever lies at the stack pointer for a return address.
INSTEAD = {"jit": ("here", "[unknown", "by_jit", "run", "main", "__libc_start_call_main", "__libc_start_main_impl",
                   "_start")}


def cases():
    found = {}
    for program in ("frames-O2", "frames-O0", "frames-clang"):
        for shape, function in SHAPES.items():
            found[f"{shape}-{program}"] = Case(program, [shape], [f"to *{function}", "sweep 150"])
    for shape, steps in DETOURS.items():
        found[shape] = Case("detours", [shape.split("_parent")[0], "./constructed.so"], steps,
                            ends=OTHER_ENDS.get(shape, ("complete",)), instead=INSTEAD.get(shape, ()))
    for program in ("throw", "throw-clang"):
        found[f"{program}-cleaning"] = Case(program, [], ["to *cleaning", "sweep 100"])
        found[f"{program}-caught"] = Case(program, ["rethrow"], ["to *caught", "record", "to catcher", "to caught", "sweep 30"])
        found[f"{program}-raise"] = Case(program, [], ["to main", "to *_Unwind_RaiseException", "sweep 60"])
    found["rules"] = Case("rules", [], [step for name in RULES for step in (f"to *{name}", "sweep 30")])
    return found
