"""What test_unwind_corpus looks at: programs, how they are built, and where each is stopped (record.py has the steps)."""
import collections
import os
import shutil
import subprocess

# In the commands {src} is this folder, {out} the program. `after`: what is done to the finished program.
Program = collections.namedtuple("Program", "command after", defaults=[()])
# In the steps, @NAME is the address of a function in {out}.full, for programs that have lost their symbols.
# `ends`: how our walks may end. One other than "complete", but for stops whose copy is short, means that gdb has made
# frames up: ours are fewer, all of them gdb's, and those that only gdb has are without names.
# `instead`: where gdb has it all wrong: the functions that there are, of each stop in one of them.
# `guessed`: in functions without tables gdb goes by their instructions, pushes and all; we end there with "no_cfi".
Case = collections.namedtuple("Case", "program arguments steps ends instead guessed", defaults=[("complete",), (), False])


def compiled(source, compiler, *flags):
    return [compiler, "-D_GNU_SOURCE", "-o", "{out}", *("{src}/" + name for name in source.split()), *flags]


def fast(source, compiler, *flags):
    return compiled(source, compiler, "-O2", "-g", "-fomit-frame-pointer", *flags)


def package(name):
    return subprocess.run(["pkg-config", "--cflags", "--libs", name], capture_output=True, text=True).stdout.split()


KEEP = ["cp", "{out}", "{out}.full"]
# .gnu_debugdata: an ELF file with the symbols that .dynsym lacks, packed by xz.
MINI = [["objcopy", "--only-keep-debug", "{out}", "{out}.mini"], ["strip", "--strip-debug", "{out}.mini"],
        ["xz", "-f", "-C", "crc32", "{out}.mini"], ["strip", "{out}"],
        ["objcopy", "--add-section", ".gnu_debugdata={out}.mini.xz", "{out}"]]

PROGRAMS = {
    "O2": Program(fast("frames.c", "gcc")),
    "O0": Program(compiled("frames.c", "gcc", "-O0", "-g")),
    "clang": Program(fast("frames.c", "clang")),
    "O3-pointers": Program(compiled("frames.c", "gcc", "-O3", "-g", "-fno-omit-frame-pointer")),
    "O3-lto": Program(compiled("frames.c", "gcc", "-O3", "-g", "-flto", "-fomit-frame-pointer")),
    "cet": Program(fast("frames.c", "gcc", "-fcf-protection=full", "-Wl,-z,lazy", "-Wl,-z,ibtplt")),
    "avx": Program(fast("frames.c", "gcc", "-mavx", "-mstackrealign", "-fstack-protector-all", "-fstack-clash-protection")),
    "static": Program(fast("frames.c", "gcc", "-static")),
    "static-pie": Program(fast("frames.c", "clang", "-static-pie", "-fPIE")),
    "large-code": Program(fast("frames.c", "gcc", "-mcmodel=large", "-no-pie", "-fno-pie")),
    "gold": Program(fast("frames.c", "gcc", "-fuse-ld=gold", "-gdwarf-4", "-gz=zlib")),
    "no-header": Program(fast("frames.c", "gcc", "-Wl,--no-eh-frame-hdr")),
    "debug-frame": Program(fast("frames.c", "gcc", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables")),
    "stripped": Program(fast("frames.c", "gcc", "-no-pie", "-fno-pie"), [KEEP, ["strip", "{out}"]]),
    "mini": Program(fast("frames.c", "gcc", "-no-pie", "-fno-pie"), MINI),
    "musl": Program(fast("frames.c", "musl-gcc")),
    "detours": Program(fast("detours.c", "gcc")),
    "constructed.so": Program(fast("constructed.c", "gcc", "-shared", "-fPIC")),
    "throw": Program(fast("throw.cc", "g++")),
    "throw-clang": Program(fast("throw.cc", "clang++")),
    "parallel": Program(fast("parallel.cc", "g++", "-std=c++20", "-fopenmp")),
    "rules": Program(fast("rules.S rules_main.c", "gcc")),
    "rust": Program(["rustc", "-O", "-g", "-o", "{out}", "{src}/sorts.rs"]),
    "go": Program([next(filter(os.path.exists, ["/usr/lib/go-1.19/bin/go"]), "go"), "build", "-o", "{out}", "{src}/sleepers.go"]),
    "embed": Program(fast("embed.c", "gcc", *package("python3-embed"))),
}

# Functions of frames.c, in the order in which they are called.
FUNCTIONS = ("many_registers with_alloca large realigned realigned_dynamic variadic tail_caller behind_the_end leave "
             "with_cold_part sorted through_plt").split()
# Else a sweep gets lost in the loader at the first call of a library's function.
BOUND = "gdb set environment LD_BIND_NOW 1"

# How detours.c's functions are stopped, by shape.
HERE = "to *here"
DETOURS = {
    "signal": ["to *handler", "sweep 60"],
    "alarm": ["to *handler", "sweep 30"],
    "altstack": [HERE, "sweep 60"],
    "nested": [HERE, "sweep 40"],
    "nested_altstack": [HERE, "sweep 40"],
    "fault": [HERE, "sweep 20", HERE, "sweep 30"],
    "context": [HERE, "sweep 60", HERE, "sweep 150"],
    "jump": [HERE, "sweep 120"],
    "vfork": ["gdb set follow-fork-mode child", "gdb set detach-on-fork on", HERE, "sweep 12"],
    "clone": ["gdb set follow-fork-mode child", "gdb set detach-on-fork on", HERE, "sweep 12"],
    "vfork_parent": ["to vfork", "sweep 40"],
    "clone_parent": ["to clone", "sweep 40"],
    "thread": ["to main", "to *start_thread", "over 40", HERE, "sweep 12"],
    "jit": [HERE, "sweep 30"],
    "clock": ["to main", "to *__vdso_clock_gettime", "sweep 200"],
    "exit": [HERE, "sweep 30", HERE, "sweep 30"],
    "dlopen": ["to loaded", "sweep 30", "to unloaded", "sweep 30"],
    "start": ["gdb starti", "sweep 10", "to *_start", "sweep 5", "to *__libc_start_main_impl", "over 30", "to *main", "sweep 10"],
}

# glibc's tables end a coroutine nowhere: its first function returns to the very beginning of __start_context, and what
# is before that belongs to no function.
# The loader has no tables where it begins.
OTHER_ENDS = {"context": ("no_cfi", "bad"), "start": ("complete", "no_cfi")}
# Without tables gdb takes whatever lies at the stack pointer for a return address. DWARF has what becomes of a coroutine
# inside the function that it is called from: gdb makes that one of its frames; eu-addr2line and llvm-symbolizer don't.
START = ("main", "__libc_start_call_main", "__libc_start_main_impl", "_start")
INSTEAD = {"jit": ("here", "[unknown", "by_jit", "run", *START),
           "coroutine": ("here", "resumed", "std::__n4861::coroutine_handle<task::promise_type>::resume", "by_coroutine", *START)}

# Which one it is, the processor decides.
RESOLVERS = "to " + " | ".join(f"*_dl_runtime_resolve_{kind}" for kind in ("fxsave", "xsave", "xsavec"))
RULES = "rule_register rule_cfa_register rule_cfa_expression rule_expressions rule_remember rule_remember rule_far rule_args_size".split()


def sweeps(functions, count, prefix="*"):
    """Less of the function that calls another of them."""
    return [step for function in functions
            for step in (f"to {prefix}{function}", f"sweep {20 if function == 'behind_the_end' else count}")]


def frames_cases():
    found = {}
    for program in ("O2", "clang"):
        for function in FUNCTIONS:
            found[f"{program}-{function}"] = Case(program, [], [BOUND, f"to *{function}", "sweep 150"])
    for program in ("O0", "O3-pointers", "avx", "debug-frame", "cet"):
        found[program] = Case(program, [], [BOUND, *sweeps(FUNCTIONS, 40)])
    for program in ("O3-lto", "static-pie", "large-code", "gold", "no-header", "mini", "static"):
        found[program] = Case(program, [], [BOUND, *sweeps(FUNCTIONS, 40)])
    # musl's own functions have no tables.
    found["musl"] = Case("musl", [], sweeps(FUNCTIONS, 40), ends=("no_cfi",), guessed=True)
    found["stripped"] = Case("stripped", [], [BOUND, *sweeps(FUNCTIONS, 40, "@")])
    found["O2-resolver"] = Case("O2", ["plt"], ["to main", RESOLVERS, "over 60", "to *_dl_fixup",
                                                "sweep 100"])
    found["O2-lazy"] = Case("O2", ["plt"], ["to *through_plt", "sweep 60"])
    found["O2-deep"] = Case("O2", ["recursive"], ["to recursive if n == 0", "record", "short 8192", "short 100"])
    return found


def library_cases():
    found = {}
    for program in ("throw", "throw-clang"):
        found[f"{program}-cleaning"] = Case(program, [], ["to *cleaning", "sweep 100"])
        found[f"{program}-caught"] = Case(program, ["rethrow"], ["to *caught", "record", "to catcher", "to caught", "sweep 30"])
        found[f"{program}-raise"] = Case(program, [], [
            "to main", "to *__cxa_throw", "sweep 4", "to *_Unwind_RaiseException", "over 30", "to *__gxx_personality_v0",
            "sweep 40", "to _Unwind_Resume", "over 60"])
    found["parallel"] = Case("parallel", [], [HERE, "gdb set scheduler-locking step", "sweep 12", HERE, "sweep 12"])
    found["coroutine"] = Case("parallel", ["coroutine"], [HERE, "sweep 30", HERE, "sweep 30"], instead=INSTEAD["coroutine"])
    found["rust"] = Case("rust", [], [
        "to sorts::here", "record", "to sorts::here", "sweep 60", "to rust_panic", "record", "gdb set language c",
        "to *_Unwind_RaiseException", "sweep 30", "gdb set language auto", "to sorts::here", "sweep 30"])
    found["go"] = Case("go", [], ["to main.here", "sweep 60", "to main.deferred", "sweep 60"])
    found["libpython"] = Case("embed", ["{src}/recursion.py"], ["syscall write", "record", "short 16384", "stepi 1", "record", "stepi 1", "record"])
    found["python"] = Case("/usr/bin/python3", ["-S", "{src}/recursion.py"], ["syscall write", "record", "short 16384"])
    return found


def cases():
    found = frames_cases()
    for shape, steps in DETOURS.items():
        found[shape] = Case("detours", [shape.split("_parent")[0], "./constructed.so"], steps, ends=OTHER_ENDS.get(shape, ("complete",)),
                            instead=INSTEAD.get(shape, ()))
    found.update(library_cases())
    found["rules"] = Case("rules", [], sweeps(RULES, 30))
    found["rules-none"] = Case("rules", [], ["to *rule_none", "sweep 30"], ends=("complete", "no_cfi"), guessed=True)
    return found


def missing(program):
    """The compiler that is not there, or None."""
    compiler = PROGRAMS[program].command[0]
    return None if shutil.which(compiler) else compiler
