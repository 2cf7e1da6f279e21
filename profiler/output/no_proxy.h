/* Which servers libcurl asks without the proxies of the environment. */
#ifndef STALLPROF_PROFILER_NO_PROXY_H
#define STALLPROF_PROFILER_NO_PROXY_H

/* The hosts of CURLOPT_NOPROXY: localhost, which a proxy would take for itself, and those of no_proxy or NO_PROXY. free() it; NULL without
 * memory. */
char *no_proxy_hosts(void);

#endif
