"""A pytest plug-in: tests recorded by stallprof, and compared with a recording that is known to be good.

    pytest -p pytest_stallprof --stallprof-bases=baselines                 # with this folder on PYTHONPATH
    pytest -p pytest_stallprof --stallprof-bases=baselines --stallprof-update

A test with the marker is recorded while it runs, and fails when a rule of `stallprof diff` does (see stallprof(1), --fail-on):

    @pytest.mark.stallprof(["total:+10%", "stall:nvme_reset>0"], normalize="none")      # or fail_on=[...]
    def test_checkpoint(tmp_path):
        ...

A command is recorded by the fixture, which compares in the same way and returns the recording's path:

    def test_train(stallprof):
        stallprof.run(["./train", "--steps", "100"], fail_on=["function:write_shard:+10%"])

What is compared with is BASES/tests/test_it.py/test_checkpoint.pb.gz: the test's node id, so run pytest from the same folder (or have a pytest.ini
there). --stallprof-update writes it. Without a base the test fails and says so. What was recorded stays in --stallprof-recordings, if that is given.
Growths (:+) are judged by how much the seconds of a recording differ: a test that takes less than five of them fails by such a rule, as it cannot be
judged; it can have limits (>).

With --stallprof-skip-unjudged a test whose numbers cannot be judged is skipped, not failed: one that has run, but whose rules nobody can judge, as it
was too short, data is missing from a recording, or the recordings are not comparable, and one that is not run, as nothing can be recorded here. A rule
that fails fails the test all the same, and so does a base that is missing.

Async tests, and those of unittest, are recorded as others; what runs them is another plug-in's. Recording needs root, or the capabilities that
`stallprof doctor` names.
"""
import hashlib
import os
import select
import shutil
import subprocess
import tempfile
import urllib.parse

import pytest

READY_SECONDS = 30
STOP_SECONDS = 60
NAME_BYTES = 200  # of a file's: a name may have 255
UNJUDGED = ("CANNOT BE JUDGED: ", "stallprof diff: cannot be judged: ", "stallprof diff: not comparable: ")


def pytest_addoption(parser):
    group = parser.getgroup("stallprof")
    group.addoption("--stallprof", default="stallprof", help="the program")
    group.addoption("--stallprof-bases", default="stallprof-bases", help="the folder of recordings to compare with")
    group.addoption("--stallprof-recordings", help="a folder that keeps what is recorded, and the reports")
    group.addoption("--stallprof-skip-unjudged", action="store_true", help="skip tests whose numbers cannot be judged, instead of failing them")
    group.addoption("--stallprof-update", action="store_true", help="write the bases anew instead of comparing")


def pytest_configure(config):
    config.addinivalue_line("markers", "stallprof(fail_on, **options): record the test, and compare it; options are those of stallprof diff")


def is_ready(process, fd):
    """Waits for the line of --ready-fd. False: it did not come in time, or the profiler has ended, which is dead then."""
    ready = False
    try:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        ready = bool(poll.poll(READY_SECONDS * 1000)) and os.read(fd, 1) != b""
    finally:
        if not ready:
            process.kill()
            process.wait()
    return ready


def unjudged(done):
    """The lines in which a comparison says that it cannot tell: none where it can, or where it cannot read a file, when it ends with 2, too."""
    lines = (done.stdout + done.stderr).splitlines()
    return [line for line in lines if line.startswith(UNJUDGED)] if done.returncode == 2 else []


def file_name(part):
    """Of a part of a node id; other parts have other names."""
    name = urllib.parse.quote(part, safe="[]-,=+ ") if part.strip(".") else "%2E" * len(part)
    return name if len(name) <= NAME_BYTES else name[:NAME_BYTES - 17] + "-" + hashlib.sha256(part.encode()).hexdigest()[:16]


class Recorder:
    """Records and compares for one test."""

    def __init__(self, item, folder):
        self.config, self.count, self.test = item.config, 0, item.name
        file, *names = item.nodeid.split("::", 2)
        self.path = os.path.join(*(file_name(part) for part in [*file.split("/"), *names]))
        # A test may change the working directory.
        began_in, recordings = str(self.config.invocation_params.dir), self.config.getoption("--stallprof-recordings")
        self.folder = os.path.join(began_in, recordings) if recordings else str(folder)
        self.bases = os.path.join(began_in, self.config.getoption("--stallprof-bases"))

    def program(self):
        return self.config.getoption("--stallprof")

    def fail_record(self, why):
        """Ends a test that was not recorded."""
        skips = self.config.getoption("--stallprof-skip-unjudged")
        if skips and subprocess.run([self.program(), "doctor"], stdout=subprocess.DEVNULL, check=False).returncode == 1:
            pytest.skip(f"nothing can be recorded here: {why}")
        pytest.fail(why, pytrace=False)

    def next_file(self):
        self.count += 1
        name = self.path if self.count == 1 else f"{self.path}-{self.count}"
        file = os.path.join(self.folder, name + ".pb.gz")
        os.makedirs(os.path.dirname(file), exist_ok=True)
        if not self.config.getoption("--stallprof-update") and not os.path.exists(self.base(file)):
            pytest.fail(f"{self.base(file)}: there is nothing to compare with; --stallprof-update writes it", pytrace=False)
        return file

    def base(self, file):
        return os.path.join(self.bases, os.path.relpath(file, self.folder))

    def run(self, command, fail_on=("total:+10%",), **options):
        """Records a command, which must succeed, and compares. Returns the recording's path."""
        file = self.next_file()
        done = subprocess.run([self.program(), "record", "-q", "--strict", "-o", file, "--", *map(str, command)], check=False)
        if done.returncode:
            self.fail_record(f"exit status {done.returncode}: {' '.join(map(str, command))}")
        self.compare(file, fail_on, **options)
        return file

    def start(self):
        """Begins to record this process. Returns what stop() takes."""
        file = self.next_file()
        ready, told = os.pipe()
        with open(ready, "rb", buffering=0), open(file + ".log", "wb") as log:
            with open(told, "wb", buffering=0):
                process = subprocess.Popen([self.program(), "record", "-q", "--strict", "-p", str(os.getpid()), "--name", self.test, "-o", file,
                                            "--ready-fd", str(told)], stdout=log, stderr=log, pass_fds=[told])
            is_recorded = is_ready(process, ready)
        if not is_recorded:
            with open(file + ".log", encoding="utf-8", errors="replace") as log:
                self.fail_record(f"stallprof record: {log.read().strip() or 'not ready in time'}")
        return process, file

    def stop(self, recording):
        """Ends it, and returns its path. By SIGTERM, as a shell without job control has what it starts by & ignore SIGINT."""
        process, file = recording
        process.terminate()
        try:
            status = process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            pytest.fail(f"stallprof record: did not end within {STOP_SECONDS} s", pytrace=False)
        if status or not os.path.exists(file):
            with open(file + ".log", encoding="utf-8", errors="replace") as log:
                pytest.fail(f"stallprof record: exit status {status}: {log.read().strip()}", pytrace=False)
        return file

    def compare(self, file, fail_on=("total:+10%",), **options):
        """Fails the test if a rule does. Options are those of `stallprof diff`: normalize="none", by="line"."""
        base = self.base(file)
        if self.config.getoption("--stallprof-update"):
            os.makedirs(os.path.dirname(base), exist_ok=True)
            shutil.copyfile(file, base)
            return
        flags = [word for rule in fail_on for word in ("--fail-on", rule)]
        for name, value in options.items():
            flags += ["--" + name.replace("_", "-")] + ([] if value is True else [str(value)])
        done = subprocess.run([self.program(), "diff", base, file, *flags], capture_output=True, text=True, check=False)
        with open(file[:-len(".pb.gz")] + ".txt", "w", encoding="utf-8") as report:
            report.write(done.stdout + done.stderr)
        if unjudged(done) and self.config.getoption("--stallprof-skip-unjudged"):
            pytest.skip("\n".join(unjudged(done)))
        if done.returncode:
            pytest.fail(f"stallprof diff: exit status {done.returncode}\n{done.stdout}{done.stderr}", pytrace=False)


@pytest.fixture
def stallprof(request, tmp_path):
    return Recorder(request.node, tmp_path)


def end_with(outcome, error):
    """As raising here would leave out what other plug-ins do after the test."""
    if hasattr(outcome, "force_exception"):
        outcome.force_exception(error)
    else:  # pluggy before 1.1, as Debian 12 has it
        outcome._excinfo = (type(error), error, error.__traceback__)  # pylint: disable=protected-access


def check_arguments(marker):
    """Those of compare(), but for the file."""
    if len(marker.args) + ("fail_on" in marker.kwargs) > 1:
        pytest.fail("pytest.mark.stallprof takes one list of rules, as its only positional argument or as fail_on", pytrace=False)


@pytest.hookimpl(hookwrapper=True, trylast=True)
def pytest_runtest_call(item):
    """Around whatever runs the test, which for async ones is another plug-in. A test that has not passed is not compared."""
    marker = item.get_closest_marker("stallprof")
    if not marker:
        yield
        return
    check_arguments(marker)
    with tempfile.TemporaryDirectory(prefix="pytest-stallprof-") as folder:
        recorder = getattr(item, "funcargs", {}).get("stallprof") or Recorder(item, folder)
        recording = recorder.start()
        outcome = yield
        try:
            file = recorder.stop(recording)
            if not outcome.excinfo:
                recorder.compare(file, *marker.args, **marker.kwargs)
        except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:  # pylint: disable=broad-except
            if not outcome.excinfo:
                end_with(outcome, error)
