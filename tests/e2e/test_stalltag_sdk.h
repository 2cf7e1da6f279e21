/* The made-up SDK of test_stalltag_beside; see test_stalltag_sdk.c. */
#ifndef TEST_STALLTAG_SDK_H
#define TEST_STALLTAG_SDK_H

#include <stdint.h>

void sdk_attach(uint8_t span);
void sdk_detach(void);
const uint8_t *sdk_current(void); /* the record that the SDK thinks is in its slot */
void sdk_publish(void);           /* a process context */

#endif
