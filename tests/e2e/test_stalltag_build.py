"""What the tests of stalltag share: compiling a program against BUILD's library, and the environment to run it in."""
import os
import subprocess
import sys
import tempfile

import sanitizers

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


class Build:
    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.library = os.path.join(self.build, "libstalltag.so")
        self.archive = os.path.join(self.build, "libstalltag.a")
        self.kept = tempfile.TemporaryDirectory(prefix="stalltag-test-")  # removed with this object
        self.folder = self.kept.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, name, source, *flags):
        """`source` in this folder, or its text; returns the program's path."""
        if "\n" in source:
            text, source = source, self.path(name + ".c")
            with open(source, "w") as out:
                out.write(text)
        else:
            source = os.path.join(HERE, source)
        subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", "-Wall", "-I" + ROOT,
                        *sanitizers.flags(self.build), "-o", self.path(name), source, *flags, "-ldl", "-lpthread"], check=True)
        return self.path(name)

    def with_shared(self):
        return ["-L" + self.build, "-lstalltag", "-Wl,-rpath," + self.build]

    def with_static(self, public=True):
        exported = ["otel_thread_ctx_v1", "stalltag_thread_ctx_v1"] if public else ["stalltag_thread_ctx_v1"]
        return [self.archive] + (["-Wl,-u,stalltag_public_slot"] if public else []) + [
            "-Wl,--export-dynamic-symbol=" + name for name in exported]

    def environment(self, **more):
        """Python is not built with ASan, so it must be preloaded where the library is."""
        return dict(os.environ, STALLTAG_LIBRARY=self.library, **more, **sanitizers.environment(self.build))
