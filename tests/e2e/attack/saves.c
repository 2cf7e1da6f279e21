/* saves FILE: writes 64 KiB to FILE and has them on the disk, again and again, each time with the tag "save". */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attack.h"
#include "stalltag/stalltag.h"

#define BLOCK_BYTES 65536

__attribute__((noinline)) static void save_block(int fd, const char *block)
{
	must(pwrite(fd, block, BLOCK_BYTES, 0) == BLOCK_BYTES && fdatasync(fd) == 0, "save");
}

int main(int argc, char **argv)
{
	int fd = open(argc == 2 ? argv[1] : "", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	const char *block = aligned_buffer(BLOCK_BYTES);

	must(fd >= 0, "usage: saves FILE");
	must(mlockall(MCL_CURRENT) == 0, "mlockall"); /* its code may lie where nothing can be read again */
	for (uint64_t i = 1;; i++) {
		stalltag_push(i, "save");
		save_block(fd, block);
		stalltag_pop();
	}
}
