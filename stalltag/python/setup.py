"""Builds libstalltag.so.1 into the package, from the C sources beside this folder or, in an sdist, from those in csrc/."""
import glob
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

HERE = os.path.dirname(os.path.abspath(__file__))
BUNDLED = os.path.join(HERE, "csrc")  # /stalltag/*.c
INCLUDE = BUNDLED if os.path.isdir(BUNDLED) else os.path.dirname(os.path.dirname(HERE))
C_FOLDER = os.path.join(INCLUDE, "stalltag")
LIBRARY = "libstalltag.so.1"
# The one place that has the version.
VERSION_H = os.path.join(INCLUDE, "profiler", "format", "version.h")
LICENSE = os.path.join(os.path.dirname(os.path.dirname(HERE)), "LICENSE")
# Elsewhere the package has no library, and tagging does nothing.
SERVED = sys.platform.startswith("linux") and platform.machine() in ("x86_64", "aarch64")


def c_files():
    return sorted(glob.glob(os.path.join(C_FOLDER, "*.[ch]")) + glob.glob(os.path.join(C_FOLDER, "*.map")))


def version():
    if not os.path.exists(VERSION_H):
        sys.exit("stalltag: this folder lies outside of stallprof's tree, without the C sources that belong to it (%s is not there). pip before "
                 "21.3 copies it out of the tree: use pip 21.3 or later (pip install --upgrade pip), or install what `make wheel` makes."
                 % VERSION_H)
    with open(VERSION_H) as file:
        return re.search(r'^#define STALLPROF_VERSION "(.*)"$', file.read(), re.M).group(1)


def takes(compiler, flag):
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([*compiler, "-Werror", flag, "-xc", "-c", os.devnull, "-o", os.path.join(folder, "out.o")],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


class BuildLibrary(build_ext):
    """A plain shared library, as `make` builds it: Python itself is not in it, so that one serves every version."""

    def get_ext_filename(self, fullname):
        return os.path.join(*fullname.split(".")[:-1], LIBRARY)

    def build_extension(self, ext):
        target = self.get_ext_fullpath(ext.name)
        compiler = [word for word in self.compiler.compiler_so if not word.startswith("-flto")]
        flags = ["-std=gnu11", "-D_GNU_SOURCE", "-DSTALLTAG_SHARED", "-O2", "-fPIC", f"-I{INCLUDE}"]
        if platform.machine() == "x86_64" and takes(compiler, "-mtls-dialect=gnu2"):
            flags.append("-mtls-dialect=gnu2")
        os.makedirs(os.path.dirname(target), exist_ok=True)
        self.spawn([*compiler, *flags, "-shared", f"-Wl,-soname,{LIBRARY}",
                    f"-Wl,--version-script={os.path.join(C_FOLDER, 'libstalltag.map')}", "-Wl,-z,now,-z,nodelete",
                    "-o", target, *(path for path in c_files() if path.endswith(".c")), "-ldl", "-lpthread"])


class BundleSources(sdist):
    """An sdist has the C sources in csrc/stalltag, and the version's header beside them."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        folder = os.path.join(base_dir, "csrc", "stalltag")
        os.makedirs(folder, exist_ok=True)
        for path in c_files():
            shutil.copy(path, folder)
        os.makedirs(os.path.join(base_dir, "csrc", "profiler", "format"), exist_ok=True)
        shutil.copy(VERSION_H, os.path.join(base_dir, "csrc", "profiler", "format"))
        if os.path.exists(LICENSE):
            shutil.copy(LICENSE, base_dir)


def needed_glibc(library):
    """The youngest 2.N whose symbols are in the library; 0: it is not for glibc, or not made yet (pip install -e)."""
    if not os.path.exists(library):
        return 0
    with open(library, "rb") as file:
        return max(map(int, re.findall(rb"\0GLIBC_2\.(\d+)", file.read())), default=0)


class AnyPythonWheel(bdist_wheel):
    """For every Python 3, and for systems with a glibc that serves the library: elsewhere pip refuses it."""

    def get_tag(self):
        python, abi, machine = super().get_tag()
        if not SERVED:
            return python, abi, machine
        minor = needed_glibc(os.path.join(self.get_finalized_command("build").build_lib, "stalltag", LIBRARY))
        if minor and machine.startswith("linux_"):
            machine = f"manylinux_2_{max(minor, 17)}_{machine[len('linux_'):]}"
        return "py3", "none", machine


setup(version=version(), ext_modules=[Extension("stalltag.libstalltag", [])] if SERVED else [],
      cmdclass={"build_ext": BuildLibrary, "sdist": BundleSources, "bdist_wheel": AnyPythonWheel})
