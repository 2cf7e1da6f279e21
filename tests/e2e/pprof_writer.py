"""Profiles written byte by byte, by profile.proto and the ledger's documentation alone, so that writer and reader are not the same
code."""
import functools
import gzip

UNITS = {"tag_hash": "hash", "at": "unix_seconds"}


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


@functools.lru_cache(1 << 16)
def number_field(number, value):
    return varint(number << 3) + varint(value)


def field(number, value):
    if isinstance(value, int):
        return number_field(number, value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def tag_hash(name):
    """64-bit FNV-1a without its top bit, as profiler/format/tag_hash.h has it."""
    value = 0xcbf29ce484222325
    for byte in name if isinstance(name, bytes) else name.encode():
        value = (value ^ byte) * 0x100000001b3 & (1 << 64) - 1
    return value & (1 << 63) - 1


def mapping_of(file):
    """In which mapping the profiler would put code of that source file."""
    if file.startswith("kernel/"):
        return "[kernel.kallsyms]_stext"
    if file.startswith("drivers/"):
        return "[nvme]"
    return "[python]" if file.endswith(".py") else "/bin/train"


class Profile:
    def __init__(self, types=(("contentions", "count"), ("delay", "nanoseconds"), ("cpu", "nanoseconds"))):
        self.texts, self.body, self.functions, self.locations, self.mappings = {"": 0}, bytearray(), {}, {}, {}
        self.mapping("/bin/train")
        for name, unit in types:
            self.body += field(1, field(1, self.text(name)) + field(2, self.text(unit)))

    def text(self, text):
        return self.texts.setdefault(text, len(self.texts))

    def function(self, name, file):
        if (name, file) not in self.functions:
            self.functions[name, file] = len(self.functions) + 1
            self.body += field(5, field(1, self.functions[name, file]) + field(2, self.text(name)) +
                               field(4, self.text(file)))
        return self.functions[name, file]

    def mapping(self, file):
        if file not in self.mappings:
            start = 0x1000 * len(self.mappings)
            self.mappings[file] = len(self.mappings) + 1
            self.body += field(3, field(1, self.mappings[file]) + field(2, start + 1) + field(3, start + 0x1000) +
                               field(5, self.text(file)))
        return self.mappings[file]

    def location(self, frames):
        """frames: ((function, file, line), ...), the innermost first."""
        if frames not in self.locations:
            lines = b"".join(field(4, field(1, self.function(name, file)) + field(2, line))
                             for name, file, line in frames)
            self.locations[frames] = len(self.locations) + 1
            self.body += field(4, field(1, self.locations[frames]) + field(2, self.mapping(mapping_of(frames[0][1]))) +
                               field(3, 0x1000 + len(self.locations)) + lines)
        return self.locations[frames]

    def sample(self, stack, values, **labels):
        """stack: innermost first, each as location() takes it."""
        body = b"".join(field(1, self.location(frames)) for frames in stack)
        body += b"".join(field(2, value) for value in values)
        for key, value in labels.items():
            if isinstance(value, int):
                body += field(3, field(1, self.text(key)) + field(3, value) + field(4, self.text(UNITS.get(key, "id"))))
            else:
                body += field(3, field(1, self.text(key)) + field(2, self.text(value)))
        self.body += field(2, body)

    def time(self, at_ns, duration_ns):
        self.body += field(9, at_ns) + field(10, duration_ns)

    def comment(self, text):
        self.body += field(13, self.text(text))

    def note(self, text):
        self.body += field(1000, text.encode())

    def bytes(self):
        return bytes(self.body) + b"".join(field(6, text.encode()) for text in self.texts)

    def save(self, path):
        with open(path, "wb") as out:
            out.write(gzip.compress(self.bytes(), 1) if path.endswith(".gz") else self.bytes())
        return path
