/* Encodes and decodes the windows of a spool. */

#include "profiler/output/spool_file.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "profiler/output/push_window.h"
#include "profiler/output/series.h"
#include "profiler/output/series_labels.h"

#define MAGIC       "stallspl"
#define MAGIC_BYTES 8
#define HEAD_BYTES  (SPOOL_PROGRESS_OFFSET + SPOOL_PROGRESS_BYTES)
#define TRIES_MAX   255

static uint32_t checksum(const uint8_t *bytes, size_t len)
{
	return (uint32_t)crc32_z(0, bytes, len);
}

static uint32_t number_at(const uint8_t *bytes)
{
	uint32_t number;

	memcpy(&number, bytes, sizeof(number));
	return le32toh(number);
}

/* --- encoding -------------------------------------------------------------------------------------------- */

static uint8_t *put_number(uint8_t *at, size_t number)
{
	uint32_t little = htole32((uint32_t)number);

	memcpy(at, &little, sizeof(little));
	return at + sizeof(little);
}

static uint8_t *put_bytes(uint8_t *at, const void *bytes, size_t len)
{
	at = put_number(at, len);
	memcpy(at, bytes, len);
	return at + len;
}

static uint8_t *put_text(uint8_t *at, const char *text)
{
	return put_bytes(at, text, strlen(text));
}

/* 0: it is too large. */
static size_t encoded_bytes(const struct push_window *window)
{
	size_t sum = HEAD_BYTES + 8, i;

	for (i = 0; i < window->labels->n; i++)
		sum += 8 + strlen(window->labels->label[i].name) + strlen(window->labels->label[i].value);
	for (i = 0; i < window->n && sum <= SPOOL_FILE_MAX; i++)
		sum += 8 + strlen(window->request[i].series->name) + window->request[i].len;
	return sum <= SPOOL_FILE_MAX && window->n <= SPOOL_REQUESTS_MAX ? sum : 0;
}

void spool_file_progress(const struct push_window *window, uint8_t progress[SPOOL_PROGRESS_BYTES])
{
	unsigned int tries = window->at < window->n ? window->unanswered : 0;
	uint8_t *at = put_number(progress, window->at);

	at = put_number(at, tries < TRIES_MAX ? tries : TRIES_MAX);
	at = put_number(at, window->failed);
	put_number(at, checksum(progress, SPOOL_PROGRESS_BYTES - sizeof(uint32_t)));
}

static void put_content(uint8_t *at, const struct push_window *window)
{
	size_t i;

	at = put_number(at, window->labels->n);
	for (i = 0; i < window->labels->n; i++) {
		at = put_text(at, window->labels->label[i].name);
		at = put_text(at, window->labels->label[i].value);
	}
	at = put_number(at, window->n);
	for (i = 0; i < window->n; i++) {
		at = put_text(at, window->request[i].series->name);
		at = put_bytes(at, window->request[i].body, window->request[i].len);
	}
}

int spool_file_encode(const struct push_window *window, uint8_t **bytes, size_t *len)
{
	size_t all = window->n ? encoded_bytes(window) : 0;
	uint8_t *out, *at;

	if (!all)
		return window->n ? -EFBIG : -EINVAL;
	out = malloc(all);
	if (!out)
		return -ENOMEM;
	put_content(out + HEAD_BYTES, window);
	memcpy(out, MAGIC, MAGIC_BYTES);
	at = put_number(out + MAGIC_BYTES, SPOOL_FILE_VERSION);
	at = put_number(at, all - HEAD_BYTES);
	put_number(at, checksum(out + HEAD_BYTES, all - HEAD_BYTES));
	spool_file_progress(window, out + SPOOL_PROGRESS_OFFSET);
	*bytes = out;
	*len = all;
	return 0;
}

/* --- decoding -------------------------------------------------------------------------------------------- */

struct reader {
	const uint8_t *at;
	size_t left;
};

static bool take_number(struct reader *r, uint32_t *number)
{
	if (r->left < sizeof(*number))
		return false;
	*number = number_at(r->at);
	r->at += sizeof(*number);
	r->left -= sizeof(*number);
	return true;
}

static bool take_bytes(struct reader *r, const uint8_t **bytes, uint32_t *len)
{
	if (!take_number(r, len) || *len > r->left)
		return false;
	*bytes = r->at;
	r->at += *len;
	r->left -= *len;
	return true;
}

/* Copies it to *at, with a zero, and moves *at behind that. `max`: without it. */
static bool take_text(struct reader *r, size_t max, char **at, const char **text)
{
	const uint8_t *bytes;
	uint32_t len;

	if (!take_bytes(r, &bytes, &len) || len > max || memchr(bytes, 0, len))
		return false;
	memcpy(*at, bytes, len);
	(*at)[len] = '\0';
	*text = *at;
	*at += len + 1;
	return true;
}

static int take_labels(struct reader *r, struct series_labels **labels)
{
	const size_t room = PUSH_LABELS_MAX * (PUSH_LABEL_NAME_MAX + PUSH_LABEL_VALUE_MAX + 2);
	struct push_label label[PUSH_LABELS_MAX];
	char *texts, *at;
	int err = -EBADMSG;
	uint32_t n, i;

	if (!take_number(r, &n) || n >= PUSH_LABELS_MAX)
		return -EBADMSG;
	at = texts = malloc(room);
	if (!texts)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		if (!take_text(r, PUSH_LABEL_NAME_MAX, &at, &label[i].name) ||
		    !take_text(r, PUSH_LABEL_VALUE_MAX, &at, &label[i].value))
			goto out;
	*labels = series_labels_new(label, n);
	err = *labels ? 0 : -ENOMEM;
out:
	free(texts);
	return err;
}

static const struct series *find_series(const uint8_t *name, size_t len)
{
	unsigned int i;

	for (i = 0; i < series_table_len; i++)
		if (strlen(series_table[i].name) == len && !memcmp(series_table[i].name, name, len))
			return &series_table[i];
	return NULL;
}

static int take_request(struct reader *r, struct push_window *window)
{
	const uint8_t *name, *bytes;
	const struct series *series;
	uint32_t name_len, len;
	void *body;
	int err;

	if (!take_bytes(r, &name, &name_len) || !take_bytes(r, &bytes, &len) || !len)
		return -EBADMSG;
	series = find_series(name, name_len);
	if (!series)
		return -EBADMSG;
	body = malloc(len);
	if (!body)
		return -ENOMEM;
	memcpy(body, bytes, len);
	err = push_window_add(window, series, body, len);
	if (err)
		free(body);
	return err;
}

static int take_content(struct reader *r, struct push_window *window)
{
	int err = take_labels(r, &window->labels);
	uint32_t n, i;

	if (err)
		return err;
	if (!take_number(r, &n) || !n || n > SPOOL_REQUESTS_MAX)
		return -EBADMSG;
	for (i = 0; i < n && !err; i++)
		err = take_request(r, window);
	return err || !r->left ? err : -EBADMSG;
}

/* NULL: nothing is wrong with the head, and the content is what was written. */
static const char *head_fault(const uint8_t *bytes, size_t len)
{
	const uint8_t *length = bytes + MAGIC_BYTES + sizeof(uint32_t);

	if (len < HEAD_BYTES)
		return "it is cut short";
	if (memcmp(bytes, MAGIC, MAGIC_BYTES) != 0)
		return "it is no window of a spool";
	if (number_at(bytes + MAGIC_BYTES) != SPOOL_FILE_VERSION)
		return "another version of stallprof has written it";
	if (number_at(length) > len - HEAD_BYTES)
		return "it is cut short";
	if (number_at(length) < len - HEAD_BYTES)
		return "something stands behind its end";
	if (number_at(length + sizeof(uint32_t)) != checksum(bytes + HEAD_BYTES, len - HEAD_BYTES))
		return "its checksum is wrong";
	return NULL;
}

/* What the window knows itself may be newer: a note of it can fail. */
static bool take_progress(const uint8_t *progress, struct push_window *window)
{
	const size_t step = sizeof(uint32_t);
	uint32_t at = number_at(progress), tries = number_at(progress + step);
	uint32_t failed = number_at(progress + 2 * step);

	if (number_at(progress + 3 * step) != checksum(progress, 3 * step) || at > window->n ||
	    window->at > window->n || tries > TRIES_MAX || failed > 1)
		return false;
	if (at > window->at || (at == window->at && tries > window->unanswered))
		window->unanswered = tries;
	if (at > window->at)
		window->at = at;
	window->failed |= failed;
	return true;
}

int spool_file_decode(const uint8_t *bytes, size_t len, struct push_window *window, const char **fault)
{
	struct reader r;
	int err;

	*fault = len > SPOOL_FILE_MAX ? "it is too large" : head_fault(bytes, len);
	if (*fault)
		return -EBADMSG;
	r = (struct reader){ .at = bytes + HEAD_BYTES, .left = len - HEAD_BYTES };
	err = take_content(&r, window);
	if (!err && !take_progress(bytes + SPOOL_PROGRESS_OFFSET, window))
		err = -EBADMSG;
	if (!err)
		return 0;
	push_window_unload(window);
	*fault = err == -EBADMSG ? "its content is damaged" : NULL;
	return err;
}
