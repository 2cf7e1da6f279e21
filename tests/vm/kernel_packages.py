"""Kernels out of Debian's and Ubuntu's packages, for tests/vm/boot: finds the newest that matches, fetches and unpacks it into a cache.

A kernel is asked for by a pattern for its release, for example 6.1.*, among what apt offers on this machine; or by SUITE:PATTERN,
for example sid:*, among what another suite of Debian offers, of which apt then keeps the lists in the cache. The suite may also be one of
Ubuntu's, for example jammy:5.15.*. The keys that Ubuntu's archive is signed with come from Debian's package of them, so that Debian's
keyring vouches for them. Where that cannot be had, a warning says so; apt then holds the packages to the sums in the lists all the same.
"""
import fnmatch
import functools
import glob
import os
import re
import subprocess
import sys
import time

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
UBUNTU = "http://archive.ubuntu.com/ubuntu"
UBUNTU_SUITES = {"jammy": ["jammy", "jammy-updates"]}
UBUNTU_KEYS = ("sid", "ubuntu-keyring")  # the package of them, and the suite of Debian that has it
LISTS_SECONDS = 24 * 3600  # so old may a suite's lists be


class Unavailable(Exception):
    """What a virtual machine needs cannot be had here: a reason to skip, not a failure."""


def cache_folder():
    return os.environ.get("VM_CACHE") or os.path.expanduser("~/.cache/stallprof-vm")


def parts(pattern):
    """(suite or "", pattern for the release, folder of the kernels)"""
    suite, _, release = pattern.rpartition(":")
    return suite, release, f"{cache_folder()}/{suite}".rstrip("/")


def flavour(suite):
    """What the names of its plain kernels end with."""
    return "generic" if suite in UBUNTU_SUITES else "amd64"


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


def ubuntu_keyring():
    """Path of the keys of Ubuntu's archive; None, with a warning, where they cannot be had."""
    suite, package = UBUNTU_KEYS
    folder = f"{cache_folder()}/{package}"
    found = f"{folder}/usr/share/keyrings/ubuntu-archive-keyring.gpg"
    if os.path.exists(found):
        return found
    try:
        os.makedirs(folder, exist_ok=True)
        done = asked("apt-get", *apt_options(suite), "download", "-qq", package, cwd=folder)
        for file in glob.glob(f"{folder}/*.deb"):
            subprocess.run(["dpkg", "-x", file, folder], check=True)
        why = done.stderr.strip()[-200:]
    except Unavailable as error:
        why = str(error)
    if os.path.exists(found):
        return found
    print(f"kernel_packages: no keys for {UBUNTU} ({why}): its lists are taken unsigned; packages are held to the lists' sums",
          file=sys.stderr)
    return None


def sources(suite):
    """Lines for apt."""
    if suite not in UBUNTU_SUITES:
        return [f"deb [signed-by={KEYRING}] {mirror()} {suite} main\n"]
    keys = ubuntu_keyring()
    return [f"deb [{f'signed-by={keys}' if keys else 'trusted=yes'}] {UBUNTU} {name} main\n" for name in UBUNTU_SUITES[suite]]


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
        file.writelines(sources(suite))
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
    kind = flavour(suite)
    names = (re.fullmatch(rf"linux-image-(?:unsigned-)?(\d[\w.+~-]*-{kind})", name) for name in known(suite, "linux-image-"))
    found = {match.group(1) for match in names if match and not re.search(r"-(cloud|rt)-amd64$", match.group(1))}
    found = [release for release in found if fnmatch.fnmatch(release.removesuffix(f"-{kind}"), wanted)
             and re.match(r"\d+\.\d+\.\d", release)]
    return sorted(found, key=functools.cmp_to_key(newest_first))


def unpacked(folder, release):
    return os.path.exists(f"{folder}/boot/vmlinuz-{release}") and os.path.exists(f"{folder}/lib/modules/{release}/modules.dep")


def in_cache(pattern):
    """Newest unpacked kernel that matches, as (release, folder), or None."""
    suite, wanted, cache = parts(pattern)
    kind = flavour(suite)
    there = [os.path.basename(path) for path in glob.glob(f"{cache}/*-{kind}")]
    there = [release for release in there if fnmatch.fnmatch(release.removesuffix(f"-{kind}"), wanted)
             and unpacked(f"{cache}/{release}", release)]
    there.sort(key=functools.cmp_to_key(newest_first))
    return (there[0], f"{cache}/{there[0]}") if there else None


def fetch(suite, release, folder):
    """Since Linux 7 of Debian the image's package only names those of the kernel and of its modules; Ubuntu's has no modules, and its
    signed one is made of the unsigned."""
    packages = [name for kind in ("image-unsigned", "image", "base", "binary", "modules", "modules-extra") for name in known(suite, f"linux-{kind}-{release}")
                if name == f"linux-{kind}-{release}"]
    if f"linux-image-unsigned-{release}" in packages:
        packages = [name for name in packages if name != f"linux-image-{release}"]
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
        raise Unavailable(f"apt knows no linux-image-{pattern}-{flavour(suite)}")
    folder = f"{cache}/{offered[0]}"
    try:
        os.makedirs(cache, exist_ok=True)
        unpack(suite, offered[0], folder)
    except OSError as error:
        raise Unavailable(f"{cache} cannot be written ({error.strerror}): VM_CACHE may name another folder for kernels") from error
    return offered[0], folder
