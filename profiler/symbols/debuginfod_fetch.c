/* Fetches one debug file by libcurl, and checks its build-id. */

#include "profiler/symbols/debuginfod_fetch.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "symbolizer/elf/debug_file.h"

#define CONNECT_TIMEOUT_MS 10000L

/* A server may have to unpack a package before its first byte. */
#define SILENCE_SECONDS 90L

struct transfer {
	const struct debuginfod_fetch *fetch;
	int fd, err;
	uint64_t len;
};

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;

static void curl_init_once(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

static size_t take(char *data, size_t size, size_t n, void *arg)
{
	struct transfer *t = arg;
	size_t len = size * n, done = 0;
	ssize_t put;

	if (len > t->fetch->max_bytes - t->len) {
		t->err = -EFBIG;
		return CURL_WRITEFUNC_ERROR;
	}
	while (done < len) {
		put = write(t->fd, data + done, len - done);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0) {
			t->err = -EIO;
			return CURL_WRITEFUNC_ERROR;
		}
		done += (size_t)put;
	}
	t->len += len;
	return len;
}

/* Called about once a second, whatever happens. */
static int watch(void *arg, curl_off_t total, curl_off_t now, curl_off_t up_total, curl_off_t up_now)
{
	struct transfer *t = arg;

	(void)total, (void)now, (void)up_total, (void)up_now;
	if (atomic_load(t->fetch->stop))
		t->err = -ECANCELED;
	return t->err;
}

static void set_options(CURL *curl, struct transfer *t, const char *url)
{
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	/* What was asked for under TLS does not come without it. */
	curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR,
	                 strncasecmp(url, "https:", 6) == 0 ? "https" : "http,https");
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
	curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_QUICK_EXIT,
	                 1L); /* else it waits for a lookup of the name that goes on */
	curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
	curl_easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, "");
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "stallprof");
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)t->fetch->timeout_seconds);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, SILENCE_SECONDS);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, watch);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, t);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
}

/* The length of a base URL without the slashes at its end. */
static int base_length(const char *url)
{
	size_t len = strlen(url);

	while (len && url[len - 1] == '/')
		len--;
	return (int)len;
}

static int transfer(struct transfer *t)
{
	CURL *curl = curl_easy_init();
	long status = 0;
	char *url = NULL;
	CURLcode code;

	if (!curl || asprintf(&url, "%.*s/buildid/%s/debuginfo", base_length(t->fetch->url), t->fetch->url,
	                      t->fetch->build_id) < 0) {
		curl_easy_cleanup(curl);
		return -EIO;
	}
	set_options(curl, t, url);
	code = curl_easy_perform(curl);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_cleanup(curl);
	free(url);
	if (!code && status == 200)
		return 0;
	if (t->err)
		return t->err;
	return code == CURLE_HTTP_RETURNED_ERROR && status == 404 ? -ENOENT : -EIO;
}

/* Whether the file is an ELF file with the build-id. */
static int check(const struct debuginfod_fetch *fetch, int fd)
{
	char have[BUILD_ID_HEX_SIZE], path[64];
	struct elf_file *f;
	int err, again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDONLY | O_CLOEXEC);
	if (again < 0)
		return -EIO;
	err = elf_file_open(again, false, fetch->max_bytes, &f);
	if (err)
		return err == -EBADMSG ? err : -EIO;
	debug_file_build_id(f, have);
	elf_file_close(f);
	return strcmp(have, fetch->build_id) == 0 ? 0 : -EBADMSG;
}

int debuginfod_fetch(const struct debuginfod_fetch *fetch, int fd)
{
	struct transfer t = { .fetch = fetch, .fd = fd };
	int err;

	pthread_once(&curl_once, curl_init_once);
	err = transfer(&t);
	return err ? err : check(fetch, fd);
}
