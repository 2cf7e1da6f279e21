"""What eu-addr2line and llvm-symbolizer say of addresses, what stallprof says, and whether that is the same.

An answer is a list of frames, innermost first, each (function, path, line). The same means: as many frames, and for each frame
  function  equal as it stands in the DWARF or the symbol table. Which of two names of one address is shown counts for nothing;
            neither does what compilers and linkers put behind a name (.constprop.0, .isra.0, .part.0, .cold, .llvm.123), nor
            that eu-addr2line leaves out what a C++ function is in
  file      equal once "." and ".." are resolved, or one path ends with the other (eu-addr2line leaves out the compilation's folder)
  line      equal; 0 of code that has none
"""
import json
import os
import re
import shutil
import subprocess

import symbol_tables

INLINED = re.compile(r"^(.*?) inlined at (.*?)(?: in (.*))?$")
CLONE = re.compile(r"(\.(llvm\.\d+|constprop\.\d+|isra\.\d+|part\.\d+|cold|\d+))+$")
UNKNOWN = [("??", "?", 0)]


def llvm_symbolizer():
    return next((name for name in ("llvm-symbolizer-19", "llvm-symbolizer") if shutil.which(name)), None)


def versions():
    """One line that says which oracles these are."""
    texts = [subprocess.run([tool, "--version"], capture_output=True, text=True).stdout
             for tool in ("eu-addr2line", llvm_symbolizer()) if tool and shutil.which(tool)]
    found = [re.search(r"(elfutils\) [\w.]+|LLVM version [\w.]+)", text) for text in texts]
    return ", ".join(match[1].replace(")", "") for match in found if match)


def location(text):
    """'dir/file.c:12:3' -> (normalized path, 12); eu-addr2line puts the compilation's folder before itself."""
    match = re.match(r"^(.*?):(\d+)(?::\d+)?$", text)
    path, line = (match[1], int(match[2])) if match else (text, 0)
    parts = [part for part in path.split("/") if part not in ("", ".")]
    for size in range(1, len(parts) // 2 + 1):
        if parts[:size] == parts[size:2 * size]:
            parts = parts[size:]
            break
    clean = []
    for part in parts:
        if part == ".." and clean and clean[-1] != "..":
            clean.pop()
        else:
            clean.append(part)
    return ("?" if "??" in path else "/".join(clean), line)


def ask(argv, addresses):
    return subprocess.run(argv, input="\n".join(map(hex, addresses)) + "\n", capture_output=True, text=True, errors="replace")


def ask_eu(path, addresses, section=None, debug_dir=None):
    """None: it is not there, or knows nothing of this file."""
    if not shutil.which("eu-addr2line"):
        return None
    done = ask(["eu-addr2line", "-f", "-i", "-a", *([f"--section={section}"] if section else []),
                *([f"--debuginfo-path={debug_dir}"] if debug_dir else []), "-e", path], addresses)
    answers = []
    for line in done.stdout.splitlines():
        if re.match(r"^0x[0-9a-f]{8,}$", line):
            answers.append([])
        elif answers:
            answers[-1].append(line)
    return [eu_frames(lines) for lines in answers] if len(answers) == len(addresses) else None


def eu_frames(lines):
    """Alternating lines: "f inlined at F:L in g" and the location of f; outer functions come as further pairs."""
    frames = []
    for function, where in zip(lines[0::2], lines[1::2]):
        match = INLINED.match(function)
        frames.append((match[1] if match else function, *location(where)))
    return frames or UNKNOWN


def linked_copy(folder, path):
    """What a relocatable file is when it is linked, each section of code by itself: llvm-symbolizer cannot be told a section, and
    where several are at 0 it mixes them up. And the addresses that they have there, {section: address}."""
    copy, script = f"{folder}/linked-{os.path.basename(path)}", f"{folder}/sections.ld"
    with open(script, "w") as file:
        file.write("SECTIONS { . = 0x1000000;\n" + "".join(f"{name} : {{ *({name}) }}\n" for name in symbol_tables.sections(path)) + "}\n")
    subprocess.run(["ld", "-e", "0", "-T", script, "--unresolved-symbols=ignore-all", "--noinhibit-exec", "-o", copy, path], check=True,
                   stderr=subprocess.DEVNULL)
    return copy, {name: address for name, (_, address, _) in symbol_tables.sections(copy).items()}


def ask_llvm(path, addresses, section=None, debug_dir=None, folder=None):
    """The same; with a section the file is a relocatable one, and `folder` has room for a copy. It knows no dwz files and no .zdebug
    sections."""
    tool = llvm_symbolizer()
    if not tool:
        return None
    if section:
        path, places = linked_copy(folder, path)
        addresses = [places[section] + address for address in addresses]
    done = ask([tool, "--no-demangle", f"--obj={path}", *([f"--debug-file-directory={debug_dir}"] if debug_dir else [])], addresses)
    answers = []
    for block in done.stdout.split("\n\n"):
        lines = block.strip("\n").splitlines()
        if lines:
            answers.append([(f, *location(w)) for f, w in zip(lines[0::2], lines[1::2])])
    return answers if len(answers) == len(addresses) else None


def ask_us(stallprof, path, addresses, section=None, debug_dir=None):
    done = ask([stallprof, "symbolize", "--json", "--no-demangle", "-e", path, *(["--section", section] if section else []),
                *(["--debug-dir", debug_dir] if debug_dir else [])], addresses)
    if done.returncode:
        raise RuntimeError(f"stallprof symbolize -e {path}: exit code {done.returncode}: {done.stderr.strip()[-500:]}")
    return [[(frame["function"], location(frame["file"])[0] if frame["file"] else "?", frame["line"]) for frame in answer["frames"]]
            for answer in json.loads(done.stdout)]


def same_name(our, their, alias):
    if our == their or their in alias.get(our, ()) or (our.startswith("[no symbols") and their == "??"):
        return True
    our, their = CLONE.sub("", our), CLONE.sub("", their)
    return our == their or our.endswith(f"::{their}") or their in alias.get(our, ())


def same_file(our, their):
    guessed = their == "crtstuff.c" and our == "?"  # from the symbol table's file entries
    return our == their or guessed or our.endswith("/" + their) or their.endswith("/" + our)


def differences(ours, theirs, alias):
    """What is not the same: words out of "depth", "function", "file", "line"; empty when all is."""
    if theirs[0][0] == "??":  # no function, as between two of them: it has a line, and eu-addr2line's outer frames are wrong
        theirs = theirs[:1]
    if len(ours) != len(theirs):
        return ["depth"]
    found = []
    for (name, path, line), (their_name, their_path, their_line) in zip(ours, theirs):
        found += ["function"] * (not same_name(name, their_name, alias))
        found += ["file"] * (not same_file(path, their_path))
        found += ["line"] * (line != their_line)
    return sorted(set(found))
