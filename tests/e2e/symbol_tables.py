"""What binutils and elfutils know of a file's symbols, for tests that compare names."""
import os
import re
import subprocess


def aliases(path):
    """name -> the set of names of the same address, from .symtab of the file or of its debug file, and .dynsym."""
    notes = subprocess.run(["readelf", "-nW", path], capture_output=True, text=True).stdout
    build_id = re.search(r"Build ID: ([0-9a-f]+)", notes)
    separate = f"/usr/lib/debug/.build-id/{build_id[1][:2]}/{build_id[1][2:]}.debug" if build_id else ""
    at = {}
    for file in [path] + [separate] * os.path.exists(separate):
        for line in subprocess.run(["readelf", "-sW", file], capture_output=True, text=True).stdout.splitlines():
            field = line.split()
            if len(field) == 8 and field[3] in ("FUNC", "NOTYPE", "IFUNC") and field[6].isdigit():
                at.setdefault(field[1], set()).add(field[7].split("@")[0])
    of = {}
    for names in at.values():
        for name in names:
            of.setdefault(name, set()).update(names)
    return of


def eu_lines(path, address):
    """file name and line of each frame at an ELF address, innermost first."""
    out = subprocess.run(["eu-addr2line", "-i", "-e", path, hex(address)], capture_output=True, text=True).stdout
    found = [re.match(r"^(.*?):(\d+)", line) for line in out.splitlines() if " inlined at " not in line]
    return [(os.path.basename(match[1]), int(match[2])) for match in found if match]
