/* Reads passwords and tokens from files, and masks them in texts. */

#include "profiler/output/push_secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pprof/utf8.h"

/* Reads until the end, or until the buffer is full. */
static ssize_t read_all(int fd, char *buf, size_t size)
{
	size_t used = 0;

	while (used < size) {
		ssize_t got = read(fd, buf + used, size - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		used += (size_t)got;
	}
	return (ssize_t)used;
}

/* Cuts at the line's end. NULL when it is fine, else what is wrong. */
static const char *cut_line(char *buf, size_t len)
{
	size_t i;

	for (i = 0; i < len && buf[i] != '\n'; i++)
		;
	if (i > PUSH_SECRET_MAX)
		return "its first line is too long";
	if (i && buf[i - 1] == '\r')
		i--;
	buf[i] = '\0';
	if (!i)
		return "its first line is empty";
	for (; i > 0; i--)
		if ((unsigned char)buf[i - 1] < 0x20 || buf[i - 1] == 0x7f)
			return "its first line holds a control character";
	return NULL;
}

int push_secret_read(const char *path, char **secret, char *err, size_t err_len)
{
	char *buf = calloc(1, PUSH_SECRET_MAX + 2);
	const char *wrong;
	int fd = -1, rc = 0;
	ssize_t len;

	*secret = NULL;
	if (!buf) {
		snprintf(err, err_len, "%s: out of memory", path);
		return -ENOMEM;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	len = fd < 0 ? -errno : read_all(fd, buf, PUSH_SECRET_MAX + 1);
	if (len < 0) {
		rc = (int)len;
		snprintf(err, err_len, "%s: can't read this secret: %s", path, strerror(-rc));
		goto out;
	}
	wrong = cut_line(buf, (size_t)len);
	if (wrong) {
		rc = -EINVAL;
		snprintf(err, err_len, "%s: can't use this secret: %s", path, wrong);
		goto out;
	}
	*secret = buf;
	buf = NULL;
out:
	push_secret_free(buf);
	if (fd >= 0)
		close(fd);
	return rc;
}

int push_secret_read_again(const char *path, char **secret, char *err, size_t err_len)
{
	struct stat st;

	*secret = NULL;
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		snprintf(err, err_len, "%s: can't read this secret again: it is no regular file", path);
		return -EINVAL;
	}
	return push_secret_read(path, secret, err, err_len);
}

/* The character at the text's beginning, which has `length` bytes of UTF-8; a byte that is no text stands for itself. */
static uint32_t code_point(const char *text, size_t length)
{
	uint32_t code = (unsigned char)*text;

	if (length > 1)
		code &= 0x7f >> length;
	for (size_t i = 1; i < length; i++)
		code = code << 6 | (text[i] & 0x3f);
	return code;
}

/* How many bytes of the text are an escape of JSON that stands for this character; 0: there is none. */
static size_t match_escape(uint32_t code, const char *text, size_t len)
{
	char escape[sizeof("\\ud83d\\ude00")];
	int n;

	if (len < 2 || *text != '\\')
		return 0;
	if ((unsigned char)text[1] == code)
		return 2;
	n = code < 0x10000 ? snprintf(escape, sizeof(escape), "\\u%04x", code)
	                   : snprintf(escape, sizeof(escape), "\\u%04x\\u%04x", 0xd7c0 + (code >> 10),
	                              0xdc00 | (code & 0x3ff));
	return len >= (size_t)n && !strncasecmp(text, escape, n) ? (size_t)n : 0;
}

/* How many bytes of the text are the secret in JSON, which may escape any character; 0: it is not there. */
static size_t match_escaped(const char *secret, const char *text, size_t len)
{
	size_t at = 0, length, n;

	for (; *secret; secret += length, at += n) {
		length = utf8_sequence(secret, strlen(secret));
		length = length ? length : 1;
		n = match_escape(code_point(secret, length), text + at, len - at);
		if (!n && len - at >= length && !memcmp(text + at, secret, length))
			n = length;
		if (!n)
			return 0;
	}
	return at;
}

static void mask_all(const char *secret, char *text, size_t len)
{
	size_t secret_len = strlen(secret), at, n;

	for (at = 0; at < len; at += n ? n : 1) {
		bool as_it_is = len - at >= secret_len && !memcmp(text + at, secret, secret_len);

		n = as_it_is ? secret_len : match_escaped(secret, text + at, len - at);
		memset(text + at, '*', n);
	}
}

/* Whether a credential ends there. A slash in it may have a backslash before it. */
static bool is_end(const char *text, size_t len)
{
	return !*text || strchr(" \t\r\n\"'<>,;", *text) || (*text == '\\' && len > 1 && text[1] == '"');
}

/* What follows the scheme, up to a blank or quote: it may be the secret in base64. */
static void mask_behind(const char *scheme, char *text, size_t len)
{
	size_t scheme_len = strlen(scheme), i = 0;

	while (i + scheme_len < len) {
		if (strncasecmp(text + i, scheme, scheme_len)) {
			i++;
			continue;
		}
		for (i += scheme_len; i < len && !is_end(text + i, len - i); i++)
			text[i] = '*';
	}
}

void push_secret_mask(const char *secret, char *text, size_t len)
{
	if (secret)
		mask_all(secret, text, len);
	mask_behind("basic ", text, len);
	mask_behind("bearer ", text, len);
}

void push_secret_free(char *secret)
{
	if (!secret)
		return;
	explicit_bzero(secret,
	               PUSH_SECRET_MAX + 2); /* what push_secret_read allocates, whatever stands in it */
	free(secret);
}
