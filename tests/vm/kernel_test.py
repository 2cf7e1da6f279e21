"""What tests/vm/test_debian_* and test_ubuntu_* do: one boot of another kernel, in which stallprof records a workload that clocks itself.

The limits are wider than test_exact's. QEMU translates every instruction, some ten times slower than the machine, and its
virtual CPUs stand still whenever the host has other work: a call's way into and out of the kernel, which the workload counts as
stalled and the ledger as on-CPU or run queue, is no longer small against a wait of a few milliseconds, and 0.5 ms may pass within
one completion, so that its wakes are not followed to the device.
  wall     the rows sum to the tag's wall time, as clocked between outside and inside of push and pop, within 0.5 %
  stalled  the stall rows sum to what the workload clocked within 5 %, and the part of the recording that QEMU's threads waited
           for a CPU of the host: on whom it falls is chance, and no clock of the guest knows of it
  device   at least 80 % of the stalled time has the disk's name

What doctor calls available is what record attaches, also without CAP_SYS_ADMIN, by which alone tracepoints of modules (jbd2's)
and, as Debian has it (perf_event_paranoid is 3), perf events can be had.
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
import exact  # noqa: E402
from tap import Tap  # noqa: E402

WALL_PART, STALL_PART, DEVICE_PART = 0.005, 0.05, 0.8
WRITE_BPS = 16 << 20
CPUS = 2
UNAVAILABLE = 77
DEVICES = {"virtio": "vda", "nvme": "nvme0n1"}

# doctor asks apt for a package, which takes 5 s here.
SCRIPT = """uname -r >/vm-out/release
mount --bind /bin/true /usr/bin/apt-cache
CMOCKA_MESSAGE_OUTPUT=TAP {places} >/vm-out/places.txt 2>&1; echo $? >/vm-out/places.code
{stallprof} doctor --json >/vm-out/doctor.json; echo $? >/vm-out/doctor.code
# A program that overlayfs has copied, as a container's after a chmod.
mkdir -p /vm-disk/below /vm-disk/above /vm-disk/work /vm-disk/both
cp {truth} /vm-disk/below/truth
mount -t overlay -o lowerdir=/vm-disk/below,upperdir=/vm-disk/above,workdir=/vm-disk/work overlay /vm-disk/both
chmod g-x /vm-disk/both/truth
# An emulated CPU takes longer than usual to map memory: cases/dma_map.py looks at that.
{stallprof} record --dma-threshold 1000000000 -o /vm-out/record.pb.gz -- /vm-disk/both/truth --seconds 3 --mode fsync,direct --dir /vm-disk --json /vm-out/truth.json \
>/vm-out/record.log 2>&1; echo $? >/vm-out/record.code
{stallprof} top /vm-out/record.pb.gz -n 0 --json >/vm-out/top.json; echo $? >/vm-out/top.code
setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin -- {stallprof} doctor --json >/vm-out/lesser.json; echo $? >/vm-out/lesser.code
"""
TOO_OLD = """uname -r >/vm-out/release
{stallprof} doctor >/vm-out/doctor.txt; echo $? >/vm-out/doctor.code
{stallprof} record -o /vm-out/record.pb.gz -p 1 >/vm-out/record.log 2>&1; echo $? >/vm-out/record.code
"""


def read(out, name):
    with open(f"{out}/{name}", errors="replace") as file:
        return file.read()


def boot(build, pattern, disk, out, steps):
    script = steps.format(stallprof=shlex.quote(os.path.abspath(f"{build}/stallprof")),
                           truth=shlex.quote(os.path.abspath(f"{build}/workload/truth")),
                           places=shlex.quote(os.path.abspath(f"{build}/tests/test_kernel_places")))
    env = dict(os.environ, VM_SECONDS=os.environ.get("VM_SECONDS", "600"))
    return subprocess.run([f"{HERE}/boot", "--out", out, "--cpus", str(CPUS), "--disk", disk, "--write-bps", str(WRITE_BPS), pattern, "--", script], env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")


def hooks_of(text, *without):
    """doctor's hooks, each once, without those in whose place others serve, and without some causes'."""
    return {hook["hook"]: hook for cause in json.loads(text)["causes"] if not cause["cause"].startswith(without) for hook in cause["hooks"]
            if not hook["replaced"]}


def check_doctor(tap, name, out, lacks):
    """`lacks`: causes that this kernel cannot have, with the function or what else is missing of their hooks."""
    text = read(out, "doctor.json")
    tap.check(read(out, "doctor.code").strip() == "0", f"{name}: doctor exits with 0", text)
    causes = {row["cause"]: row["available"] for row in json.loads(text)["causes"]}
    missing = sorted(cause for cause, available in causes.items() if not available)
    tap.check(missing == sorted(lacks) and {"block_io", "journal", "throttle", "writeback"} <= causes.keys(),
              f"{name}: every cause can be shown{' but ' + ', '.join(sorted(lacks)) if lacks else ''}", f"cannot: {missing}", text)


def check_places(tap, name, out):
    """What CO-RE cannot find, as the guest's kallsyms have it."""
    text = read(out, "places.txt")
    tap.check(read(out, "places.code").strip() == "0" and "kallsyms have the variables" in text,
              f"{name}: the preemption count is where kallsyms have it", text)


def check_lesser_doctor(tap, name, out, disk, lacks):
    """Without CAP_SYS_ADMIN."""
    text = read(out, "lesser.json")
    missing = {hook["hook"]: hook["reason"] for hook in hooks_of(text).values() if not hook["available"]}
    missing = {hook: reason for hook, reason in missing.items() if hook.split("/", 1)[1] not in lacks.values() and not hook.startswith("uprobe/")}
    uprobes = {"usdt/stalltag:change", "usdt/stalltag:log", "usdt/stalltag:lost", "usdt/stalltag:process"}
    # Not everywhere is the journal a module, and clocks of CPUs need it.
    others = {"tp_btf/jbd2_start_commit", "tp_btf/jbd2_end_commit", "iter/task (journals)", "perf_event/cpu-clock"}
    if disk == "nvme":
        # Those in the disk's modules, and the one that such a cause also needs.
        others |= {hook for hook in missing if "/nvme_" in hook} | {"tp_btf/block_rq_issue"}
    tap.check(read(out, "lesser.code").strip() == "0" and uprobes <= missing.keys() <= uprobes | others and
              all("CAP_SYS_ADMIN" in reason or "another hook of the same cause" in reason for reason in missing.values()),
              f"{name}: without CAP_SYS_ADMIN doctor misses uprobes, clocks and the module's hooks, and says so", missing)


def stood_still(out):
    """The part of the recording that the guest's CPUs waited for the host's."""
    host = json.loads(read(out, "host.json"))
    (begin, queued_then), (end, queued) = host["record.log"], host["record.code"]
    return (queued - queued_then) / 1e9 / (CPUS * (end - begin))


def check_tag(tap, name, tag, top, pid, causes, device, still):
    books, rows = exact.whole_books(tag), exact.rows_of(top, tag["tag"], pid)
    states = exact.sum_by(rows, "state")
    wall, stalled = sum(states.values()), states[("stall",)]
    figures = (f"{name}: {tag['tag']}: ledger {dict(states)}; workload wall {books.wall} to {books.wall_outer}, "
               f"stalled {books.stalled}; rows {exact.sum_by(rows, 'cause', 'device')}")
    tap.note(figures)
    off = exact.off_by(wall, books.wall, books.wall_outer)
    tap.check(books.wall > 0 and abs(off) <= WALL_PART * books.wall, f"{name}: {tag['tag']}: rows sum to the wall time within 0.5 %",
              f"off by {exact.percent(off, books.wall)}", figures)
    off = stalled - books.stalled
    tap.check(books.stalled > 0 and abs(off) <= (STALL_PART + still) * books.stalled, f"{name}: {tag['tag']}: stalled time within {100 * (STALL_PART + still):.1f} %",
              f"off by {exact.percent(off, books.stalled)}", figures)
    named = sum(row["ns"] for row in rows if row["state"] == "stall" and row["device"] == device and row["cause"] in causes)
    tap.check(stalled and named >= DEVICE_PART * stalled, f"{name}: {tag['tag']}: its stalls are {' or '.join(causes)} of {device}",
              f"{exact.percent(named, stalled)} of the stalled time, CPUs stood still for {still:.1%}", figures)
    nameless = [row for row in rows if row["state"] == "stall" and not row["device"]]
    tap.check(not nameless, f"{name}: {tag['tag']}: each stall has its device", nameless, figures)
    return {row["cause"] for row in rows}


def check_record(tap, name, out, device):
    log = read(out, "record.log")
    recorded = tap.check(read(out, "record.code").strip() == "0", f"{name}: record exits with 0", log[-3000:])
    if not recorded or not tap.check(read(out, "top.code").strip() == "0", f"{name}: top exits with 0"):
        return
    truth, top = json.loads(read(out, "truth.json")), json.loads(read(out, "top.json"))
    causes = {"direct": ("block_io",), "fsync": ("journal", "writeback", "block_io")}
    for tag in truth["tags"]:
        seen = check_tag(tap, name, tag, top, truth["pid"], causes[tag["mode"]], device, stood_still(out))
        if tag["mode"] == "fsync":
            tap.check("journal" in seen, f"{name}: fsync waits for the journal", f"causes: {seen}")
    # The host's signals are files, no hooks.
    attached = {hook["hook"] for hook in top["stamp"]["hooks"] if hook["state"] == "attached" and hook["cause"] != "host_signals"}
    # Libraries' functions are attached to where a program maps them, those of files where a folder is given.
    available = {hook for hook, row in hooks_of(read(out, "doctor.json"), "tag_files").items() if row["available"] and not hook.startswith("uprobe/")}
    tap.check(attached == available and "tp_btf/sched_switch" in attached, f"{name}: what doctor calls available is attached",
              f"only by doctor: {available - attached}; only by record: {attached - available}")
    named = [frame for stack in top["stacks"] for frame in stack["frames"] if os.path.basename(frame.get("file") or "") == "truth.c"]
    tap.check(named and not top["stamp"]["counters"]["files_missing"], f"{name}: the program that overlayfs has copied has names and lines",
              top["stacks"][:2])
    unequal = exact.profile_differences(top)
    tap.check(not unequal, f"{name}: profile sums equal ledger sums to the nanosecond", *map(str, unequal[:10]))
    tap.note(f"{name}: counters that are not 0: "
             f"{ {key: value for key, value in top['stamp']['counters'].items() if value} }")


def booted(tap, build, name, pattern, disk, out, steps):
    done = boot(build, pattern, disk, out, steps)
    if done.returncode == UNAVAILABLE:
        tap.skip(f"{name}: boots", f"allowed: {' '.join(done.stdout.split())[-300:]}")
        return False
    if not tap.check(done.returncode == 0, f"{name}: boots and runs", done.stdout[-3000:]):
        return False
    tap.note(f"{name}: Linux {read(out, 'release').strip()}")
    return True


def run(build, name, pattern, disk, lacks=None):
    lacks = lacks or {}
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="stallprof-vm-out-") as out:
        if booted(tap, build, name, pattern, disk, out, SCRIPT):
            check_places(tap, name, out)
            check_doctor(tap, name, out, lacks)
            check_record(tap, name, out, DEVICES[disk])
            check_lesser_doctor(tap, name, out, disk, lacks)
    tap.end()


def run_too_old(build, name, pattern, lacks):
    """A kernel that cannot serve: doctor and record say so alike, and what it lacks."""
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="stallprof-vm-out-") as out:
        if booted(tap, build, name, pattern, "virtio", out, TOO_OLD):
            doctor, log, release = read(out, "doctor.txt"), read(out, "record.log"), read(out, "release").strip()
            tap.check(read(out, "doctor.code").strip() == "1", f"{name}: doctor exits with 1", doctor)
            said = re.search(r"^  bpf +no: this kernel is too old: it lacks (.*)$", doctor, re.M)
            tap.check(said and all(text in said[1] for text in lacks), f"{name}: doctor says that it is too old and what it lacks", doctor)
            tap.check("available" not in doctor, f"{name}: doctor calls no hook available", doctor)
            tap.check(read(out, "record.code").strip() == "1" and said and
                      log == f"stallprof: this kernel ({release}) is too old: it lacks {said[1]}\n", f"{name}: record says the same, in one line",
                      log)
    tap.end()
