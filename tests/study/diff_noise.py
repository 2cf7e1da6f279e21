#!/usr/bin/env python3
"""tests/study/diff_noise.py BUILD [gpu|disk] [PAIRS] [PLANTS]: how often `stallprof diff` cries wolf, and how often it finds a planted 5 %.

Not a part of `make test`: it takes a quarter of an hour. PAIRS (40) pairs of runs of the same build are compared with the default bounds: an alarm is
`--fail-on any:+0%` that fails. PLANTS (20) builds have one of four functions wait 5 % longer: found is a comparison that fails and whose
first row is that function. Rules as CI has them (CI below) are counted, too: how many pairs of the same build fail by them, and how many cannot be
judged (status 2). tests/study/diff_noise/trainer.c is the program: gpu waits in calls of a stand-in for libcuda, disk in direct I/O
that blk-throttle holds back. Runs go six at a time. Needs root. Prints a line each, and the counts. KEEP=FOLDER keeps the recordings there, and
compares those that are there already.
"""
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SOURCE = os.path.join(HERE, "diff_noise")
FUNCTIONS = ["save_shard", "save_index", "load_batch", "load_labels"]
ROUNDS = {"gpu": 700, "disk": 500}
BYTES_A_SECOND = 2000000
AT_A_TIME = 6
CI = (("any:+0%",), ("any:+10%",), ("total:+5%", "function:save_shard:+5%", "function:load_labels:+5%"), ("total:+10%",))


class Study:
    def __init__(self, build, kind, folder):
        self.stallprof, self.build = f"{build}/stallprof", build
        self.kind, self.folder = kind, folder
        self.kept = os.environ.get("KEEP") or folder
        os.makedirs(self.kept, exist_ok=True)
        self.library = f"{folder}/libcuda.so.1"
        self.cc("-shared", "-fPIC", "-o", self.library, f"{SOURCE}/standin_cuda.c")
        self.programs = {None: self.compile(None)}
        for name in ("saved", "data"):
            with open(f"{folder}/{name}", "wb") as file:
                file.write(os.urandom(8 << 20))
        os.sync()

    def cc(self, *words):
        subprocess.run(["cc", "-O2", "-g", "-D_GNU_SOURCE", "-Wall", "-Werror", f"-I{ROOT}", *words], check=True)

    def compile(self, plant):
        program = f"{self.folder}/trainer-{plant or 'plain'}"
        self.cc(*([f"-DPLANT_{plant}=5"] if plant else []), "-o", program, f"{SOURCE}/trainer.c", f"{self.build}/libstalltag.a",
                "-lpthread", "-ldl")
        return program

    def record(self, name, plant=None):
        file = f"{self.kept}/{name}.pb.gz"
        if os.path.exists(file):
            return file
        command = [self.stallprof, "record", "-q", "--strict", "--name", "trainer", "-o", file, "--", self.programs[plant], self.kind, self.folder,
                   str(ROUNDS[self.kind]), self.library]
        if self.kind == "disk":
            command = [f"{ROOT}/tests/e2e/throttle.py", "--dir", self.folder, "--write-bps", str(BYTES_A_SECOND), "--read-bps",
                       str(BYTES_A_SECOND), "--", *command]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return file

    def compare(self, base, new):
        """(status, name of the first row, all of it)"""
        status, found = self.judge(base, new, "any:+0%")
        return status, found["rows"][0]["name"], found

    def judge(self, base, new, *rules):
        """(status, all of it)"""
        done = subprocess.run([self.stallprof, "diff", base, new, "--normalize", "none", "--format", "json", *(word for rule in rules for word in ("--fail-on", rule))],
                              capture_output=True, text=True, check=False)
        found = json.loads(done.stdout) if done.stdout else {"refused": True}
        if found["refused"]:
            raise RuntimeError(done.stderr)
        return done.returncode, found


def describe(found, name):
    row = next(row for row in found["rows"] if row["name"] == name)
    return f"{row['percent'] or 0:+.2f} % of {name} ({row['verdict']}), total {found['total']['percent']:+.2f} %"


def noise(study, pool, pairs):
    files = list(pool.map(study.record, [f"same-{i}" for i in range(2 * pairs)]))
    alarms = 0
    for i in range(pairs):
        status, first, found = study.compare(files[2 * i], files[2 * i + 1])
        changed = [row["name"] for row in found["rows"] if row["verdict"] in ("worse", "better")]
        alarms += bool(changed)
        print(f"same {i + 1}: {'ALARM' if status else 'changed' if changed else 'quiet'}: {describe(found, first)}", flush=True)
    for rules in CI:
        statuses = [study.judge(files[2 * i], files[2 * i + 1], *rules)[0] for i in range(pairs)]
        print(f"same, {' '.join(rules)}: {statuses.count(0)} passed, {statuses.count(1)} failed, {statuses.count(2)} could not be judged", flush=True)
    return alarms


def plants(study, pool, count):
    names = [FUNCTIONS[i % len(FUNCTIONS)] for i in range(count)]
    for name in sorted(set(names)):
        study.programs[name] = study.compile(name)
    bases = list(pool.map(study.record, [f"base-{i}" for i in range(count)]))
    news = list(pool.map(study.record, [f"new-{i}" for i in range(count)], names))
    found = named = ruled = 0
    for i, name in enumerate(names):
        status, first, what = study.compare(bases[i], news[i])
        found += status == 1
        named += status == 1 and first == name
        ruled += study.judge(bases[i], news[i], f"function:{name}:+2%")[0] == 1
        print(f"planted {i + 1}: {'found' if status else 'MISSED'}, first {first}: {describe(what, name)}", flush=True)
    print(f"planted, function:NAME:+2%: {ruled} of {count} failed", flush=True)
    return found, named


def main():
    build, kind = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "gpu"
    pairs, count = (int(word) for word in (sys.argv[3:5] + ["40", "20"][len(sys.argv[3:5]):]))
    with tempfile.TemporaryDirectory(prefix="stallprof-study-", dir="/var/tmp") as folder, \
            concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        study = Study(build, kind, folder)
        alarms = noise(study, pool, pairs)
        found, named = plants(study, pool, count)
    print(f"{kind}: {alarms} of {pairs} pairs of the same build were called changed; of {count} planted 5 % {found} were found, {named} of them "
          "with the function's name first")


if __name__ == "__main__":
    main()
