"""A program that stalls for a while, with an ELF file that no reader can trust but that still runs."""
import os
import random
import struct

import profiled

SOURCE = r"""#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) static int write_often(int fd, void *buffer)
{
	for (int i = 0; i < 100; i++)
		if (pwrite(fd, buffer, 65536, 0) != 65536)
			return 1;
	return 0;
}
int main(int argc, char **argv)
{
	char path[4096];
	void *buffer;
	int fd;
	strncpy(path, argv[0], sizeof(path) - 6);
	strcat(path, ".data");
	fd = open(path, O_RDWR | O_CREAT | O_DIRECT, 0600);
	unlink(path);
	if (argc > 1)
		unlink(argv[0]);
	return fd < 0 || posix_memalign(&buffer, 4096, 65536) || write_often(fd, buffer);
}
"""
# What no program header's loader needs, and every reader of symbols and stacks does.
SPOILT = (".debug", ".eh_frame", ".symtab", ".strtab", ".note", ".gnu_debuglink", ".shstrtab", ".comment")
EHDR_SHOFF, EHDR_SHENTSIZE, SHDR_SIZE = 40, 58, 64


def sections(elf):
    """[(name, place of the header, offset, size)] of a 64-bit file."""
    (table,), (count, names) = struct.unpack_from("<Q", elf, EHDR_SHOFF), struct.unpack_from("<HH", elf, EHDR_SHENTSIZE + 2)
    found = []
    for at in range(table, table + count * SHDR_SIZE, SHDR_SIZE):
        name, = struct.unpack_from("<I", elf, at)
        offset, size = struct.unpack_from("<QQ", elf, at + 24)
        found.append((name, at, offset, size))
    text = found[names][2]
    return [(bytes(elf[text + name:elf.index(b"\0", text + name)]).decode(), at, offset, size)
            for name, at, offset, size in found]


def scramble(elf, how):
    chance, (table,) = random.Random(how), struct.unpack_from("<Q", elf, EHDR_SHOFF)
    if how == "content":
        for name, _, offset, size in sections(elf):
            if name.startswith(SPOILT):
                elf[offset:offset + size] = chance.randbytes(size)
    elif how == "headers":
        elf[table:] = chance.randbytes(len(elf) - table)
    elif how == "offset":
        struct.pack_into("<Q", elf, EHDR_SHOFF, 1 << 62)
    elif how == "cut":
        del elf[min(offset for name, _, offset, _ in sections(elf) if name.startswith((".debug", ".symtab"))):]
    return elf


def make(bench, name, how):
    """The program BENCH/name; how: content, headers, offset, cut, whole."""
    source, built = bench.file("stalls.c", SOURCE), bench.path(name)
    done = profiled.run(["cc", "-O1", "-g", "-w", source, "-o", built])
    if done.code:
        raise RuntimeError(done.err)
    with open(built, "rb") as file:
        elf = bytearray(file.read())
    with open(built, "wb") as file:
        file.write(scramble(elf, how))
    os.chmod(built, 0o755)
