"""frames_workload.py DIR DEVICE SECONDS: has a file system and an NVMe disk do many things, so that many of their functions are seen."""
import ctypes
import fcntl
import mmap
import os
import sys
import time

NVME_IOCTL_ADMIN_CMD = 0xC0484E41  # _IOWR('N', 0x41, struct nvme_passthru_cmd)
IDENTIFY, CONTROLLER = 6, 1


class PassthruCommand(ctypes.Structure):
    """struct nvme_passthru_cmd of linux/nvme_ioctl.h."""
    _fields_ = [("opcode", ctypes.c_uint8), ("flags", ctypes.c_uint8), ("rsvd1", ctypes.c_uint16), ("nsid", ctypes.c_uint32),
                ("cdw2", ctypes.c_uint32), ("cdw3", ctypes.c_uint32), ("metadata", ctypes.c_uint64), ("addr", ctypes.c_uint64),
                ("metadata_len", ctypes.c_uint32), ("data_len", ctypes.c_uint32), ("cdw10", ctypes.c_uint32), ("cdw11", ctypes.c_uint32),
                ("cdw12", ctypes.c_uint32), ("cdw13", ctypes.c_uint32), ("cdw14", ctypes.c_uint32), ("cdw15", ctypes.c_uint32),
                ("timeout_ms", ctypes.c_uint32), ("result", ctypes.c_uint32)]


def identify(device):
    """Waits in the nvme driver itself for a command of its own."""
    answer = ctypes.create_string_buffer(4096)
    command = PassthruCommand(opcode=IDENTIFY, addr=ctypes.addressof(answer), data_len=len(answer), cdw10=CONTROLLER)
    with open(device, "rb", buffering=0) as file:
        fcntl.ioctl(file, NVME_IOCTL_ADMIN_CMD, command)


def write_direct(folder, block):
    file = os.open(f"{folder}/direct", os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
    for number in range(8):
        os.pwrite(file, block, number * len(block))
    os.preadv(file, [block], 0)
    os.close(file)


def write_buffered(folder):
    with open(f"{folder}/new", "wb") as file:
        file.write(os.urandom(300000))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fallocate(file.fileno(), 1 << 20, 65536)
        file.truncate(100000)
    os.rename(f"{folder}/new", f"{folder}/old")
    os.makedirs(f"{folder}/a/b", exist_ok=True)
    os.symlink("old", f"{folder}/a/link")
    os.unlink(f"{folder}/a/link")
    os.removedirs(f"{folder}/a/b")


def read_cold(folder):
    with open("/proc/sys/vm/drop_caches", "w") as file:
        file.write("3")
    with open(f"{folder}/old", "rb") as file:
        file.read()
    os.listdir(folder)


def main():
    folder, device, end = sys.argv[1], sys.argv[2], time.monotonic() + float(sys.argv[3])
    block = mmap.mmap(-1, 65536)
    while time.monotonic() < end:
        write_direct(folder, block)
        write_buffered(folder)
        read_cold(folder)
        for _ in range(20):
            identify(device)
    os.sync()


main()
