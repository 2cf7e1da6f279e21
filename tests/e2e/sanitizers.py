"""What a program needs that links or loads the tag library of a BUILD which is compiled with sanitizers (make asan)."""
import functools
import os
import subprocess


@functools.cache
def used(build):
    needed = subprocess.run(["readelf", "-Wd", f"{build}/libstalltag.so"], capture_output=True, text=True, check=True).stdout
    return "libasan" in needed


def flags(build):
    """For the compiler."""
    return ["-fsanitize=address,undefined"] if used(build) else []


def environment(build, preload=""):
    """Variables for a program that is not compiled so itself: the sanitizer's library comes first. `preload`: what else is preloaded."""
    if not used(build):
        return {"LD_PRELOAD": preload} if preload else {}
    asan = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()
    return {"LD_PRELOAD": " ".join(filter(None, [os.path.realpath(asan), preload])), "ASAN_OPTIONS": "detect_leaks=0"}
