/* Rejects YAML that is too deep or has too many anchors, before libyaml builds a tree. */

#include "profiler/config/config_bounds.h"

#include <errno.h>
#include <stdbool.h>
#include <yaml.h>

static bool begins_collection(const yaml_event_t *event)
{
	return event->type == YAML_SEQUENCE_START_EVENT || event->type == YAML_MAPPING_START_EVENT;
}

static bool ends_collection(const yaml_event_t *event)
{
	return event->type == YAML_SEQUENCE_END_EVENT || event->type == YAML_MAPPING_END_EVENT;
}

static bool has_anchor(const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return event->data.scalar.anchor;
	case YAML_SEQUENCE_START_EVENT:
		return event->data.sequence_start.anchor;
	case YAML_MAPPING_START_EVENT:
		return event->data.mapping_start.anchor;
	default:
		return false;
	}
}

int config_bounds_check(const char *text, size_t size, size_t *line, const char **wrong)
{
	size_t depth = 0, anchors = 0;
	yaml_parser_t parser;
	yaml_event_t event;
	bool end = false;

	*wrong = NULL;
	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
	while (!end && !*wrong && yaml_parser_parse(&parser, &event)) {
		depth += begins_collection(&event);
		depth -= ends_collection(&event);
		anchors += has_anchor(&event);
		end = event.type == YAML_STREAM_END_EVENT;
		*line = event.start_mark.line;
		if (depth > CONFIG_DEPTH_MAX)
			*wrong = "lists and maps inside one another, deeper than any setting";
		else if (anchors > CONFIG_ANCHORS_MAX)
			*wrong = "more anchors than any configuration needs";
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	return *wrong ? -EINVAL : 0;
}
