"""Disturbances of a training loop (loop.c), made for real: each is a context manager that lasts as long as it is held."""
import contextlib
import os
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
E2E = os.path.dirname(HERE)
ROOT = os.path.dirname(os.path.dirname(E2E))
sys.path[:0] = [E2E, f"{E2E}/attack"]
import attack  # noqa: E402
import sanitizers  # noqa: E402

PEER, HOST, PORT, FLOOD_PORT = "10.213.7.2", "10.213.7.1", "7413", "7414"
LINK_RATE, LINK_QUEUE = "400mbit", "96kb"


def build(build_folder):
    """The loop's path and the folder of the stand-in libraries."""
    folder = os.path.abspath(f"{build_folder}/report")
    os.makedirs(folder, exist_ok=True)
    parts = [f"{E2E}/workload/clocks.c", f"{E2E}/workload/coldfile.c", os.path.abspath(f"{build_folder}/libstalltag.a")]
    common = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}"]
    compile_one(f"{folder}/loop", [f"{HERE}/loop.c", *parts], [*common, *sanitizers.flags(build_folder)])
    for library in ("libcuda.so.1", "libnvidia-ml.so.1"):
        compile_one(f"{folder}/{library}", [f"{HERE}/standin_gpu.c"], [*common, "-shared", "-fPIC", f"-Wl,-soname,{library}"])
    return f"{folder}/loop", folder


def compile_one(target, sources, command):
    if not attack.stale(target, *sources):
        return
    partial = f"{target}.{os.getpid()}"
    done = subprocess.run([*command, "-o", partial, *sources, "-lpthread", "-ldl"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{target}: {done.stderr}")
    os.replace(partial, target)


@contextlib.contextmanager
def started(argv, **options):
    process = subprocess.Popen([str(word) for word in argv], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True, **options)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def disk_pressure(folder):
    """Deep queues of large direct reads and writes on the disk that has the folder."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        with started(["fio", "--name=hog", f"--directory={place}", "--rw=randrw", "--bs=1M", "--direct=1", "--ioengine=libaio",
                      "--iodepth=64", "--size=256M", "--numjobs=2", "--time_based", "--runtime=30", "--fallocate=none", "--thread"]):
            yield


@contextlib.contextmanager
def cpu_contention(cpus, spinners=8):
    """Threads that spin, so many on each of the CPUs: with three a loop that sleeps now and then sometimes gets all the time that it wants."""
    with contextlib.ExitStack() as stack:
        for cpu in cpus:
            for _ in range(spinners):
                stack.enter_context(started(["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"]))
        yield


@contextlib.contextmanager
def gpu_throttling(file):
    """The stand-in for the GPU is slowed, and says that it is throttled."""
    with open(file, "w"):
        pass
    try:
        yield
    finally:
        os.unlink(file)


FLOOD = """
import socket, sys, threading
def flood():
    s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
    block = bytes(1 << 16)
    while True:
        s.sendall(block)
for _ in range(16):
    threading.Thread(target=flood).start()
"""
SINK = """
import socket, sys, threading
def drink(c):
    while c.recv(1 << 18):
        pass
l = socket.create_server((sys.argv[1], int(sys.argv[2])))
print("listening", flush=True)
while True:
    threading.Thread(target=drink, args=(l.accept()[0],)).start()
"""


class Link:
    """A veth pair to a network namespace of its own, in which the loop's peer runs; the way there has a rate and a short queue (tc tbf).
    A context manager."""

    def __init__(self, loop, cpus):
        self.loop, self.cpus, self.name = loop, ",".join(map(str, cpus)), f"sp{os.getpid()}"
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        name = self.name
        for line in (f"ip netns add {name}", f"ip link add {name} type veth peer name eth0 netns {name}",
                     f"ip addr add {HOST}/24 dev {name}", f"ip link set {name} up", f"ip -n {name} addr add {PEER}/24 dev eth0",
                     f"ip -n {name} link set eth0 up", f"ip -n {name} link set lo up",
                     f"tc qdisc add dev {name} root tbf rate {LINK_RATE} burst 64kb limit {LINK_QUEUE}"):
            subprocess.run(line.split(), check=True, capture_output=True)
        inside = ["ip", "netns", "exec", name, "taskset", "-c", self.cpus]
        for argv in ([self.loop, "peer", PEER, PORT], [sys.executable, "-c", SINK, PEER, FLOOD_PORT]):
            process = subprocess.Popen([*inside, *argv], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
            self.stack.callback(process.wait)
            self.stack.callback(process.kill)
            process.stdout.readline()
        return self

    def __exit__(self, *_):
        self.stack.close()
        subprocess.run(["ip", "link", "del", self.name], check=False, capture_output=True)
        subprocess.run(["ip", "netns", "del", self.name], check=False, capture_output=True)

    def burst(self):
        """Other traffic on the link, in sixteen streams."""
        return started(["taskset", "-c", self.cpus, sys.executable, "-c", FLOOD, PEER, FLOOD_PORT])
