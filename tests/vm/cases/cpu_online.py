"""A CPU that comes online while recording: for the first time, again after a while, and again so soon that nobody saw it offline. A program that is
started on it afterwards, from a file that nobody has mapped before, has its tags, its name and its CPU samples as on any other. One that is started
under a tag, which needs no look at its mappings, has its CPU samples, too."""

import profiled

KERNEL = "6.1"
APPEND = "maxcpus=1"
STAGES = ("first", "again", "soon")
HZ = 49
# Of the tags' time: the first changes are made before the probes are attached, which takes its time in a guest.
TAGGED = 0.75
# Of the time on the CPU that has samples: all of it, but a guest whose QEMU waits for a CPU skips ticks of its timers, half of them and more. What is
# there without CPU 1's clock is the start on CPU 0, some 2 %.
LEAST, MOST = 0.2, 1.25

GUEST = """
cpu1=/sys/devices/system/cpu/cpu1
[ "$(cat /sys/devices/system/cpu/online)" = 0 ] || exit 1
"$STALLPROF" record -a --oncpu-hz %d -o /vm-out/cpus.pb.gz 2>/vm-out/cpus.log &
profiler=$!
until_true 100 listens $profiler
# Something is tagged all the time, so that the clocks are there before the CPU comes.
"$STALLPROF" tag -n keeper -- sleep 1000 &
keeper=$!
sleep 2

# stage NAME: a shell spins on CPU 1 under the tag clock/NAME, and a program of that name runs there.
stage()
{
	sleep 3
	cp "$PUSHERS" /tmp/$1
	stat -c %%i $cpu1/topology >/vm-out/$1.since
	"$STALLPROF" tag -n clock/$1 -- taskset -c 1 timeout 2 sh -c "while :; do :; done"
	taskset -c 1 /tmp/$1 name=$1 cpu=1 threads=2 rounds=2000 >/vm-out/$1.lines || exit 1
	sleep 1
}
echo 1 >$cpu1/online || exit 1
stage first
echo 0 >$cpu1/online || exit 1
sleep 3
echo 1 >$cpu1/online || exit 1
stage again
echo 0 >$cpu1/online && echo 1 >$cpu1/online || exit 1
stage soon
kill $keeper
kill -TERM $profiler
wait $profiler
echo $? >/vm-out/cpus.code
"$STALLPROF" top /vm-out/cpus.pb.gz -n 0 --json >/vm-out/cpus.top.json
""" % HZ


def check_samples(case, name, rows, stacks):
    ran = sum(row["ns"] for row in rows if row["state"] == "oncpu")
    sampled = sum(stack["cpu_ns"] for stack in stacks)
    case.tap.check(LEAST * ran < sampled < MOST * ran, f"{name}: its time on the CPU is sampled", case.off(sampled, ran) if ran else "it has none")
    return sampled


def check_stage(case, top, name):
    held = profiled.json_lines(case.text(f"{name}.lines"))
    rows, stacks = ([row for row in top[part] if row["tag"].startswith(f"{name}/")] for part in ("ledger", "stacks"))
    truth = sum(thread["low_ns"] for thread in held)
    told = sum(row["ns"] for row in rows)
    # Where the profiler waits for a CPU, that comes later; it says by how much.
    late = len(held) * top["stamp"]["counters"].get("tag_probes_late_ns", 0)
    case.tap.check(len(held) == 2 and min(TAGGED * truth, 0.95 * truth - late) < told < 1.05 * truth, f"{name}: its tags have their time",
                   case.off(told, truth) if truth else str(held), f"{late} ns late")
    case.tap.check({row["comm"] for row in rows} == {name}, f"{name}: its rows have its name", str({row["comm"] for row in rows}))
    sampled = check_samples(case, name, rows, stacks)
    named = sum(stack["cpu_ns"] for stack in stacks if any(frame["function"] == "spin_us" for frame in stack["frames"]))
    case.tap.check(sampled and named > 0.5 * sampled, f"{name}: its samples have its functions", f"{named} of {sampled} ns")


def check(case):
    if not case.tap.check(case.text("cpus.code").strip() == "0", "recorded", case.text("cpus.log")[-3000:]):
        return
    top = case.json("cpus.top.json")
    since = [case.text(f"{name}.since").strip() for name in STAGES]
    case.tap.check(len(set(since)) == len(STAGES), "each time that the CPU comes online sysfs has another folder of it", str(since))
    for name in STAGES:
        check_stage(case, top, name)
        tag = f"clock/{name}"
        check_samples(case, tag, *([row for row in top[part] if row["tag"] == tag] for part in ("ledger", "stacks")))
    counters = top["stamp"]["counters"]
    case.tap.check(not counters.get("cpus_not_covered"), "in the end each CPU is covered", str(counters))
    case.tap.note(str({name: value for name, value in counters.items() if value}))
