package main

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/pprof/profile"
)

// The labels of samples that make no series.
const (
	spanLabel  = "span_id"
	traceLabel = "trace_id"
)

// record is one sample type of one pushed profile, as far as it belongs to one series.
type record struct {
	labels  map[string]string // with the server's own: __profile_type__ and its parts
	atMs    int64
	index   int // of the sample type
	from    *profile.Profile
	samples []*profile.Sample
}

// store holds what was pushed, oldest first.
type store struct {
	sync.RWMutex
	records []record
}

// add splits a profile into series by its samples' string labels, and each by sample type.
func (s *store) add(labels map[string]string, p *profile.Profile) error {
	normalize(p)
	groups := map[string][]*profile.Sample{}
	sets := map[string]map[string]string{}
	for _, sample := range p.Sample {
		set := maps.Clone(labels)
		for name, values := range sample.Label {
			if name != spanLabel && name != traceLabel && set[name] == "" {
				set[name] = values[0]
			}
		}
		key := labelsText(set)
		sets[key] = set
		groups[key] = append(groups[key], sample)
	}
	var records []record
	for key, set := range sets {
		if err := checkLabels(set); err != nil {
			return err
		}
		for i := range p.SampleType {
			if some := withValue(groups[key], i); len(some) > 0 {
				records = append(records, record{withType(set, p, i), p.TimeNanos / 1e6, i, p, some})
			}
		}
	}
	if len(sets) == 0 {
		return checkLabels(labels)
	}
	s.Lock()
	defer s.Unlock()
	s.records = append(s.records, records...)
	return nil
}

func withValue(samples []*profile.Sample, index int) []*profile.Sample {
	return slices.DeleteFunc(slices.Clone(samples), func(s *profile.Sample) bool { return s.Value[index] == 0 })
}

func withType(labels map[string]string, p *profile.Profile, index int) map[string]string {
	all := maps.Clone(labels)
	t := p.SampleType[index]
	all["__service_name__"] = labels["service_name"]
	all["__type__"], all["__unit__"] = t.Type, t.Unit
	all["__period_type__"], all["__period_unit__"] = p.PeriodType.Type, p.PeriodType.Unit
	all["__profile_type__"] = strings.Join([]string{labels["__name__"], t.Type, t.Unit, p.PeriodType.Type, p.PeriodType.Unit}, ":")
	return all
}

// normalize drops what a server drops: numeric labels, samples that are negative or all zero, samples without
// a stack or with an empty location, and the addresses in mappings that have functions.
func normalize(p *profile.Profile) {
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		none := !slices.ContainsFunc(s.Value, func(v int64) bool { return v != 0 })
		negative := slices.ContainsFunc(s.Value, func(v int64) bool { return v < 0 })
		hollow := slices.ContainsFunc(s.Location, func(l *profile.Location) bool { return l.Address == 0 && len(l.Line) == 0 })
		return none || negative || hollow || len(s.Location) == 0
	})
	for _, s := range p.Sample {
		s.NumLabel, s.NumUnit = nil, nil
	}
	for _, l := range p.Location {
		if l.Mapping != nil && l.Mapping.HasFunctions {
			l.Address = 0
		}
	}
	for _, m := range p.Mapping {
		if m.HasFunctions {
			m.Start, m.Limit, m.Offset = 0, 0, 0
		}
	}
}

// span of time in ms, both ends in it.
type span struct{ from, to int64 }

// selected returns the records in the span that all matchers match.
func (s *store) selected(when span, matchers []matcher) []record {
	s.RLock()
	defer s.RUnlock()
	var found []record
	for _, r := range s.records {
		if r.atMs >= when.from && r.atMs <= when.to && matchAll(matchers, r.labels) {
			found = append(found, r)
		}
	}
	return found
}
