/* deep: half a second under a name of 1,000 bytes, then half a second under the 40th of nested tags. Prints what stalltag counted. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "attack.h"
#include "stalltag/stalltag.h"

int main(void)
{
	struct stalltag_losses losses;
	char name[1001];

	memset(name, 'n', 1000);
	name[1000] = '\0';
	stalltag_push(1, name);
	sleep_ms(500);
	stalltag_pop();
	for (int i = 1; i <= 40; i++) {
		snprintf(name, sizeof(name), "nested%d", i);
		stalltag_push(1, name);
	}
	sleep_ms(500);
	for (int i = 0; i < 40; i++)
		stalltag_pop();
	stalltag_read_losses(&losses);
	printf("{\"too_deep\": %" PRIu64 ", \"names_cut\": %" PRIu64 "}\n", losses.too_deep,
	       losses.names_cut);
	return 0;
}
