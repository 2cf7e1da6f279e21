/* Fuzzes the configuration file: each must load, or be refused in one line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config *config = NULL;
	char path[64], err[512] = "";
	int fd = memfd_create("config", MFD_CLOEXEC);
	int result;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	result = config_load(path, &config, err, sizeof(err));
	close(fd);
	if (!result != !*err || strchr(err, '\n') || !result != !!config)
		abort();
	config_free(config);
	return 0;
}
