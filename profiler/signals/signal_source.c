/* Reads files again and again, and tells what has grown. */

#include "profiler/signals/signal_source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "profiler/format/timeline.h"
#include "symbolizer/base/clock.h"

static ssize_t read_text(int fd, char *text)
{
	ssize_t n = pread(fd, text, SIGNAL_TEXT_BYTES - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return n < 0 ? -errno : n;
}

int signal_source_open(struct signal_source *source, const char *root, const struct signal_file *file,
                       const char *device)
{
	char path[PATH_MAX], text[SIGNAL_TEXT_BYTES];
	const char *place = strstr(file->path, "%s");
	ssize_t n;

	*source = (struct signal_source){ .file = file, .every = file->every };
	snprintf(source->device, sizeof(source->device), "%s", device);
	if (place)
		snprintf(path, sizeof(path), "%s%.*s%s%s", root, (int)(place - file->path), file->path,
		         device, place + 2);
	else
		snprintf(path, sizeof(path), "%s%s", root, file->path);
	source->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (source->fd < 0)
		return -errno;
	n = read_text(source->fd, text);
	for (size_t i = 0; n >= 0 && i < SIGNAL_VALUES && file->value[i].parse; i++)
		if (!file->value[i].parse(text, &source->last[i]))
			n = -ENODATA;
	if (n >= 0)
		return 0;
	signal_source_close(source);
	return (int)n;
}

void signal_source_close(struct signal_source *source)
{
	if (source->fd >= 0)
		close(source->fd);
	source->fd = -1;
}

/* What the value says of the time since it was read last. */
static int64_t amount_of(const struct signal_kind *kind, uint64_t value, uint64_t last, uint64_t passed_ns)
{
	uint64_t per = kind->per ? kind->per : 1;

	if (kind->is_state)
		return (int64_t)((value > kind->less ? value - kind->less : 0) * kind->times *
		                 (passed_ns / 1000) / per);
	/* A CPU that went offline may take its part away. */
	return value > last ? (int64_t)((value - last) * kind->times / per) : 0;
}

static void tell(struct signal_source *source, const char *text, uint64_t now_ns, struct timeline *timeline)
{
	for (size_t i = 0; i < SIGNAL_VALUES && source->file->value[i].parse; i++) {
		const struct signal_kind *kind = &source->file->value[i];
		struct timeline_lane lane = { .kind = TIMELINE_SIGNAL,
			                      .name = kind->name,
			                      .device = source->device,
			                      .bucket_ns = source->every * SIGNAL_TICK_NS };
		uint64_t value;
		int64_t amount;

		if (!kind->parse(text, &value))
			continue;
		amount = source->has_last && now_ns > source->last_ns &&
		                         now_ns - source->last_ns < SIGNAL_PAUSE_NS
		                 ? amount_of(kind, value, source->last[i], now_ns - source->last_ns)
		                 : 0;
		source->last[i] = value;
		if (amount && timeline)
			timeline_add(timeline, &lane, source->last_ns, now_ns, amount);
	}
	source->last_ns = now_ns;
	source->has_last = true;
}

void signal_source_read(struct signal_source *source, char *text, uint64_t now_ns, struct timeline *timeline)
{
	bool timed = source->reads < SIGNAL_TIMED_READS;
	uint64_t before_ns = timed ? thread_cpu_ns() : 0;

	if (read_text(source->fd, text) > 0)
		tell(source, text, now_ns, timeline);
	else
		source->has_last = false;
	if (!timed)
		return;
	before_ns = thread_cpu_ns() - before_ns;
	if (!source->reads++ || before_ns < source->cost_ns)
		source->cost_ns = before_ns;
}

/* Ticks between reads: 100, 20, 4 and 1 a second, and one in 5 seconds. */
static const unsigned int rates[] = { 1, 5, 25, 100, 500 };

#define SLOWEST (sizeof(rates) / sizeof(rates[0]) - 1)

/* CPUs that it takes. */
static double cost_of(const struct signal_source *source)
{
	return (double)source->cost_ns / (double)(source->every * SIGNAL_TICK_NS);
}

unsigned int signal_sources_every(struct signal_source *const *sources, size_t count)
{
	unsigned int every = rates[SLOWEST];

	for (size_t i = 0; i < count; i++)
		every = sources[i]->every < every ? sources[i]->every : every;
	return every;
}

bool signal_sources_slow_down(struct signal_source *const *sources, size_t count)
{
	struct signal_source *dearest = NULL;

	for (size_t i = 0; i < count; i++)
		if (sources[i]->every < rates[SLOWEST] &&
		    (!dearest || cost_of(sources[i]) > cost_of(dearest)))
			dearest = sources[i];
	for (size_t i = 0; dearest && i <= SLOWEST; i++) {
		if (rates[i] > dearest->every) {
			dearest->every = rates[i];
			return true;
		}
	}
	return false;
}

/* CPUs that all take. */
static double cost_of_all(struct signal_source *const *sources, size_t count)
{
	double sum = SIGNAL_TURN_NS / (double)(signal_sources_every(sources, count) * SIGNAL_TICK_NS);

	for (size_t i = 0; i < count; i++)
		sum += cost_of(sources[i]);
	return sum;
}

bool signal_sources_speed_up(struct signal_source *const *sources, size_t count, double budget)
{
	struct signal_source *cheapest = NULL;
	unsigned int before, i = SLOWEST;

	for (size_t k = 0; k < count; k++)
		if (sources[k]->every > sources[k]->file->every &&
		    (!cheapest || cost_of(sources[k]) < cost_of(cheapest)))
			cheapest = sources[k];
	if (!cheapest)
		return false;
	before = cheapest->every;
	while (i && rates[i] >= before)
		i--;
	cheapest->every = rates[i] > cheapest->file->every ? rates[i] : cheapest->file->every;
	if (cost_of_all(sources, count) <= budget)
		return true;
	cheapest->every = before;
	return false;
}

bool signal_sources_are_new(struct signal_source *const *sources, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (sources[i]->reads >= SIGNAL_TIMED_READS && !sources[i]->weighed)
			return true;
	return false;
}

void signal_sources_choose_rates(struct signal_source *const *sources, size_t count, double budget)
{
	for (size_t i = 0; i < count; i++)
		sources[i]->weighed = sources[i]->reads >= SIGNAL_TIMED_READS;
	while (cost_of_all(sources, count) > budget && signal_sources_slow_down(sources, count))
		;
}
