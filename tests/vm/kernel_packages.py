"""Kernels out of Debian's packages, for tests/vm/boot: finds the newest that matches, fetches and unpacks it into a cache.

A kernel is asked for by a pattern for its release, for example 6.1.*, among what apt offers on this machine; or by SUITE:PATTERN,
for example sid:*, among what another suite of Debian offers, of which apt then keeps the lists in the cache.
"""
import fnmatch
import functools
import glob
import os
import re
import subprocess
import time

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
LISTS_SECONDS = 24 * 3600  # so old may a suite's lists be


class Unavailable(Exception):
    """What a virtual machine needs cannot be had here: a reason to skip, not a failure."""


def cache_folder():
    return os.environ.get("VM_CACHE") or os.path.expanduser("~/.cache/stallprof-vm")


def parts(pattern):
    """(suite or "", pattern for the release, folder of the kernels)"""
    suite, _, release = pattern.rpartition(":")
    return suite, release, f"{cache_folder()}/{suite}".rstrip("/")


def newest_first(a, b):
    """Versions as dpkg compares them."""
    return -1 if subprocess.run(["dpkg", "--compare-versions", a, "gt", b]).returncode == 0 else 1


def asked(*command, **options):
    try:
        return subprocess.run(command, capture_output=True, text=True, **options)
    except FileNotFoundError as error:
        raise Unavailable(f"no {command[0]} on this machine") from error


def mirror():
    """From where this machine has its Debian."""
    lines = asked("apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages").stdout.splitlines()
    found = [line.removeprefix("Debian ") for line in lines if line.startswith("Debian ")]
    if not found:
        raise Unavailable("apt has no repository of Debian")
    return found[0]


def list_is_fresh(folder):
    try:
        return os.stat(f"{folder}/updated").st_mtime > time.time() - LISTS_SECONDS
    except FileNotFoundError:
        return False


@functools.cache
def apt_options(suite):
    """What has apt work on another suite, beside its own settings."""
    if not suite:
        return []
    folder = f"{cache_folder()}/apt-{suite}"
    options = [f"-oDir::Etc::sourcelist={folder}/suite.list", "-oDir::Etc::sourceparts=/dev/null", f"-oDir::State::lists={folder}/lists",
               f"-oDir::Cache={folder}/cache", "-oAcquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
               "-oAcquire::Languages=none"]
    if list_is_fresh(folder):
        return options
    os.makedirs(f"{folder}/lists/partial", exist_ok=True)
    os.makedirs(f"{folder}/cache/archives/partial", exist_ok=True)
    with open(f"{folder}/suite.list", "w") as file:
        file.write(f"deb [signed-by={KEYRING}] {mirror()} {suite} main\n")
    update = asked("apt-get", *options, "-qq", "-oAPT::Update::Error-Mode=any", "update")
    if update.returncode:
        raise Unavailable(f"apt cannot read the lists of {suite}: {update.stderr.strip()[-200:]}")
    with open(f"{folder}/updated", "w"):
        pass
    return options


def known(suite, prefix):
    return asked("apt-cache", *apt_options(suite), "pkgnames", prefix).stdout.split()


def releases(pattern):
    """Kernel releases, newest first, that apt can fetch and whose name matches: plain ones, neither cloud nor real-time."""
    suite, wanted, _ = parts(pattern)
    found = [match.group(1) for match in (re.fullmatch(r"linux-image-(\d[\w.+~-]*-amd64)", name) for name in known(suite, "linux-image-"))
             if match and not re.search(r"-(cloud|rt)-amd64$", match.group(1))]
    found = [release for release in found if fnmatch.fnmatch(release.removesuffix("-amd64"), wanted)
             and re.match(r"\d+\.\d+\.\d", release)]
    return sorted(found, key=functools.cmp_to_key(newest_first))


def unpacked(folder, release):
    return os.path.exists(f"{folder}/boot/vmlinuz-{release}") and os.path.exists(f"{folder}/lib/modules/{release}/modules.dep")


def in_cache(pattern):
    """Newest unpacked kernel that matches, as (release, folder), or None."""
    _, wanted, cache = parts(pattern)
    there = [os.path.basename(path) for path in glob.glob(f"{cache}/*-amd64")]
    there = [release for release in there if fnmatch.fnmatch(release.removesuffix("-amd64"), wanted)
             and unpacked(f"{cache}/{release}", release)]
    there.sort(key=functools.cmp_to_key(newest_first))
    return (there[0], f"{cache}/{there[0]}") if there else None


def fetch(suite, release, folder):
    """Since Linux 7 of Debian the image's package only names those of the kernel and of its modules."""
    packages = [name for kind in ("image", "base", "binary", "modules") for name in known(suite, f"linux-{kind}-{release}")
                if name == f"linux-{kind}-{release}"]
    done = asked("apt-get", *apt_options(suite), "download", "-qq", *packages, cwd=folder)
    if done.returncode or not packages:
        raise Unavailable(f"linux-image-{release} cannot be fetched: {done.stderr.strip()[-200:]}")


def put_in_place(folder, release):
    """Kernel and modules lie below usr/ since Linux 7 of Debian."""
    if os.path.isdir(f"{folder}/usr/lib/modules") and not os.path.isdir(f"{folder}/lib/modules/{release}"):
        os.makedirs(f"{folder}/lib", exist_ok=True)
        os.rename(f"{folder}/usr/lib/modules", f"{folder}/lib/modules")
    if os.path.exists(f"{folder}/lib/modules/{release}/vmlinuz"):
        os.makedirs(f"{folder}/boot", exist_ok=True)
        os.rename(f"{folder}/lib/modules/{release}/vmlinuz", f"{folder}/boot/vmlinuz-{release}")


def unpack(suite, release, folder):
    """Fetches the packages beside the folder, unpacks them there and lists the modules' dependencies."""
    partial = f"{folder}.partial"
    subprocess.run(["rm", "-rf", partial], check=True)
    os.makedirs(partial)
    fetch(suite, release, partial)
    for package in glob.glob(f"{partial}/*.deb"):
        subprocess.run(["dpkg", "-x", package, partial], check=True)
        os.unlink(package)
    put_in_place(partial, release)
    subprocess.run(["/sbin/depmod", "-b", partial, release], check=True)
    os.rename(partial, folder)


def kernel(pattern):
    """(release, folder) with boot/vmlinuz-RELEASE and lib/modules/RELEASE in it. The cache is asked first, so that a test
    does not change its kernel from one run to the next; remove the folder to have a newer one."""
    found = in_cache(pattern)
    if found:
        return found
    offered = releases(pattern)
    suite, _, cache = parts(pattern)
    if not offered:
        raise Unavailable(f"apt knows no linux-image-{pattern}-amd64")
    folder = f"{cache}/{offered[0]}"
    os.makedirs(cache, exist_ok=True)
    unpack(suite, offered[0], folder)
    return offered[0], folder
