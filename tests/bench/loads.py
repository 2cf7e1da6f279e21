"""What tests/bench/run and tests/bench/agent share: the loads, each under a profiler or bare, and what those take meanwhile.

A load is started stopped, and goes on when whoever profiles it has attached: else the first part of a short run would be bare.
"""
import contextlib
import glob
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LOADS = ["fio", "syscalls", "pingpong", "changes", "newtags"]
ARGV = {"newtags": ("changes", "new")}  # of those that are not a program of their own name
FILE_MIB = 256
ATTACH_S = 20
HELD = 'kill -STOP $$; exec "$@"'
AGENT_CONF = """\
service_name: bench
window_seconds: {window}
output:
  directory: {directory}
"""


class NotMeasured(Exception):
    pass


def find(program, *places):
    for path in (*places, shutil.which(program)):
        if path and os.access(path, os.X_OK):
            return path
    raise NotMeasured(f"{program} is not installed")


def cpu_s(pid):
    """Seconds of CPU of a process so far, ended threads among them: its clock has nanoseconds, /proc/PID/stat has ticks."""
    return time.clock_gettime((~pid << 3) | 2)


def rss_kib(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        found = re.search(r"VmRSS:\s+(\d+)", file.read())
    return int(found[1]) if found else 0


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "gone"


def switch_hooks(pid):
    """How many BPF programs the process has attached to the scheduler's switch."""
    count = 0
    for path in glob.glob(f"/proc/{pid}/fdinfo/*"):
        try:
            with open(path, encoding="utf-8") as file:
                count += bool(re.search(r"^(tp_name:\s*sched_switch|attach_type:\s*23)$", file.read(), re.M))
        except OSError:
            pass
    return count


def wait_for(true, what, child=None, seconds=ATTACH_S):
    until = time.monotonic() + seconds
    while not true():
        if child and child.poll() is not None:
            raise NotMeasured(f"{what}: {child.args[0]} ended with {child.returncode}")
        if time.monotonic() > until:
            raise NotMeasured(f"{what}: not within {seconds} s")
        time.sleep(0.01)


class Daemon:
    """A process that runs beside the load, ended by SIGTERM or SIGINT. Its own CPU and memory are read before the end."""

    def __init__(self, argv, ready, ending=signal.SIGTERM):
        self.ending, self.usage = ending, {}
        self.errors = tempfile.TemporaryFile("w+")
        self.child = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=self.errors, stdin=subprocess.DEVNULL)
        try:
            wait_for(lambda: ready(self.child.pid), f"{os.path.basename(argv[0])} is ready", self.child)
        except NotMeasured as why:
            self.errors.seek(0)
            said = self.errors.read().strip()[-300:]
            self.end()
            raise NotMeasured(f"{why}: {said}") from why
        self.mark()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def mark(self):
        """From here on the usage counts."""
        self.began, self.cpu = time.monotonic(), cpu_s(self.child.pid)

    def take_usage(self):
        self.usage = {"cpu_ms_per_s": 1000 * (cpu_s(self.child.pid) - self.cpu) / (time.monotonic() - self.began),
                      "rss_kib": rss_kib(self.child.pid)}
        return self.usage

    def end(self):
        if self.child.poll() is None:
            self.child.send_signal(self.ending)
        try:
            self.child.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.errors.close()


def waits_in_poll(pid):
    """Whether the agent has set up its programs: it waits in its loop then, in poll or ppoll."""
    try:
        with open(f"/proc/{pid}/syscall", encoding="utf-8") as file:
            return file.read().split()[0] in ("7", "271")
    except (OSError, IndexError):
        return False


def offcputime_of(pid):
    """The peer, attached to one process."""
    return Daemon([find("offcputime", "/usr/sbin/offcputime"), "-p", str(pid), "3600"], ready=switch_hooks, ending=signal.SIGINT)


class Held:
    """A load that waits to go on: the child, which may be a profiler that runs it, and the pid of the load itself."""

    def __init__(self, name, child, pid):
        self.name, self.child, self.pid, self.daemon = name, child, pid, None

    def go_on(self, profiler=None):
        """`profiler`: the pid of who must have attached before that."""
        if profiler:
            wait_for(lambda: switch_hooks(profiler), "the profiler has attached", self.child)
            time.sleep(0.1)  # the scheduler's hook is one of many
        os.kill(self.pid, signal.SIGCONT)


class Stage:
    """A folder on the disk with fio's file in it, and the loads of one build. A context manager, which removes the folder."""

    def __init__(self, build, seconds):
        self.build, self.stallprof, self.seconds = build, os.path.abspath(f"{build}/stallprof"), seconds
        if not os.access(self.stallprof, os.X_OK):
            raise NotMeasured(f"{self.stallprof} is not built")

    def __enter__(self):
        self.directory = tempfile.mkdtemp(prefix="stallprof-bench.", dir=os.environ.get("BENCH_DIR", "/var/tmp"))
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.directory, ignore_errors=True)

    def prepare(self, loads):
        """Writes fio's file, so that reads meet real blocks."""
        if "fio" in loads:
            find("fio")
            with open(f"{self.directory}/data", "wb") as file:
                chunk = os.urandom(1 << 20)
                for _ in range(FILE_MIB):
                    file.write(chunk)
                os.fsync(file.fileno())

    def load(self, name):
        if name == "fio":
            return [find("fio"), "--name=bench", f"--filename={self.directory}/data", "--rw=randread", "--bs=4k", "--direct=1",
                    "--ioengine=psync", "--numjobs=1", "--thread", "--time_based", f"--runtime={round(1000 * self.seconds)}ms",
                    "--allow_file_create=0", "--output-format=json", f"--output={self.directory}/fio.json"]
        program, *rest = ARGV.get(name, (name,))
        return [find(f"{self.build}/bench/{program}", os.path.abspath(f"{self.build}/bench/{program}")), str(self.seconds), *rest]

    def rate(self, name, output):
        """(operations a second, operations by second of the load's own CPU)"""
        if name == "fio":
            with open(f"{self.directory}/fio.json", encoding="utf-8") as file:
                job = json.load(file)["jobs"][0]
            iops = float(job["read"]["iops"])
            # Where the disk hangs, fio takes no CPU in a brief run.
            return iops, 100 * iops / max(job["usr_cpu"] + job["sys_cpu"], 0.01)
        by_second, by_cpu_second = output.strip().splitlines()[-1].split()
        return float(by_second), float(by_cpu_second)

    def start(self, name, prefix=()):
        """The load, stopped before its exec, below `prefix`: (child, pid of the load)."""
        if prefix:
            find(prefix[0], prefix[0])
        read_end, write_end = os.pipe()
        held = ["sh", "-c", f'echo $$ >&{write_end}; exec {write_end}>&-; {HELD}', "load", *self.load(name)]
        child = subprocess.Popen([*prefix, *held], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                                 pass_fds=[write_end])
        os.close(write_end)
        with os.fdopen(read_end) as told:
            line = told.readline() if select.select([told], [], [], ATTACH_S)[0] else ""
        if not line:
            child.kill()
            raise NotMeasured(f"{' '.join(prefix) or name}: {child.communicate()[1].strip()[-300:]}")
        pid = int(line)
        wait_for(lambda: state_of(pid) == "T", f"{name} is held", child)
        return child, pid

    @contextlib.contextmanager
    def held(self, name, prefix=(), beside=None):
        """A load that is stopped before its exec, and `beside`(its pid), a Daemon that lives as long as it. What still runs at
        the end is killed."""
        load = None
        try:
            load = Held(name, *self.start(name, prefix))
            load.daemon = beside(load.pid) if beside else None
            yield load
        finally:
            if load and load.child.poll() is None:
                os.kill(load.pid, signal.SIGKILL)
                load.child.communicate()
            if load and load.daemon:
                load.daemon.end()

    def finish(self, load):
        """Waits for a load that goes on. Its rates."""
        output, errors = load.child.communicate()
        if load.child.returncode:
            raise NotMeasured(f"{load.child.args[0]} exited with {load.child.returncode}: {errors.strip()[-300:]}")
        return self.rate(load.name, output)

    def run_load(self, name, prefix=(), profiler=None, beside=None):
        """The load's rates. It goes on when `profiler`(held load), a pid, has attached."""
        with self.held(name, prefix, beside) as load:
            load.go_on(profiler and profiler(load))
            return self.finish(load)

    def agent(self, window=10):
        conf = f"{self.directory}/agent.yaml"
        with open(conf, "w", encoding="utf-8") as file:
            file.write(AGENT_CONF.format(directory=self.directory, window=window))
        return Daemon([self.stallprof, "agent", "-c", conf], ready=waits_in_poll)

    def tag_command(self):
        return [self.stallprof, "tag", "--name", "bench", "--"]

    def run_tagged(self, name, agent):
        """The load's rates under an agent, all its threads tagged."""
        return self.run_load(name, self.tag_command(), lambda _: agent.child.pid)


def brief():
    """Whether the bench is only to show that its parts run (`make bench BRIEF=1`): one short round, nothing judged."""
    return os.environ.get("BENCH_BRIEF", "") not in ("", "0")


def chosen(variable, known):
    """The known words that an environment variable names, all of them when it is not set."""
    words = [word for word in os.environ.get(variable, "").split(",") if word]
    unknown = set(words) - set(known)
    if unknown:
        sys.exit(f"{variable}: unknown: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    return [word for word in known if word in words] if words else list(known)
