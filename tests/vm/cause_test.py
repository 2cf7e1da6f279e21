"""What tests/vm/test_causes_* do: one boot of a kernel for each case in tests/vm/cases/, in which a real fault is made while threads wait
that clock themselves.

A case is a file of its own:
  MACHINE        words for QEMU's command line
  APPEND         words for the kernel's
  TCG            "multi": a thread for each of the guest's CPUs. That is where a device must work beside them; but QEMU then sometimes
                 executes what the kernel has just patched, and the guest dies
  GUEST          what the guest runs: a shell script that may call the functions of tests/vm/guest.sh
  KERNEL         the kernel that `make test` boots for it, "6.1", "6.12" or "sid"; without it that is left to `make test-vm`, as guests take
                 a minute each
  SECONDS        how long the guest may take, if 400 do not suffice
  NOT_ON         {"6.1": reason}: kernels that it cannot run on
  CRASH          a function in which some kernels crash by a fault of their own: where the console tells that, the guest is booted again
  programs(build)  {NAME: path}: more programs, by the names that the script has for them
  check(case)    what is to be seen afterwards; `case` is an object of Case

CASE=NAME runs that one alone, CASE=all each of them. Each leaves what it saw in out/vm/KERNEL-NAME/.
"""
import contextlib
import glob
import importlib.util
import io
import json
import os
import shlex
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(HERE, "..", "e2e")]
import exact  # noqa: E402
import profiled  # noqa: E402
from tap import Tap  # noqa: E402

UNAVAILABLE = 77
BOOTS = 3
PART = 0.03
WALL_PART = 0.005
BUSY = 0.02
LOSSES = ("ring_full", "ledger_full", "tags_full", "threads_failed", "follow_full", "samples_lost", "events_without_memory", "rows_refused",
          "slots_exhausted", "slots_lost")


class Case:
    """What one case has left."""

    def __init__(self, tap, kernel, name, out):
        self.tap, self.kernel, self.name, self.out, self.cells = tap, kernel, name, out, []

    def text(self, name):
        try:
            with open(f"{self.out}/{name}", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def json(self, name):
        return json.loads(self.text(name))

    @staticmethod
    def realtime_offset(top, spans):
        """Unix time less CLOCK_MONOTONIC, by a recording of a command and the moments at which that held its tags."""
        return top["stamp"]["last_ns"] - max(span["outer_end_ns"] for span in spans)

    @property
    def dmesg(self):
        return self.text("dmesg")

    def recorded(self, name):
        """(top, the lines of tags, the lines of calls) of guest.sh's record NAME."""
        if not self.tap.check(self.text(f"{name}.code").strip() == "0", f"{name}: record and its command exit with 0", self.text(f"{name}.log")[-3000:]):
            raise RuntimeError("no profile")
        lines = profiled.json_lines(self.text(f"{name}.lines"))
        return json.loads(self.text(f"{name}.top.json")), [line for line in lines if "tag" in line], [line for line in lines if "call_ns" in line]

    def ns(self, top, tag, *causes):
        return sum(row["ns"] for row in top["ledger"] if row["state"] == "stall" and tag in (None, row["tag"]) and row["cause"] in causes)

    @staticmethod
    def near(value, truth, part=PART):
        return truth > 0 and abs(value - truth) <= part * truth

    @property
    def is_starved(self):
        """Whether QEMU had to wait for CPUs, so that what the guest ran took longer than it takes."""
        return waited(self.out) >= BUSY

    def near_sleep(self, told, wall, cpu, runqueue, part=PART):
        """Whether `told` is what a thread slept, by the kernel's own counts. Since 6.12 that of the run queue has some sleeps, too: those of a
        thread whose dequeuing was put off, and that was moved to another CPU meanwhile. There the sleep may be as long as the two together."""
        least, most = wall - cpu - runqueue, wall - cpu - (runqueue if self.kernel == "6.1" else 0)
        return least > 0 and (1 - part) * least <= told <= (1 + part) * most

    @staticmethod
    def off(value, truth):
        return f"told {value / 1e9:.6f} s, truth {truth / 1e9:.6f} s ({exact.percent(value - truth, truth)})"

    def report(self, top, tag):
        rows = exact.sum_by([row for row in top["ledger"] if tag in (None, row["tag"])], "state", "cause", "device")
        return [f"{' '.join(filter(None, key))}: {ns / 1e9:.6f} s" for key, ns in sorted(rows.items())] + [
            f"counters: { {key: value for key, value in top['stamp']['counters'].items() if value} }"]

    def check_ledger(self, top, span):
        """The rows of a tag sum to the time that its thread held it."""
        wall = sum(row["ns"] for row in top["ledger"] if row["tag"] == span["tag"])
        low, high = span["end_ns"] - span["begin_ns"], span["outer_end_ns"] - span["outer_begin_ns"]
        off = exact.off_by(wall, low, high)
        self.tap.check(abs(off) <= WALL_PART * low, f"{span['tag']}: the rows sum to its wall time", exact.percent(off, low), *self.report(top, span["tag"]))

    @staticmethod
    def hooks(top):
        """Names of the hooks that were attached, as stamps have them."""
        return {hook["hook"] for hook in top["stamp"]["hooks"] if hook["state"] == "attached"}

    def check_frames(self, stacks, wanted):
        """Each stack has the kernel functions `wanted`."""
        lacking = [stack for stack in stacks if not set(wanted) <= {frame["function"] for frame in stack["frames"]}]
        self.tap.check(stacks and not lacking, f"{len(stacks)} stacks have {', '.join(wanted)}",
                       *[" < ".join(frame["function"] for frame in stack["frames"]) for stack in lacking[:3]])

    def check_no_loss(self, top):
        lost = {name: n for name, n in top["stamp"]["counters"].items() if n and name in LOSSES}
        self.tap.check(not lost, "nothing was lost", lost)

    def check_clean(self, top, cause):
        """The hooks of the cause were attached, or others in their place, and nothing was lost."""
        hooks = [hook for hook in top["stamp"]["hooks"] if hook["cause"] == cause]
        off = [hook for hook in hooks if hook["state"] != "attached"]
        self.tap.check(hooks and not off, f"{cause}: its hooks are attached", *map(str, off or ["none"]))
        self.check_no_loss(top)

    @staticmethod
    def hook(top, name):
        """What the recording says of a hook: "attached", "unused" or "missing", and why."""
        return next(((hook["state"], hook["reason"]) for hook in top["stamp"]["hooks"] if hook["hook"] == name), ("absent", ""))

    def check_hooks(self, top, *names):
        seen = {name: self.hook(top, name) for name in names}
        self.tap.check(all(state == "attached" for state, _ in seen.values()), f"attached: {', '.join(names)}", str(seen))

    @staticmethod
    def busy_ns(top, tag=None):
        """What a tag's thread, or all, spent on the CPU and on the run queue: a part of its calls' time that is no stall's."""
        return sum(row["ns"] for row in top["ledger"] if row["state"] in ("oncpu", "runqueue") and (row["tag"] == tag or (tag is None and row["tag"].startswith("waiter/"))))

    @staticmethod
    def all_of(told, busy, truth):
        """Whether calls of `truth` are the stall told, and, for the rest, time on the CPU and its queue, of which some is outside of calls."""
        return told > 0.85 * truth and told - PART * truth <= truth <= told + busy + PART * truth

    @staticmethod
    def cpu_ns(top, cause, frame=""):
        """Time on the CPU inside stalls of that cause, in stacks with that function."""
        return sum(stack["cpu_ns"] for stack in top["stacks"] if stack["stall"] == cause and (not frame or frame in [each["function"] for each in stack["frames"]]))

    def cell(self, cause, top=None, of=lambda row: True, **seen):
        """A row of the table of causes (tests/vm/causes). `top`: what was recorded, whose ledger rows and stacks count that `of` takes."""
        if top:
            rows = [row for row in top["ledger"] if row["state"] == "stall" and row["cause"] == cause and of(row)]
            stacks = [stack for stack in top["stacks"] if stack["stall"] == cause and of(stack)]
            worst = max(stacks, key=lambda stack: stack["delay_ns"], default={"frames": []})
            seen = {"devices": sorted({row["device"] for row in rows}),
                    "hooks": [hook["hook"] for hook in top["stamp"]["hooks"] if hook["cause"] == cause and hook["state"] == "attached"],
                    "frames": [frame["function"] for frame in worst["frames"]], **seen}
        self.cells.append({"kernel": self.kernel, "case": self.name, "cause": cause, **seen})


def cases(kernel):
    only = os.environ.get("CASE") or None
    for path in sorted(glob.glob(f"{HERE}/cases/*.py")):
        name = os.path.basename(path)[:-3]
        if only in (None, "all", name):
            spec = importlib.util.spec_from_file_location(name, path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            if only or getattr(module, "KERNEL", None) == kernel:
                yield name, module


def compiled(build, name):
    """BUILD/vm/NAME, of tests/vm/cases/NAME.c."""
    os.makedirs(f"{build}/vm", exist_ok=True)
    target = os.path.abspath(f"{build}/vm/{name}")
    part = f"{target}.{os.getpid()}"  # tests of several kernels run side by side
    sources = [f"{HERE}/cases/{name}.c", f"{ROOT}/tests/e2e/attack/attack.c", f"{ROOT}/tests/e2e/workload/clocks.c", f"{build}/libstalltag.a"]
    if not os.path.exists(target) or any(os.path.getmtime(source) > os.path.getmtime(target) for source in sources):
        subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}", f"-I{ROOT}/tests/e2e/attack",
                        "-o", part, *sources, "-lpthread", "-ldl"], check=True)
        os.replace(part, target)
    return target


def boot(build, pattern, module, out):
    """Kernels sometimes panic in QEMU while they boot, where they patch their own code: those that never came to the script are booted again, and
    so are those that crash where the case knows that they do."""
    crash = getattr(module, "CRASH", None)
    for left in reversed(range(BOOTS)):
        done = boot_once(build, pattern, module, out)
        crashed = crash and done.returncode and f" {crash}+" in done.stdout
        if not left or done.returncode in (0, UNAVAILABLE) or (os.path.exists(f"{out}/.stdout") and not crashed):
            break
        print(f"# booted again: the kernel {f'crashed in {crash}()' if crashed else 'did not come to the script'}", flush=True)
        shutil.rmtree(out)
        os.makedirs(out)
    return done


def boot_once(build, pattern, module, out):
    programs = {os.path.basename(path)[:-2].upper(): compiled(build, os.path.basename(path)[:-2]) for path in glob.glob(f"{HERE}/cases/*.c")}
    values = {"STALLPROF": os.path.abspath(f"{build}/stallprof"), "STALLTAG": os.path.abspath(f"{build}/libstalltag.so"),
              "WORKLOADS": f"{ROOT}/tests/e2e/workload", "SCRIPTS": HERE, **programs,
              **getattr(module, "programs", lambda _: {})(build)}
    with open(f"{out}/script", "w") as file:
        file.writelines(f"{name}={shlex.quote(value)}\n" for name, value in values.items())
        file.write(f". {HERE}/guest.sh\ndmesg -n 1\n{module.GUEST}\ndmesg >/vm-out/dmesg\n")
    env = dict(os.environ, VM_SECONDS=os.environ.get("VM_SECONDS", str(getattr(module, "SECONDS", 400))))
    return subprocess.run([f"{HERE}/boot", "--out", out, "--machine", getattr(module, "MACHINE", ""), "--tcg", getattr(module, "TCG", "single"), "--append", getattr(module, "APPEND", ""),
                           "--memory", "1536", pattern, "--", "sh /vm-out/script"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")


def waited(out):
    """How much of its time the guest's QEMU waited for a CPU of this machine."""
    try:
        with open(f"{out}/host.json") as file:
            seen = sorted(json.load(file).values())
    except (OSError, ValueError):
        return 0
    return seen[-1][1] / 1e9 / max(seen[-1][0] - seen[0][0], 1e-9) if seen else 0


def judge(tap, kernel, name, module, out, done):
    """The checks of a case. Its cells are left in the folder."""
    tap.note(f"{kernel} {name}:")
    failed_before = tap.failed
    case = Case(tap, kernel, name, out)
    if not tap.check(done.returncode == 0, f"{kernel} {name}: the guest's script exits with 0", done.stdout[-3000:]):
        return
    try:
        module.check(case)
    except (OSError, ValueError, KeyError, IndexError, RuntimeError) as error:
        tap.check(False, f"{kernel} {name}: ran to its end", f"{type(error).__name__}: {error}", done.stdout[-2000:])
    with open(f"{out}/cells.json", "w") as file:
        json.dump([{**cell, "failed": tap.failed - failed_before} for cell in case.cells], file, indent=1)


def run_case(tap, build, kernel, pattern, name, module):
    """A guest's clocks go on while QEMU waits for a CPU, so a case that fails then is run again, at most twice, and that is said."""
    reason = getattr(module, "NOT_ON", {}).get(kernel)
    if reason:
        tap.skip(f"{kernel} {name}", f"allowed: {reason}")
        return
    out = f"{ROOT}/out/vm/{kernel}-{name}"
    for is_last in (False, False, True):
        shutil.rmtree(out, ignore_errors=True)
        os.makedirs(out)
        done = boot(build, pattern, module, out)
        if done.returncode == UNAVAILABLE:
            tap.skip(f"{kernel} {name}", f"allowed: {' '.join(done.stdout.split())[-300:]}")
            return
        if is_last or waited(out) < BUSY:
            break
        trial = Tap()
        with contextlib.redirect_stdout(io.StringIO()) as said:
            judge(trial, kernel, name, module, out, done)
        if not trial.failed:
            break
        tap.note(f"{kernel} {name}: QEMU waited {waited(out):.1%} of the time for a CPU, and {trial.failed} checks failed; once more:",
                 *[line for line in said.getvalue().splitlines() if line.startswith("not ok")])
    judge(tap, kernel, name, module, out, done)


def run(build, kernel, pattern):
    tap = Tap()
    for name, module in cases(kernel):
        run_case(tap, build, kernel, pattern, name, module)
    tap.end()
