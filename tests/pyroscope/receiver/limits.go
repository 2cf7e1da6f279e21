package main

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"connectrpc.com/connect"
	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
)

// A real server's defaults.
const (
	profileBytesMax = 4 << 20 // uncompressed
	samplesMax      = 16000
	framesMax       = 1000
	sampleLabelsMax = 100
	symbolBytesMax  = 65535
	labelsMax       = 30
	labelNameMax    = 1024
	labelValueMax   = 2048
	oldest          = time.Hour
	furthestAhead   = 10 * time.Minute
	bytesASecond    = 4 << 20
	burstBytes      = 2 << 20
)

func invalid(format string, args ...any) error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, args...))
}

// budget is the limit on bytes a second, with a burst.
type budget struct {
	sync.Mutex
	left  float64
	since time.Time
}

func newBudget() *budget { return &budget{left: burstBytes, since: time.Now()} }

func (b *budget) take(n int) error {
	b.Lock()
	defer b.Unlock()
	now := time.Now()
	b.left = min(burstBytes, b.left+now.Sub(b.since).Seconds()*bytesASecond)
	b.since = now
	if float64(n) > b.left {
		return connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("push rate limit (4.0 MiB) exceeded while adding %d bytes", n))
	}
	b.left -= float64(n)
	return nil
}

func labelsText(labels map[string]string) string {
	var pairs []string
	for name, value := range labels {
		pairs = append(pairs, fmt.Sprintf("%s=%q", name, value))
	}
	sort.Strings(pairs)
	return "{" + strings.Join(pairs, ", ") + "}"
}

func checkLabels(labels map[string]string) error {
	text := labelsText(labels)
	if len(labels) > labelsMax {
		return invalid("profile series '%s' has %d label names; limit %d", text, len(labels), labelsMax)
	}
	if name := labels["__name__"]; name == "" || !utf8.ValidString(name) {
		return invalid("invalid labels '%s' with error: invalid metric name", text)
	}
	for name, value := range labels {
		switch {
		case len(name) > labelNameMax:
			return invalid("profile with labels '%s' has label name too long: '%s'", text, name)
		case len(value) > labelValueMax:
			return invalid("profile with labels '%s' has label value too long: '%s'", text, value)
		case name == "" || !utf8.ValidString(name):
			return invalid("invalid labels '%s' with error: invalid label name '%s'", text, name)
		case !utf8.ValidString(value):
			return invalid("invalid labels '%s' with error: invalid label value '%s'", text, value)
		}
	}
	return nil
}

// checkProfile refuses what a server would. It takes the leaf side off stacks that are too deep, as one does,
// and dates a profile without a time.
func checkProfile(p *googlev1.Profile, size int, labels map[string]string) error {
	text := labelsText(labels)
	if len(p.SampleType) == 0 {
		return invalid("empty profile")
	}
	if p.TimeNanos == 0 {
		p.TimeNanos = time.Now().UnixNano()
	}
	if at := time.Unix(0, p.TimeNanos); time.Since(at) >= oldest || time.Until(at) >= furthestAhead {
		return invalid("profile with labels '%s' is outside of ingestion window (profile timestamp: %s)", text, at.UTC())
	}
	if size > profileBytesMax {
		return invalid("the profile with labels '%s' exceeds the size limit (max_profile_size_byte, actual: %d, limit: %d)", text, size, profileBytesMax)
	}
	if len(p.Sample) > samplesMax {
		return invalid("the profile with labels '%s' exceeds the samples count limit (max_profile_stacktrace_samples, actual: %d, limit: %d)", text, len(p.Sample), samplesMax)
	}
	if err := checkStrings(p); err != nil {
		return invalid("%w", err)
	}
	for _, t := range p.SampleType {
		if strings.Contains(p.StringTable[t.Type], "-") {
			return invalid("sample type contains -")
		}
	}
	for _, s := range p.Sample {
		if len(s.Value) != len(p.SampleType) {
			return invalid("sample value length mismatch")
		}
		if len(s.Label) > sampleLabelsMax {
			return invalid("the profile with labels '%s' exceeds the sample labels limit (max_profile_stacktrace_sample_labels, actual: %d, limit: %d)", text, len(s.Label), sampleLabelsMax)
		}
		if n := len(s.LocationId); n > framesMax {
			s.LocationId = s.LocationId[n-framesMax:]
		}
	}
	return nil
}

func checkStrings(p *googlev1.Profile) error {
	if len(p.StringTable) == 0 || p.StringTable[0] != "" {
		return errors.New("string 0 should be empty string")
	}
	for i, s := range p.StringTable {
		if !utf8.ValidString(s) {
			return fmt.Errorf("invalid utf8 string hex: %x", s)
		}
		if len(s) > symbolBytesMax {
			p.StringTable[i] = s[len(s)-symbolBytesMax:]
		}
	}
	for _, t := range p.SampleType {
		if t.Type < 0 || t.Type >= int64(len(p.StringTable)) {
			return errors.New("sample type type string index out of range")
		}
	}
	return nil
}
