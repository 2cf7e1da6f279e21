"""The Pythons of this machine whose frames the profiler knows."""
import glob
import os
import subprocess


def version_of(python):
    done = subprocess.run([python, "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"], capture_output=True, text=True)
    return done.stdout.strip() if not done.returncode else None


def pythons():
    """{name: path}: Debian's, those of pyenv from 3.8 on, and what PYTHON_FRAMES_ALSO names; no two of them the same file."""
    found = {"Debian's": "/usr/bin/python3"}
    wanted = glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3"))
    for path in wanted + [path for path in os.environ.get("PYTHON_FRAMES_ALSO", "").split(":") if path]:
        version = version_of(path)
        if version and tuple(int(part) for part in version.split(".")[:2]) >= (3, 8):
            found[f"{version} of {path}"] = path
    return found
