/* Turns a server's answer to a push into an error number and a line for the user. */

#include "profiler/output/push_answer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* What is left of a body to read, and of the output to write. */
struct text_copy {
	const char *at, *end;
	char *out;
	size_t used, room; /* room excludes the NUL */
};

static void put(struct text_copy *copy, unsigned char byte)
{
	if (copy->used < copy->room)
		copy->out[copy->used++] = byte < 0x20 || byte == 0x7f ? ' ' : (char)byte;
}

static void put_code_point(struct text_copy *copy, uint32_t code)
{
	if (code < 0x80) {
		put(copy, (unsigned char)code);
	} else if (code < 0x800) {
		put(copy, 0xc0 | code >> 6);
		put(copy, 0x80 | (code & 0x3f));
	} else if (code >= 0xd800 && code <= 0xdfff) {
		put(copy, '?'); /* half of a pair; error messages have no need of what lies beyond the BMP */
	} else {
		put(copy, 0xe0 | code >> 12);
		put(copy, 0x80 | (code >> 6 & 0x3f));
		put(copy, 0x80 | (code & 0x3f));
	}
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* The four digits after \u; -1 when there are not four. */
static int64_t hex_quad(struct text_copy *copy)
{
	int64_t code = 0;
	int i, digit;

	if (copy->end - copy->at < 4)
		return -1;
	for (i = 0; i < 4; i++) {
		digit = hex_digit(copy->at[i]);
		if (digit < 0)
			return -1;
		code = code << 4 | digit;
	}
	copy->at += 4;
	return code;
}

static int copy_escape(struct text_copy *copy)
{
	int64_t code;
	char c;

	if (copy->at == copy->end)
		return -EINVAL;
	c = *copy->at++;
	switch (c) {
	case 'b':
	case 'f':
	case 'n':
	case 'r':
	case 't':
		put(copy, ' ');
		return 0;
	case 'u':
		code = hex_quad(copy);
		if (code < 0)
			return -EINVAL;
		put_code_point(copy, (uint32_t)code);
		return 0;
	default: /* a quote, a backslash, a slash */
		put(copy, (unsigned char)c);
		return 0;
	}
}

/* A JSON string's content up to its closing quote. -EINVAL when it has none. */
static int copy_string(struct text_copy *copy)
{
	while (copy->at < copy->end) {
		char c = *copy->at++;

		if (c == '"')
			return 0;
		if (c != '\\')
			put(copy, (unsigned char)c);
		else if (copy_escape(copy))
			return -EINVAL;
	}
	return -EINVAL;
}

static void skip_space(struct text_copy *copy)
{
	while (copy->at < copy->end && strchr(" \t\r\n", *copy->at) && *copy->at)
		copy->at++;
}

static int take(struct text_copy *copy, char c)
{
	skip_space(copy);
	if (copy->at == copy->end || *copy->at != c)
		return 0;
	copy->at++;
	return 1;
}

/*
 * Connect's error object starts with "code" and "message", both strings; what follows ("details") is not needed. So
 * members are read while they are strings, and the search ends at the first that is not.
 */
static int copy_connect_message(struct text_copy *copy)
{
	char key_text[16];

	if (!take(copy, '{'))
		return -ENOENT;
	do {
		struct text_copy key = { .out = key_text, .room = sizeof(key_text) };
		int wanted;

		if (!take(copy, '"'))
			return -ENOENT;
		key.at = copy->at;
		key.end = copy->end;
		if (copy_string(&key))
			return -EINVAL;
		copy->at = key.at;
		wanted = key.used == strlen("message") && !memcmp(key_text, "message", key.used);
		copy->used = 0;
		if (!take(copy, ':') || !take(copy, '"') || copy_string(copy))
			return -EINVAL;
		if (wanted)
			return 0;
	} while (take(copy, ','));
	return -ENOENT;
}

static void copy_first_line(struct text_copy *copy)
{
	skip_space(copy);
	if (copy->at < copy->end && (*copy->at == '<' || *copy->at == '{'))
		return;
	while (copy->at < copy->end && *copy->at != '\n')
		put(copy, (unsigned char)*copy->at++);
}

void push_answer_words(const char *body, size_t len, char *out, size_t out_len)
{
	struct text_copy copy = { .at = body, .end = body + len, .out = out, .room = out_len - 1 };

	if (copy_connect_message(&copy)) {
		copy.at = body;
		copy.used = 0;
		copy_first_line(&copy);
	}
	while (copy.used && out[copy.used - 1] == ' ')
		copy.used--;
	out[copy.used] = '\0';
}

static const struct advice {
	long status;
	int error;
	const char *what_to_do;
} advice_table[] = {
	{ 400, -EINVAL, "the server refuses this profile or its labels; sending it again won't help" },
	{ 401, -EPERM, "check the user and password file, or the bearer token file" },
	{ 403, -EPERM, "these credentials may not push for this tenant" },
	{ 404, -ENOENT, "no Pyroscope push API there; check the URL and its path" },
	{ 405, -ENOENT, "no Pyroscope push API there; check the URL and its path" },
	{ 408, -ETIMEDOUT, "it took too long, and may have been stored" },
	{ 413, -EMSGSIZE,
	  "a proxy or the server limits the size of a request; raise that limit, or lower the budget for "
	  "stacks" },
	{ 415, -ENOENT, "no Pyroscope push API there; check the URL and its path" },
	{ 422, -EINVAL, "the server refuses this profile or its labels; sending it again won't help" },
	{ 429, -EAGAIN,
	  "a limit of the server is reached; try again later, with longer windows or smaller profiles" },
	{ 504, -ETIMEDOUT,
	  "the server, or one behind it, took too long, and may have stored it; is a proxy's time-out "
	  "shorter than push.timeout_seconds?" },
};

static const struct advice *advice_for(long status)
{
	static const struct advice server = {
		0, -EREMOTEIO, "the server, or a proxy in front of it, has failed; try again"
	};
	static const struct advice redirect = {
		0, -ENOENT, "redirects are not followed, as credentials would go along; give the final URL"
	};
	static const struct advice other = { 0, -ENOENT, "is this a Pyroscope server?" };
	size_t i;

	for (i = 0; i < sizeof(advice_table) / sizeof(advice_table[0]); i++)
		if (advice_table[i].status == status)
			return &advice_table[i];
	if (status >= 500 && status <= 599)
		return &server;
	return status >= 300 && status <= 399 ? &redirect : &other;
}

/* Pyroscope's ingester: "Maximum active series limit exceeded (5000/5000), reduce …". Its other limits are of bytes in a time. */
static bool is_series_limit(long status, const char *words)
{
	return status == 429 && strcasestr(words, "active series limit exceeded");
}

int push_answer_judge(long status, const char *body, size_t len, const char *url, char *err, size_t err_len)
{
	static const struct advice no_more_series = {
		0, -EDQUOT,
		"it is not sent again, as the series that the server has already would be stored each time; "
		"raise that limit, or use fewer classes of tags and fewer labels"
	};
	const struct advice *advice = advice_for(status);
	char words[400];

	push_answer_words(body, len, words, sizeof(words));
	if (is_series_limit(status, words))
		advice = &no_more_series;
	snprintf(err, err_len, "push to %s: HTTP %ld%s%s (%s)", url, status, words[0] ? ": " : "", words,
	         advice->what_to_do);
	return advice->error;
}

int push_answer_check_type(const char *type, const char *url, char *err, size_t err_len)
{
	static const char wanted[] = "application/proto"; /* which the request has */
	char shown[64];

	if (!strncasecmp(type, wanted, strlen(wanted)) && strchr("; \t", type[strlen(wanted)]))
		return 0; /* the end of the type is among these, too */
	push_answer_words(type, strcspn(type, ";"), shown, sizeof(shown));
	snprintf(err, err_len,
	         "push to %s: something other than Pyroscope answered: HTTP 200 (%s): check push.url", url,
	         shown[0] ? shown : "no Content-Type");
	return -ENOENT;
}

void push_answer_leave_time_out(char *words)
{
	char *after = strstr(words, " after "), *digits = after ? after + strlen(" after ") : NULL;
	size_t n = digits ? strspn(digits, "0123456789") : 0;

	if (n && !strncmp(digits + n, " ms", 3))
		memmove(after, digits + n + 3, strlen(digits + n + 3) + 1);
}
