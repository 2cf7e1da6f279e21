/* The address and port of a setting on which the agent listens: 127.0.0.1:4041, [::1]:4041. */
#ifndef STALLPROF_PROFILER_LISTEN_ADDRESS_H
#define STALLPROF_PROFILER_LISTEN_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define LISTEN_ADDRESS_ALLOWED "ADDRESS:PORT in numbers, such as 127.0.0.1:4041 or [::1]:4041"
/* Of its text, with the NUL. */
#define LISTEN_ADDRESS_MAX 64

struct listen_address {
	struct sockaddr_storage address;
	socklen_t length;
	bool is_loopback; /* only programs of this host reach it */
};

/*
 * An IPv4 address, or an IPv6 address in brackets, and a port of 0 to 65535 (0: a free one, whichever the kernel
 * finds). Names of hosts are refused, as they may stand for several addresses, or for another one tomorrow. False:
 * the text is no such address.
 */
bool listen_address_parse(const char *text, struct listen_address *out);

/* The address as the setting has it. */
void listen_address_print(const struct sockaddr_storage *address, char text[LISTEN_ADDRESS_MAX]);

#endif
