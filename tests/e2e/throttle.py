#!/usr/bin/python3
"""A control group with a disk limit, for stalls that are the same on every host.

    throttle.py [--write-bps N] [--read-bps N] [--dir DIR] [--threads] -- COMMAND...

Runs COMMAND with reads or writes of the disk that holds DIR limited, and removes the group at the end. With --threads
COMMAND itself stays outside; the word {cgroup} in its arguments becomes the group's path, so that it can
move threads of its own in by writing to PATH/tasks. That is possible with cgroup v1 only; with v2 the
whole command runs inside, and {cgroup} becomes an empty string.
"""
import argparse
import contextlib
import os
import re
import subprocess
import sys
import time


def disk_of(path):
    """MAJ:MIN of the whole disk (not the partition) that holds path."""
    number = os.stat(path).st_dev
    name = f"{os.major(number)}:{os.minor(number)}"
    sysfs = os.path.realpath(f"/sys/dev/block/{name}")
    if os.path.exists(sysfs + "/partition"):
        with open(os.path.dirname(sysfs) + "/dev") as file:
            return file.read().strip()
    if not os.path.exists(sysfs):
        raise OSError(f"{path} lies on {name}, which is no block device")
    return name


def device_name(path):
    """Kernel name of that disk, such as vda."""
    return os.path.basename(os.path.realpath("/sys/dev/block/" + disk_of(path)))


def mounts():
    """[(mount point, type, options)]"""
    with open("/proc/self/mounts") as file:
        rows = [line.split() for line in file]
    return [(row[1], row[2], row[3].split(",")) for row in rows]


def hierarchy():
    """(version, path) of a hierarchy that can limit disks; (0, None) if there is none."""
    for path, kind, options in mounts():
        if kind == "cgroup" and "blkio" in options and os.path.exists(path + "/blkio.throttle.write_bps_device"):
            return 1, path
    for path, kind, _ in mounts():
        if kind == "cgroup2":
            with open(path + "/cgroup.controllers") as file:
                if "io" in file.read().split():
                    return 2, path
    return 0, None


def put(path, text):
    with open(path, "w") as file:
        file.write(text)


class Throttle:
    """The group. `path` is where it lies; `version` is 1 or 2. A context manager; OSError if it can't be made."""

    def __init__(self, directory, write_bps=0, read_bps=0, name="stallprof-test"):
        self.version, root = hierarchy()
        if not root:
            raise OSError("no cgroup hierarchy with the blkio (v1) or io (v2) controller is mounted")
        self.path = f"{root}/{name}.{os.getpid()}"
        self.disk = disk_of(directory)
        self.limits = {"read": read_bps, "write": write_bps}

    def __enter__(self):
        if self.version == 2:
            with contextlib.suppress(OSError):
                put(os.path.dirname(self.path) + "/cgroup.subtree_control", "+io")
        os.mkdir(self.path)
        try:
            self.set_limits(**self.limits)
        except OSError:
            self.__exit__()
            raise
        return self

    def set_limits(self, read=0, write=0):
        """Bytes a second; 0 means no limit."""
        if self.version == 1:
            put(self.path + "/blkio.throttle.read_bps_device", f"{self.disk} {read}")
            put(self.path + "/blkio.throttle.write_bps_device", f"{self.disk} {write}")
        else:
            put(self.path + "/io.max", f"{self.disk} rbps={read or 'max'} wbps={write or 'max'}")

    def add_process(self, pid):
        put(self.path + "/cgroup.procs", str(pid))

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.set_limits()  # whoever waits is let go, so that the group can empty
        for _ in range(50):
            try:
                os.rmdir(self.path)
                return
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.1)
        print(f"throttle.py: {self.path} stays: it is not empty", file=sys.stderr)

    def popen(self, argv, threads=False, **options):
        """Starts argv inside, or (threads) outside with {cgroup} replaced by the path."""
        outside = threads and self.version == 1
        argv = [re.sub(r"\{cgroup\}", self.path if outside else "", word) for word in argv]
        return subprocess.Popen(argv, preexec_fn=None if outside else lambda: self.add_process(0), **options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write-bps", type=int, default=0)
    parser.add_argument("--read-bps", type=int, default=0)
    parser.add_argument("--dir", default="/var/tmp")
    parser.add_argument("--threads", action="store_true")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command or not (args.write_bps or args.read_bps):
        parser.error("a limit and a command are needed")
    try:
        with Throttle(args.dir, args.write_bps, args.read_bps) as throttle:
            return throttle.popen(command, args.threads).wait()
    except OSError as error:
        print(f"throttle.py: {error}", file=sys.stderr)
        return 125


if __name__ == "__main__":
    sys.exit(main())
