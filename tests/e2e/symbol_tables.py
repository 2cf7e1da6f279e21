"""What binutils and elfutils know of a file's symbols and sections, for tests that compare names."""
import bisect
import os
import re
import subprocess


def readelf(option, path):
    return subprocess.run(["readelf", option, path], capture_output=True, text=True, errors="replace").stdout


def debug_file(path, debug_dir="/usr/lib/debug"):
    """The separate debug file that belongs to the file's build-id, or None."""
    build_id = re.search(r"Build ID: ([0-9a-f]+)", readelf("-nW", path))
    found = f"{debug_dir or '/usr/lib/debug'}/.build-id/{build_id[1][:2]}/{build_id[1][2:]}.debug" if build_id else ""
    return found if os.path.exists(found) else None


def symbols(path, debug_dir=None):
    """(value, size, type, name, section index) of the functions and labels in .symtab and .dynsym of the file and its debug file."""
    for file in [path] + [debug_file(path, debug_dir)] * bool(debug_file(path, debug_dir)):
        for line in readelf("-sW", file).splitlines():
            field = line.split()
            if len(field) == 8 and field[3] in ("FUNC", "NOTYPE", "IFUNC") and field[6].isdigit():
                yield int(field[1], 16), int(field[2], 0), field[3], field[7].split("@")[0], int(field[6])


def aliases(path, debug_dir=None):
    """name -> the set of names of the same address."""
    at = {}
    for value, _, _, name, section in symbols(path, debug_dir):
        at.setdefault((value, section), set()).add(name)
    of = {}
    for names in at.values():
        for name in names:
            of[name] = of[name] | names if name in of else names
    return of


class Functions:
    """Where the functions are whose size the symbol table tells."""

    def __init__(self, path, section=None, debug_dir=None):
        spans = sorted((value, value + size) for value, size, kind, _, index in symbols(path, debug_dir)
                       if size and kind != "NOTYPE" and section in (None, index))
        self.starts, self.ends, high = [], [], 0
        for start, end in spans:
            high = max(high, end)
            self.starts.append(start)
            self.ends.append(high)

    def hold(self, address):
        at = bisect.bisect_right(self.starts, address)
        return at > 0 and address < self.ends[at - 1]


def sections(path):
    """name -> (index, address, size) of the sections that hold code."""
    found = {}
    for line in readelf("-SW", path).splitlines():
        match = re.match(r"\s*\[\s*(\d+)\]\s+(\S+)\s+\S+\s+(\S+)\s+\S+\s+(\S+)\s+\S+\s+([A-Zop]+)\s", line)
        if match and {"A", "X"} <= set(match[5]):
            found[match[2]] = (int(match[1]), int(match[3], 16), int(match[4], 16))
    return found


def is_relocatable(path):
    return "REL (Relocatable" in readelf("-hW", path)


def eu_lines(path, address):
    """file name and line of each frame at an ELF address, innermost first."""
    out = subprocess.run(["eu-addr2line", "-i", "-e", path, hex(address)], capture_output=True, text=True).stdout
    found = [re.match(r"^(.*?):(\d+)", line) for line in out.splitlines() if " inlined at " not in line]
    return [(os.path.basename(match[1]), int(match[2])) for match in found if match]
