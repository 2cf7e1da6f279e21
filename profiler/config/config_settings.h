/*
 * The table of the configuration's settings: one row each, from which loading, defaults, ranges and error
 * messages all follow. Only for config*.c; the rest of the program sees config.h.
 */
#ifndef STALLPROF_PROFILER_CONFIG_SETTINGS_H
#define STALLPROF_PROFILER_CONFIG_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIG_SETTINGS_MAX 56

enum config_section {
	SECTION_TOP,
	SECTION_PUSH,
	SECTION_OUTPUT,
	SECTION_SCRAPE,
	SECTION_TAGS,
	SECTION_SAMPLING,
	SECTION_GPU_JOBS,
	SECTION_SYMBOLIZER,
	SECTION_FILTERS,
	CONFIG_SECTIONS
};

struct config_setting {
	enum config_section section;
	const char *key;
	size_t offset; /* in struct config, of a char * or a uint64_t */
	/* A text: its default, which values pass, and how that is said. */
	const char *text;
	bool (*passes)(const char *value);
	const char *allowed;
	/* A number, when text is NULL: whole, decimal, within low … high; 0 also passes where or_zero. */
	uint64_t number, low, high;
	bool or_zero;
	bool power_of_two;
};

extern const struct config_setting config_settings[];
extern const size_t config_setting_count;

/* The section's name in the file; "" for SECTION_TOP. */
const char *config_section_name(enum config_section section);

/* A decimal number without sign, blanks or leading zeros. */
bool config_number(const char *text, uint64_t *number);
/* [a-zA-Z_][a-zA-Z0-9_]*, and not a name that stallprof itself sets. */
bool config_label_name_passes(const char *name);
#define CONFIG_LINE_ALLOWED "1 to 1024 bytes without control characters"
bool config_line_passes(const char *value);
/* Values go into messages as they are: this makes a message one line that can't steer a terminal. */
void config_clean_message(char *message);

#endif
