"""The locations of a pprof file, by protoc, with their mappings and lines."""
import gzip
import os
import re
import subprocess
import typing

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


class Location(typing.NamedTuple):
    mapping: dict  # memory_start, file_offset, filename, ...; empty: none
    address: int
    frames: list  # (function, file, line), innermost first


def message(lines):
    """Field -> values of protoc's text, up to the end of the message."""
    fields = {}
    for line in lines:
        line = line.strip()
        if line == "}":
            break
        name, value = (line[:-2], message(lines)) if line.endswith(" {") else line.split(": ", 1)
        fields.setdefault(name, []).append(value)
    return fields


def number(fields, name):
    return int(fields.get(name, ["0"])[0])


def unquoted(text):
    """protoc's string: octal escapes and the usual ones."""
    plain = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text[1:-1])
    return plain.replace("\\\"", "\"").replace("\\'", "'").replace("\\\\", "\\")


def locations(path):
    with gzip.open(path) as file:
        text = subprocess.run(["protoc", "--decode=perftools.profiles.Profile", f"-I{ROOT}", f"{ROOT}/pprof/profile.proto"],
                              input=file.read(), capture_output=True, check=True).stdout.decode()
    profile = message(iter(text.splitlines()))
    texts = [unquoted(entry) for entry in profile["string_table"]]
    mappings = {number(entry, "id"): {"filename": texts[number(entry, "filename")], "memory_start": number(entry, "memory_start"),
                                      "file_offset": number(entry, "file_offset")} for entry in profile["mapping"]}
    functions = {number(entry, "id"): (texts[number(entry, "name")], texts[number(entry, "filename")])
                 for entry in profile["function"]}
    return [Location(mappings.get(number(entry, "mapping_id"), {}), number(entry, "address"),
                     [(*functions[number(line, "function_id")], number(line, "line")) for line in entry.get("line", [])])
            for entry in profile["location"]]
