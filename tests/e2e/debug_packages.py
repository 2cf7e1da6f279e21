"""Files with debug information out of Debian's packages: fetched once, unpacked into VM_CACHE (~/.cache/stallprof-vm) and not installed.

The kernel's package is large: 860 MB are fetched (8 s where this was written), and of the 5.6 GB in it vmlinux and some modules kept
(0.7 GB, 47 s)."""
import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "vm"))
from kernel_packages import Unavailable, cache_folder, in_cache, releases  # noqa: E402

FETCH_SECONDS, UNPACK_SECONDS = 240, 300
MODULES = ["kernel/fs/ext4/ext4.ko", "kernel/fs/jbd2/jbd2.ko", "kernel/drivers/nvme/host/nvme.ko",
           "kernel/drivers/nvme/host/nvme-core.ko"]
# By which the guests of tests/vm have their files; not every kernel has all of them.
GUEST_MODULES = ["kernel/fs/9p/9p.ko", "kernel/fs/fscache/fscache.ko", "kernel/fs/netfs/netfs.ko", "kernel/fs/overlayfs/overlay.ko",
                 "kernel/net/9p/9pnet.ko", "kernel/net/9p/9pnet_virtio.ko", "kernel/crypto/crc32c_generic.ko"]


def newest_release(pattern):
    """That of the kernel which tests/vm boots, or else would fetch."""
    found = in_cache(pattern)
    known = [found[0]] if found else releases(pattern)
    if not known:
        raise Unavailable(f"apt knows no linux-image-{pattern}-amd64")
    return known[0]


def unpack(archive, folder, members, optional):
    """Everything, or the members and, where there are some, the optional ones."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE) as out:
        done = subprocess.run(["tar", "-x", "-C", folder, *(f"./{member}" for member in [*members, *optional])], stdin=out.stdout,
                              capture_output=True, text=True, timeout=UNPACK_SECONDS)
        out.stdout.close()
    missing = [member for member in members if not os.path.exists(f"{folder}/{member}")]
    if missing or (done.returncode and not members):
        raise Unavailable(f"{os.path.basename(archive)}: {missing} {done.stderr.strip()[-200:]}")


def package(name, members=(), optional=()):
    """The folder that has what is in the package, or of it these members and, where there are some, the optional ones."""
    folder = f"{cache_folder()}/debug/{name}"
    if os.path.isdir(folder):
        return folder
    partial = f"{folder}.partial"
    subprocess.run(["rm", "-rf", partial], check=True)
    os.makedirs(partial)
    try:
        done = subprocess.run(["apt-get", "download", "-qq", name], cwd=partial, capture_output=True, text=True, timeout=FETCH_SECONDS)
        found = glob.glob(f"{partial}/*.deb")
        if done.returncode or not found:
            raise Unavailable(f"{name} cannot be fetched: {done.stderr.strip()[-200:]}")
        unpack(found[0], partial, members, optional)
        os.unlink(found[0])
    except subprocess.TimeoutExpired as late:
        raise Unavailable(f"{name}: {late}") from late
    os.rename(partial, folder)
    return folder


def kernel(release):
    """What --debug-dir wants to be for that kernel, with vmlinux and MODULES in it."""
    def below(modules):
        return [f"usr/lib/debug/lib/modules/{release}/{module}" for module in modules]

    members = [f"usr/lib/debug/boot/vmlinux-{release}", *below(MODULES)]
    return package(f"linux-image-{release}-dbg", members, below(GUEST_MODULES)) + "/usr/lib/debug"


def have_kernel(release):
    """Was it fetched before?"""
    return os.path.isdir(f"{cache_folder()}/debug/linux-image-{release}-dbg")
