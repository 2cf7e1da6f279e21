package main

import (
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// The labels by which single tags and traces are selected. They make no series.
const (
	spanLabel  = "span_id"
	traceLabel = "trace_id"
)

// typeIDs: a sample type of stallprof's files, and the profile type under which a server has it.
var typeIDs = map[string]string{
	"contentions": "block:contentions:count:contentions:count",
	"delay":       "block:delay:nanoseconds:contentions:count",
	"cpu":         "process_cpu:cpu:nanoseconds:cpu:nanoseconds",
	"recovery":    "recovery:recovery:nanoseconds:recovery:nanoseconds",
}

// frame is one call as a person reads it.
type frame struct {
	function, file string
	line           int64
	object         string // the mapping's file
}

// row is one value of one sample.
type row struct {
	typeID      string
	labels      map[string]string // those of its series
	span, trace string
	stack       []frame // leaf first, inlined calls apart
	value       int64
}

// local is what the files hold, as a server should have it.
type local struct {
	rows       []row
	numeric    []string // names of numeric labels, which no server keeps
	begin      time.Time
	unreadable int // locations without a function, which no server keeps
}

func readFiles(paths []string, series map[string]string) (*local, error) {
	l := &local{}
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		p, err := profile.Parse(file)
		file.Close()
		if err == nil {
			err = p.CheckValid()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if at := time.Unix(0, p.TimeNanos); l.begin.IsZero() || at.Before(l.begin) {
			l.begin = at
		}
		l.add(p, series)
	}
	return l, nil
}

func (l *local) add(p *profile.Profile, series map[string]string) {
	for _, s := range p.Sample {
		base := row{labels: map[string]string{}, stack: stackOf(s)}
		for name, values := range s.Label {
			switch name {
			case spanLabel:
				base.span = values[0]
			case traceLabel:
				base.trace = values[0]
			default:
				base.labels[name] = values[0]
			}
		}
		for name, value := range series { // a series' own labels win
			base.labels[name] = value
		}
		for name := range s.NumLabel {
			if !slices.Contains(l.numeric, name) {
				l.numeric = append(l.numeric, name)
			}
		}
		for _, location := range s.Location {
			if len(location.Line) == 0 {
				l.unreadable++
			}
		}
		l.addValues(p, s, base)
	}
}

func (l *local) addValues(p *profile.Profile, s *profile.Sample, base row) {
	for i, value := range s.Value {
		id := typeIDs[p.SampleType[i].Type]
		if id == "" || value == 0 {
			continue
		}
		one := base
		one.typeID, one.value = id, value
		l.rows = append(l.rows, one)
	}
}

func stackOf(s *profile.Sample) []frame {
	var stack []frame
	for _, location := range s.Location {
		object := ""
		if location.Mapping != nil {
			object = location.Mapping.File
		}
		for _, line := range location.Line {
			if line.Function != nil {
				stack = append(stack, frame{line.Function.Name, line.Function.Filename, line.Line, object})
			}
		}
	}
	return stack
}

// missing says which of the required labels no row has, and what else keeps a comparison from meaning anything.
func (l *local) missing(required string) []string {
	var problems []string
	if len(l.rows) == 0 {
		problems = append(problems, "the files hold no sample")
	}
	if l.unreadable > 0 {
		problems = append(problems, fmt.Sprintf("%d locations have no function, not even a placeholder", l.unreadable))
	}
	for _, name := range strings.FieldsFunc(required, func(c rune) bool { return c == ',' }) {
		has := func(r row) bool {
			return r.labels[name] != "" || name == spanLabel && r.span != "" || name == traceLabel && r.trace != ""
		}
		if !slices.ContainsFunc(l.rows, has) {
			problems = append(problems, "no sample has the label "+name)
		}
	}
	return problems
}

// choice is a part of the rows; its zero value chooses all.
type choice struct {
	typeID string
	label  string // with value; a row without the label has the value ""
	value  string
	spans  []string
	traces []string
}

func (c choice) has(r row) bool {
	return (c.typeID == "" || r.typeID == c.typeID) &&
		(c.label == "" || r.labels[c.label] == c.value) &&
		(c.spans == nil || slices.Contains(c.spans, r.span)) &&
		(c.traces == nil || slices.Contains(c.traces, r.trace))
}

func (l *local) chosen(c choice) []row {
	var rows []row
	for _, r := range l.rows {
		if c.has(r) {
			rows = append(rows, r)
		}
	}
	return rows
}

func (l *local) total(c choice) int64 {
	var sum int64
	for _, r := range l.chosen(c) {
		sum += r.value
	}
	return sum
}

// values returns the distinct non-empty results of get, sorted.
func values(rows []row, get func(row) string) []string {
	seen := map[string]bool{}
	for _, r := range rows {
		if v := get(r); v != "" {
			seen[v] = true
		}
	}
	return sorted(seen)
}

func sorted[V any](set map[string]V) []string {
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func (l *local) types() []string {
	return values(l.rows, func(r row) string { return r.typeID })
}

func (l *local) labelNames() []string {
	names := map[string]bool{}
	for _, r := range l.rows {
		for name := range r.labels {
			names[name] = true
		}
	}
	return sorted(names)
}
