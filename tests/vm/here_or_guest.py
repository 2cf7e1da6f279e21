#!/usr/bin/python3
"""here_or_guest.py BUILD COMMAND...: runs a command that records, here or, where nothing can be recorded here, in a QEMU guest (boot).

Whether it can is stallprof's own word (doctor's exit status), the reason what `record --strict` says. In a guest the command runs as root
in the same folder, with a disk of its own at /var/tmp; OUT, a folder below out/, is there to keep what it leaves. A line in front says
why and where. The exit status is the command's; 77 when no guest can be had either, which is said in one line.
"""
import os
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
KERNEL = "6.12.*"
OUT = "out/guest"


def refusal(build):
    """Why nothing can be recorded here; "" where it can."""
    stallprof = f"{build}/stallprof"
    tried = subprocess.run([stallprof, "record", "--strict", "-q", "-o", "/dev/null", "--", "/bin/true"], capture_output=True, text=True)
    if tried.returncode == 0 or subprocess.run([stallprof, "doctor"], capture_output=True).returncode != 1:
        return ""
    said = tried.stderr.splitlines() or ["see stallprof doctor"]
    return said[0].removeprefix("stallprof: ")


def in_guest(command, why=""):
    """The command line that runs the command in a guest, below the repository's folder. `why` it does not run here is said in front."""
    out = os.path.abspath(OUT)
    steps = (f"mkdir -p {shlex.quote(out)} && mount --bind /vm-out {shlex.quote(out)} && mount --bind /vm-disk /var/tmp && chmod 1777 /var/tmp && "
             f"export OUT={OUT} && {shlex.join(command)}")
    told = ["--why", f"this kernel refuses BPF ({why})"] if why else []
    return ["env", f"VM_SECONDS={os.environ.get('VM_SECONDS', '600')}", f"{HERE}/boot", *told, "--out", OUT, KERNEL, "--", steps]


def install_packages():
    """What boot needs, where we may install it; where not, boot says what it lacks."""
    if os.geteuid() == 0:
        subprocess.run([f"{HERE}/../../config/install-packages", "guest"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main():
    build, command = sys.argv[1], sys.argv[2:]
    why = refusal(build)
    if not why:
        os.execvp(command[0], command)
    install_packages()
    argv = in_guest(command, why)
    os.execvp(argv[0], argv)


if __name__ == "__main__":
    main()
