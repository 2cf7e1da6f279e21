/* Reads and prints the addresses on which the agent listens. */

#include "profiler/config/listen_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Decimal, without sign, blanks or leading zeros. */
static bool parse_port(const char *text, in_port_t *port)
{
	size_t digits = strspn(text, "0123456789");
	unsigned int number = 0;

	if (!digits || digits > 5 || text[digits] || (*text == '0' && digits > 1))
		return false;
	for (; *text; text++)
		number = 10 * number + (unsigned int)(*text - '0');
	*port = htons((in_port_t)number);
	return number <= UINT16_MAX;
}

static bool is_loopback_v6(const struct in6_addr *address)
{
	return IN6_IS_ADDR_LOOPBACK(address) ||
	       (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127);
}

static bool parse_v4(const char *host, const char *port, struct listen_address *out)
{
	struct sockaddr_in *address = (struct sockaddr_in *)&out->address;

	address->sin_family = AF_INET;
	out->length = sizeof(*address);
	if (inet_pton(AF_INET, host, &address->sin_addr) != 1 || !parse_port(port, &address->sin_port))
		return false;
	out->is_loopback = ntohl(address->sin_addr.s_addr) >> 24 == 127;
	return true;
}

static bool parse_v6(const char *host, const char *port, struct listen_address *out)
{
	struct sockaddr_in6 *address = (struct sockaddr_in6 *)&out->address;

	address->sin6_family = AF_INET6;
	out->length = sizeof(*address);
	if (inet_pton(AF_INET6, host, &address->sin6_addr) != 1 || !parse_port(port, &address->sin6_port))
		return false;
	out->is_loopback = is_loopback_v6(&address->sin6_addr);
	return true;
}

bool listen_address_parse(const char *text, struct listen_address *out)
{
	char host[LISTEN_ADDRESS_MAX];
	const char *colon = strrchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : 0;

	*out = (struct listen_address){ .length = 0 };
	if (!length || length >= sizeof(host))
		return false;
	memcpy(host, text, length);
	host[length] = '\0';
	if (*host != '[')
		return parse_v4(host, colon + 1, out);
	if (host[length - 1] != ']')
		return false;
	host[length - 1] = '\0';
	return parse_v6(host + 1, colon + 1, out);
}

void listen_address_print(const struct sockaddr_storage *address, char text[LISTEN_ADDRESS_MAX])
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
	char host[INET6_ADDRSTRLEN] = "?";

	if (address->ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
		snprintf(text, LISTEN_ADDRESS_MAX, "[%s]:%u", host, ntohs(v6->sin6_port));
	} else {
		inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
		snprintf(text, LISTEN_ADDRESS_MAX, "%s:%u", host, ntohs(v4->sin_port));
	}
}
