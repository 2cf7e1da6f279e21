"""What tests/vm/test_frames_* do: a kernel is booted with KASLR and with ext4 on an NVMe disk, stallprof records a workload in it, and
every kernel frame of the profile is looked up again by others.

names   the function at each address, by the guest's kallsyms less what KASLR has added (x86-64 links every kernel for the same
        address), and by the symbol tables of its modules
lines   functions, files, lines and inline chains, by eu-addr2line and llvm-symbolizer, from Debian's debug package: vmlinux at the linked
        address that the profile has, modules at the offset in their section that the guest's /sys/module tells. The package is large
        (debug_packages.py), so this part is left out unless it was fetched before or SYMBOLS_FETCH=1 says that it may be
"""
import bisect
import glob
import lzma
import os
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
import debug_packages  # noqa: E402
import oracles  # noqa: E402
import symbol_tables  # noqa: E402
from kernel_packages import Unavailable, kernel  # noqa: E402
from profile_locations import locations  # noqa: E402
from tap import Tap  # noqa: E402

UNAVAILABLE, TRIES = 77, 3
SECONDS = 8
CORE = "[kernel.kallsyms]_stext"
LINKED_STEXT = 0xFFFFFFFF81000000
MODULES_SEEN = {"ext4", "nvme", "nvme_core", "jbd2"}

SCRIPT = """cat /proc/kallsyms >/vm-out/kallsyms
cat /proc/cmdline >/vm-out/cmdline
grep -sH . /sys/module/*/sections/.[a-z]* /sys/module/*/sections/*text* >/vm-out/sections
{stallprof} record --window 3600 --cpu-hz 499 --oncpu-hz 499 --threshold-ns 100000 -q --debug-dir {debug} -o /vm-out/frames.pb.gz -- \
/usr/bin/python3 {workload} /vm-disk /dev/nvme0 {seconds} >/vm-out/record.log 2>&1; echo $? >/vm-out/record.code
"""


def read(out, name):
    with open(f"{out}/{name}", errors="replace") as file:
        return file.read()


def boot(build, pattern, debug, out):
    script = SCRIPT.format(stallprof=shlex.quote(os.path.abspath(f"{build}/stallprof")), debug=shlex.quote(debug or "/nonexistent"),
                           workload=shlex.quote(f"{HERE}/frames_workload.py"), seconds=SECONDS)
    env = dict(os.environ, VM_SECONDS=os.environ.get("VM_SECONDS", "300"))
    return subprocess.run([f"{HERE}/boot", "--out", out, "--memory", "3072" if debug else "1024", "--disk", "nvme", pattern, "--", script], env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")


# --- names ----------------------------------------------------------------------------------------------------------------
class Symbols:
    """Sorted text symbols; several may share an address."""

    def __init__(self, pairs):
        self.names = {}
        for address, name in pairs:
            self.names.setdefault(address, set()).add(oracles.CLONE.sub("", name))
        self.starts = sorted(self.names)

    def at(self, address):
        found = bisect.bisect_right(self.starts, address)
        return self.names[self.starts[found - 1]] if found else set()


def kallsyms(text):
    """(address, name) of the functions of the core kernel."""
    found = re.findall(r"^(\w+) [tTwW] (\S+)$", text, re.M)
    return [(int(address, 16), name) for address, name in found]


def module_starts(text):
    """Module -> its lowest function: what addresses of it are counted from."""
    starts = {}
    for address, name in re.findall(r"^(\w+) [tTwW] \S+\t\[(\w+)\]$", text, re.M):
        starts[name] = min(int(address, 16), starts.get(name, 1 << 64))
    return starts


def module_file(folder, release, module, unpacked):
    """The module as Debian ships it, unpacked where it must be."""
    name = module.replace("_", "[-_]")
    path = next(iter(glob.glob(f"{folder}/lib/modules/{release}/kernel/**/{name}.ko*", recursive=True)))
    if not path.endswith(".xz"):
        return path
    with lzma.open(path) as packed, open(f"{unpacked}/{module}.ko", "wb") as plain:
        plain.write(packed.read())
    return f"{unpacked}/{module}.ko"


class Guest:
    """Where the guest's kernel and modules lay, and which files they were."""

    def __init__(self, out, folder, release):
        self.out, self.folder, self.release = out, folder, release
        core = kallsyms(read(out, "kallsyms"))
        self.kaslr = next(address for address, name in core if name == "_stext") - LINKED_STEXT
        self.core = Symbols((address - self.kaslr, name) for address, name in core)
        self.sections, self.symbols, self.files = {}, {}, {}
        self.starts = module_starts(read(out, "kallsyms"))
        for line in read(out, "sections").splitlines():
            match = re.match(r"/sys/module/(\w+)/sections/(\S+):(0x[0-9a-f]+)", line)
            if match:
                self.sections.setdefault(match[1], {})[match[2]] = int(match[3], 16)

    def module(self, name):
        if name not in self.files:
            path = module_file(self.folder, self.release, name, self.out)
            self.files[name] = path
            at = {index: self.sections[name].get(section) for section, (index, _, _) in symbol_tables.sections(path).items()}
            self.symbols[name] = Symbols((at[index] + value, symbol) for value, _, kind, symbol, index in symbol_tables.symbols(path)
                                         if at.get(index) and not symbol.startswith((".L", "__pfx_")))
        return self.symbols[name]

    def place(self, location):
        """(module or "", section, offset): what an oracle needs of a location; of the core kernel the linked address."""
        if location.mapping["filename"] == CORE:
            return "", None, location.address
        name = location.mapping["filename"].strip("[]")
        pc = self.starts[name] + location.address
        self.module(name)
        spans = [(self.sections[name].get(section, 0), section, size)
                 for section, (_, _, size) in symbol_tables.sections(self.files[name]).items()]
        section, start = next((section, start) for start, section, size in spans if start and start <= pc < start + size)
        return name, section, pc - start

    def names(self, location):
        module, section, offset = self.place(location)
        return self.module(module).at(self.sections[module][section] + offset) if module else self.core.at(offset)


def check_names(tap, name, guest, kernel_locations, vmlinux):
    """DWARF knows no label within an assembler's function, such as entry_SYSCALL_64_after_hwframe, so a symbol of vmlinux is right, too,
    when the address is within its size."""
    sized = {symbol: (value, size) for value, size, _, symbol, _ in symbol_tables.symbols(vmlinux) if size} if vmlinux else {}
    wrong = []
    for location in kernel_locations:
        names = guest.names(location)
        outermost = oracles.CLONE.sub("", location.frames[-1][0])
        start, size = sized.get(outermost, (0, 0)) if location.mapping["filename"] == CORE else (0, 0)
        if outermost not in names and not 0 <= location.address - start < size:
            wrong.append(f"{location.mapping['filename']} {location.address:#x}: {location.frames}, not {sorted(names)}")
    tap.check(not wrong, f"{name}: all of {len(kernel_locations)} kernel addresses have the function that kallsyms and the modules' "
                         "symbol tables have there", f"{len(wrong)} have not", *wrong[:20])


# --- lines ----------------------------------------------------------------------------------------------------------------
def debug_module(debug, release, module):
    found = glob.glob(f"{debug}/lib/modules/{release}/kernel/**/{module.replace('_', '[-_]')}.ko", recursive=True)
    return found[0] if found else None


def alias_sets(symbols):
    return {name: names for names in symbols.names.values() if len(names) > 1 for name in names}


def differing(path, section, located, alias, folder):
    """Locations, as [(offset, location)] of one file and section, that neither oracle agrees on."""
    offsets = [offset for offset, _ in located]
    answers = [oracles.ask_eu(path, offsets, section), oracles.ask_llvm(path, offsets, section, folder=folder)]
    for number, (offset, location) in enumerate(located):
        ours = [(function, oracles.location(file)[0] if file else "?", line) for function, file, line in location.frames]
        theirs = [found[number] for found in answers if found]
        if not theirs or all(oracles.differences(ours, their, alias) for their in theirs):
            yield f"{os.path.basename(path)} {section or ''} {offset:#x}: ours {ours}, theirs {theirs}"


def check_lines(tap, name, guest, debug, kernel_locations):
    groups, left_out = {}, set()
    for location in kernel_locations:
        module, section, offset = guest.place(location)
        path = debug_module(debug, guest.release, module) if module else f"{debug}/boot/vmlinux-{guest.release}"
        if path:
            groups.setdefault((path, section), []).append((offset, location))
        else:
            left_out.add(module)
    alias = alias_sets(guest.core)
    different = [line for (path, section), located in groups.items() for line in differing(path, section, located, alias, guest.out)]
    compared = sum(map(len, groups.values()))
    lines = sum(1 for located in groups.values() for _, location in located if location.frames[0][2])
    frames = sum(len(location.frames) for located in groups.values() for _, location in located)
    tap.note(f"{name}: compared {compared} addresses, {frames} frames, {lines} with a line; modules without a debug file: {sorted(left_out)}")
    tap.check(compared and not different, f"{name}: all of {compared} kernel addresses have the functions, files and lines that "
                                          f"eu-addr2line or llvm-symbolizer has", f"{len(different)} have not", *different[:20])
    tap.check(lines > 0.9 * compared, f"{name}: kernel addresses have lines", f"{lines} of {compared}")


def check_profile(tap, name, out, release, folder, debug):
    log = read(out, "record.log")
    written = os.path.exists(f"{out}/frames.pb.gz")
    if not tap.check(read(out, "record.code").strip() == "0" and written, f"{name}: record exits with 0 and has written", log[-3000:]):
        return
    guest = Guest(out, folder, release)
    tap.check(guest.kaslr, f"{name}: KASLR moved the kernel by {guest.kaslr:#x}", read(out, "cmdline"))
    found = [location for location in locations(f"{out}/frames.pb.gz")
             if location.mapping.get("filename") in [CORE, *(f"[{module}]" for module in guest.sections)]]
    by_module = {}
    for location in found:
        by_module[location.mapping["filename"]] = by_module.get(location.mapping["filename"], 0) + 1
    tap.note(f"{name}: Linux {release}, kernel addresses: {by_module}")
    seen = {module.strip("[]") for module in by_module}
    tap.check(len(found) > 100 and seen >= MODULES_SEEN, f"{name}: the kernel's, ext4's and nvme's frames were seen", by_module)
    check_names(tap, name, guest, found, debug and f"{debug}/boot/vmlinux-{release}")
    if debug:
        check_lines(tap, name, guest, debug, found)


def debug_folder(tap, name, release):
    """What --debug-dir is to be; None, and the reason in the test's output, without it."""
    try:
        if not os.environ.get("SYMBOLS_FETCH") and not debug_packages.have_kernel(release):
            raise Unavailable("SYMBOLS_FETCH=1 fetches the kernel's debug package")
        return debug_packages.kernel(release)
    except Unavailable as why:
        tap.skip(f"{name}: functions, files and lines by the kernel's debug information", f"allowed: {' '.join(str(why).split())}")
        return None


def boot_moved(tap, name, build, pattern, debug, out, folder, release):
    """Boots until KASLR has chosen another place than the one the kernel was linked for, which it seldom does not. True: as it should."""
    for _ in range(TRIES):
        done = boot(build, pattern, debug, out)
        if done.returncode == UNAVAILABLE:
            tap.skip(f"{name}: boots", f"allowed: {' '.join(done.stdout.split())[-300:]}")
            return False
        if not tap.check(done.returncode == 0, f"{name}: boots and runs", done.stdout[-3000:]):
            return False
        if Guest(out, folder, release).kaslr:
            break
    return True


def run(build, name, pattern):
    tap = Tap()
    try:
        release, folder = kernel(pattern)
    except Unavailable as why:
        tap.skip(f"{name}: boots", f"allowed: {' '.join(str(why).split())[-300:]}")
        tap.end()
    debug = debug_folder(tap, name, release)
    with tempfile.TemporaryDirectory(prefix="stallprof-vm-out-") as out:
        if boot_moved(tap, name, build, pattern, debug, out, folder, release):
            check_profile(tap, name, out, release, folder, debug)
    tap.end()
