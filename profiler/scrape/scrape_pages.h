/* Which path is answered with what. */
#ifndef STALLPROF_PROFILER_SCRAPE_PAGES_H
#define STALLPROF_PROFILER_SCRAPE_PAGES_H

struct scrape_answer;
struct scrape_bytes;
struct scrape_request;
struct scrape_windows;

struct scrape_pages {
	struct scrape_bytes *(*metrics)(void *ctx); /* held for the caller; NULL: no memory */
	void *ctx;
	struct scrape_windows *windows;
};

void scrape_pages_answer(const struct scrape_pages *pages, const char *path,
                         const struct scrape_request *request, struct scrape_answer *answer);

#endif
