package main

import (
	"fmt"
	"regexp"
	"strconv"
)

// matcher is one condition of a selector such as {service_name="x",stall!~"nvme_.*"}.
type matcher struct {
	name, op, value string
	pattern         *regexp.Regexp // for =~ and !~; matches the whole value
}

func (m matcher) matches(value string) bool {
	switch m.op {
	case "=":
		return value == m.value
	case "!=":
		return value != m.value
	case "=~":
		return m.pattern.MatchString(value)
	default:
		return !m.pattern.MatchString(value)
	}
}

// matchAll: a label that is not set counts as empty.
func matchAll(matchers []matcher, labels map[string]string) bool {
	for _, m := range matchers {
		if !m.matches(labels[m.name]) {
			return false
		}
	}
	return true
}

var condition = regexp.MustCompile(`^\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*(=~|!~|!=|=)\s*("(?:[^"\\]|\\.)*"|` + "`[^`]*`" + `)\s*`)
var opening, closing, comma = regexp.MustCompile(`^\s*\{\s*`), regexp.MustCompile(`^\s*\}\s*$`), regexp.MustCompile(`^\s*,\s*`)

// parseSelector reads "{name="value",…}". An empty text selects everything.
func parseSelector(text string) ([]matcher, error) {
	rest := text
	if rest == "" {
		return nil, nil
	}
	wrong := func() error { return fmt.Errorf("parsing label selector %q: parse error near %q", text, rest) }
	begin := opening.FindString(rest)
	if begin == "" {
		return nil, wrong()
	}
	rest = rest[len(begin):]
	var matchers []matcher
	for !closing.MatchString(rest) {
		part := condition.FindStringSubmatch(rest)
		if part == nil {
			return nil, wrong()
		}
		m := matcher{name: part[1], op: part[2]}
		var err error
		if m.value, err = strconv.Unquote(part[3]); err != nil {
			return nil, wrong()
		}
		if m.op == "=~" || m.op == "!~" {
			if m.pattern, err = regexp.Compile("^(?s:" + m.value + ")$"); err != nil {
				return nil, fmt.Errorf("parsing label selector %q: %w", text, err)
			}
		}
		matchers = append(matchers, m)
		rest = rest[len(part[0]):]
		rest = rest[len(comma.FindString(rest)):]
	}
	return matchers, nil
}

func parseSelectors(texts []string) ([]matcher, error) {
	var all []matcher
	for _, text := range texts {
		matchers, err := parseSelector(text)
		if err != nil {
			return nil, err
		}
		all = append(all, matchers...)
	}
	return all, nil
}
