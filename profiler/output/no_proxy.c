/* The hosts that are asked without a proxy. */

#include "profiler/output/no_proxy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THIS_HOST "localhost,127.0.0.0/8,::1"

char *no_proxy_hosts(void)
{
	const char *others = getenv("no_proxy");
	char *hosts = NULL;

	if (!others || !*others)
		others = getenv("NO_PROXY");
	/* libcurl knows "*", for all, alone only. */
	if (others && !strcmp(others, "*"))
		return strdup(others);
	if (asprintf(&hosts, THIS_HOST "%s%s", others && *others ? "," : "", others ? others : "") < 0)
		return NULL;
	return hosts;
}
