/* Runs BPF task iterators, and corrects the count of tagged threads by what they find. */
#include "profiler/tracer/task_walk.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

int task_walk_make(const struct bpf_program *program, struct bpf_link **link)
{
	if (!bpf_program__autoload(program))
		return 0;
	*link = bpf_program__attach_iter(program, NULL);
	return *link ? 0 : -errno;
}

int task_walk_run(struct bpf_link *iterator)
{
	int fd = bpf_iter_create(bpf_link__fd(iterator)), result = 0;
	char nothing[64];
	ssize_t n;

	if (fd < 0)
		return -errno;
	/* EAGAIN: the kernel has looked at a million threads, and continues at the next read. */
	while ((n = read(fd, nothing, sizeof(nothing))) > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		;
	if (n < 0)
		result = -errno;
	close(fd);
	return result;
}

int task_walk_process(const struct bpf_program *program, uint32_t pid)
{
	/* As in union bpf_iter_link_info, which headers before 6.1 have without it. */
	struct {
		uint32_t tid, pid, pid_fd;
	} of = { .pid = pid };
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = (union bpf_iter_link_info *)&of,
	            .link_info_len = sizeof(of));
	struct bpf_link *link = bpf_program__attach_iter(program, &opts);
	int result = link ? 0 : -errno;

	if (!link)
		return result;
	result = task_walk_run(link);
	bpf_link__destroy(link);
	return result;
}

int64_t tagged_correction(int64_t *drift, int64_t before, int64_t walk, int64_t after)
{
	int64_t low = before < after ? before : after, high = before < after ? after : before;
	int64_t found = walk < low ? walk - low : walk > high ? walk - high : 0;

	if (found && found == *drift) {
		*drift = 0;
		return found;
	}
	*drift = found;
	return 0;
}
