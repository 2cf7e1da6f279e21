"""Frames of ours beside gdb's, for the tests that compare them.

One of gdb's is (function, file, line, "real", "inlined" or "signal"); one of ours has the ELF file and the ELF address on
top. Files are base names.
"""
import functools
import os
import re
import subprocess

import symbol_tables



@functools.lru_cache(None)
def readable(name):
    """gdb leaves the symbols of some clones as they are."""
    if not name.startswith("_Z"):
        return name
    return cut_parameters(subprocess.run(["c++filt", name], capture_output=True, text=True).stdout.strip())


@functools.lru_cache(None)
def aliases(path):
    """name -> the set of names of the same address, C++ ones as people read them."""
    mangled = symbol_tables.aliases(path)
    names = sorted(mangled)
    plain = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True).stdout.split("\n")
    readable = {name: cut_parameters(text) for name, text in zip(names, plain)}
    found = {}
    for name, others in mangled.items():
        found.setdefault(readable[name], set()).update(readable[other] for other in others)
    return found


def cut_parameters(name):
    """'ns::f<int>(int) const' -> 'ns::f<int>', as people read it."""
    name = re.sub(r"\[abi:[^]]*\]", "", name)
    depth = 0
    for i, letter in enumerate(name):
        if letter == "(" and depth == 0 and not name.startswith(("(anonymous", "()("), i) and \
                not name[:i].endswith("operator"):
            end, level = i, 0
            while end < len(name):
                level += {"(": 1, ")": -1}.get(name[end], 0)
                end += 1
                if level == 0:
                    break
            rest = name[end:]
            if rest.startswith("::") or rest.startswith(" const::"):
                continue
            return name[:i]
        depth += {"<": 1, ">": -1, "{": 1, "}": -1}.get(letter, 0)
    return name


def plain(name):
    """Without what compilers put behind the names of clones and parts of functions, some of it cut by gdb."""
    return re.sub(r"(\.(part|constprop|isra|cold|lto_priv|_omp_fn|\d+)|\[cold\])+$", "", name)


# What the symbol is called, and what the source, of Rust functions that have a name for the linker.
RUST_EXPORTS = {"rust_begin_unwind": "panic_handler"}


def rust_leaf(name):
    """The last part of a name in Rust, for which gdb goes by DWARF's types and we by the symbol."""
    name = name.replace("->", "")
    while re.search(r"<[^<>]*>", name):
        name = re.sub(r"(::)?<[^<>]*>", "", name)
    leaf = re.sub(r"\{+closure(#\d+)?\}+", "{closure}", name).split("::")[-1]
    return RUST_EXPORTS.get(leaf, leaf)


def without_arguments(name):
    """A C++ name without what its templates were given: in gdb it is DWARF's (std::vector<int>, long int), in a symbol all
    of it (std::vector<int, std::allocator<int> >, long)."""
    name = re.sub(r"\{lambda(\([^{}]*\))#\d+\}", r"<lambda\1>", name).replace("->", "").replace("operator<", "operator")
    while re.search(r"<[^<>]*>", name):
        name = re.sub(r"<[^<>]*>", "", name)
    return name.replace(" ", "")


def same_name(ours, theirs):
    if ours[1].endswith(".rs") and rust_leaf(ours[0]) == rust_leaf(theirs[0]):
        return True
    if plain(ours[0]) == plain(theirs[0]) or ours[0] == readable(plain(theirs[0])):
        return True
    # Of functions within functions gdb has the last part of the name.
    if "<" in ours[0] + theirs[0] or "::" in ours[0]:
        if ("::" + without_arguments(ours[0])).endswith("::" + without_arguments(theirs[0])):
            return True
    return plain(theirs[0]) in map(plain, aliases(ours[4]).get(ours[0], ()))


def eu_lines_of_many(path, addresses):
    """address -> (file, line) of each frame there, innermost first. Addresses are texts in hex without 0x."""
    out = subprocess.run(["eu-addr2line", "-a", "-i", "-e", path], capture_output=True, text=True,
                         input="".join(f"0x{address}\n" for address in addresses)).stdout
    known, current = {}, None
    for line in out.splitlines():
        place = re.match(r"^(.*?):(\d+)", line)
        if re.fullmatch(r"0x[0-9a-f]+", line):
            current = known.setdefault(f"{int(line, 16):x}", [])
        elif place and current is not None:
            current.append((os.path.basename(place[1]), int(place[2])))
    return known


class Lines:
    """What eu-addr2line says, asked once for many addresses."""

    def __init__(self):
        self.wanted, self.known = {}, {}

    def want(self, path, address):
        if (path, address) not in self.known:
            self.wanted.setdefault(path, set()).add(address)

    def of(self, path, address):
        """(file, line) of each frame at an ELF address, innermost first."""
        for file, addresses in self.wanted.items():
            for one, found in eu_lines_of_many(file, sorted(addresses)).items():
                self.known[file, one] = found
        self.wanted = {}
        return self.known.get((path, address), [])


def same_line(ours, theirs, lines):
    """gdb passes over rows that begin no statement, and over those that say that code has no line; where it differs for
    that, eu-addr2line is to agree with us."""
    if ours[1:3] == theirs[1:3]:
        return True
    eus = lines.of(ours[4], ours[5])
    return ours[1:3] in eus or (ours[2] == 0 and ("??", 0) in eus)


def same_frame(ours, theirs, lines):
    if theirs[0] == "<signal>" or theirs[3] == "signal":
        return "restore_rt" in ours[0]
    if theirs[0] == "??" or ours[0].startswith("[no symbols"):
        # Of a PLT in two halves, gdb has names for one.
        return theirs[0] == "??" and (ours[0].startswith("[no symbols") or ours[0].endswith("@plt"))
    return same_name(ours, theirs) and ours[3] == theirs[3] and same_line(ours, theirs, lines)


def differences(ours, theirs, lines):
    """A line for each pair that is not the same, and one when there is another number of them; [] when all is well."""
    for mine, gdbs in zip(ours, theirs):
        if mine[1:3] != gdbs[1:3]:
            lines.want(mine[4], mine[5])
    found = [f"#{i} ours {a} gdb {b}" for i, (a, b) in enumerate(zip(ours, theirs)) if not same_frame(a, b, lines)]
    if len(ours) != len(theirs):
        found.append(f"{len(ours)} frames, gdb has {len(theirs)}")
    return found


def parse_ours(field):
    """Of a line FRAME, cut at its tabs, as unwind_live and replay print it."""
    return (cut_parameters(field[1]), os.path.basename(field[2]), int(field[3]), *field[4:])
