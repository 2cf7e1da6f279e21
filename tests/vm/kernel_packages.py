"""Kernels out of Debian's packages, for tests/vm/boot: finds the newest that matches, fetches and unpacks it into a cache."""
import fnmatch
import functools
import glob
import os
import re
import subprocess


class Unavailable(Exception):
    """What a virtual machine needs cannot be had here: a reason to skip, not a failure."""


def cache_folder():
    return os.environ.get("VM_CACHE") or os.path.expanduser("~/.cache/stallprof-vm")


def newest_first(a, b):
    """Versions as dpkg compares them."""
    return -1 if subprocess.run(["dpkg", "--compare-versions", a, "gt", b]).returncode == 0 else 1


def releases(pattern):
    """Kernel releases, newest first, that apt can fetch and whose name matches, for example 6.1.*: plain ones, neither
    cloud nor real-time."""
    try:
        listing = subprocess.run(["apt-cache", "pkgnames", "linux-image-"], capture_output=True, text=True).stdout
    except FileNotFoundError:
        listing = ""
    found = [match.group(1) for match in (re.fullmatch(r"linux-image-(\d[\w.+~-]*-amd64)", line) for line in listing.split())
             if match and not re.search(r"-(cloud|rt)-amd64$", match.group(1))]
    found = [release for release in found if fnmatch.fnmatch(release.removesuffix("-amd64"), pattern)
             and re.match(r"\d+\.\d+\.\d", release)]
    return sorted(found, key=functools.cmp_to_key(newest_first))


def unpacked(folder, release):
    return os.path.exists(f"{folder}/boot/vmlinuz-{release}") and os.path.exists(f"{folder}/lib/modules/{release}/modules.dep")


def in_cache(pattern):
    """Newest unpacked kernel that matches, as (release, folder), or None."""
    there = [os.path.basename(path) for path in glob.glob(f"{cache_folder()}/*-amd64")]
    there = [release for release in there if fnmatch.fnmatch(release.removesuffix("-amd64"), pattern)
             and unpacked(f"{cache_folder()}/{release}", release)]
    there.sort(key=functools.cmp_to_key(newest_first))
    return (there[0], f"{cache_folder()}/{there[0]}") if there else None


def unpack(release, folder):
    """Fetches the package beside the folder, unpacks it there and lists the modules' dependencies."""
    partial = f"{folder}.partial"
    subprocess.run(["rm", "-rf", partial], check=True)
    os.makedirs(partial)
    fetch = subprocess.run(["apt-get", "download", "-qq", f"linux-image-{release}"], cwd=partial, capture_output=True, text=True)
    packages = glob.glob(f"{partial}/*.deb")
    if fetch.returncode or not packages:
        raise Unavailable(f"linux-image-{release} cannot be fetched: {fetch.stderr.strip()[-200:]}")
    subprocess.run(["dpkg", "-x", packages[0], partial], check=True)
    os.unlink(packages[0])
    subprocess.run(["/sbin/depmod", "-b", partial, release], check=True)
    os.rename(partial, folder)


def kernel(pattern):
    """(release, folder) with boot/vmlinuz-RELEASE and lib/modules/RELEASE in it. The cache is asked first, so that a test
    does not change its kernel from one run to the next; remove the folder to have a newer one."""
    found = in_cache(pattern)
    if found:
        return found
    known = releases(pattern)
    if not known:
        raise Unavailable(f"apt knows no linux-image-{pattern}-amd64")
    folder = f"{cache_folder()}/{known[0]}"
    os.makedirs(cache_folder(), exist_ok=True)
    unpack(known[0], folder)
    return known[0], folder
