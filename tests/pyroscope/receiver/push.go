package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"

	"connectrpc.com/connect"
	"github.com/google/pprof/profile"
	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"google.golang.org/protobuf/proto"
)

type pusher struct {
	store  *store
	budget *budget
}

// Push takes each series on its own: a request can succeed in part, as with a real server.
func (p *pusher) Push(_ context.Context, request *connect.Request[pushv1.PushRequest]) (*connect.Response[pushv1.PushResponse], error) {
	var failures []error
	taken := 0
	for _, series := range request.Msg.Series {
		for _, sample := range series.Samples {
			taken++
			if err := p.pushOne(series, sample.RawProfile); err != nil {
				failures = append(failures, err)
			}
		}
	}
	if taken == 0 {
		return nil, invalid("no profiles received")
	}
	if len(failures) > 0 {
		return nil, failures[0]
	}
	return connect.NewResponse(&pushv1.PushResponse{}), nil
}

func (p *pusher) pushOne(series *pushv1.RawProfileSeries, body []byte) error {
	raw, err := uncompressed(body)
	if err != nil {
		return err
	}
	message := &googlev1.Profile{}
	if err := proto.Unmarshal(raw, message); err != nil {
		return err // a real server calls this an unknown error, 500
	}
	labels, err := seriesLabels(series)
	if err != nil {
		return err
	}
	if err := p.budget.take(len(raw)); err != nil {
		return err
	}
	if err := checkProfile(message, len(raw), labels); err != nil {
		return err
	}
	parsed, err := parse(message)
	if err != nil {
		return err
	}
	return p.store.add(labels, parsed)
}

// parse is stricter than a server: what pprof's own check refuses is refused here too.
func parse(message *googlev1.Profile) (*profile.Profile, error) {
	raw, err := proto.Marshal(message)
	if err != nil {
		return nil, err
	}
	parsed, err := profile.ParseUncompressed(raw)
	if err == nil {
		err = parsed.CheckValid()
	}
	if err == nil && parsed.PeriodType == nil {
		err = errors.New("no period type")
	}
	if err != nil {
		return nil, invalid("the receiver takes only profiles that pprof finds valid: %w", err)
	}
	return parsed, nil
}

func uncompressed(body []byte) ([]byte, error) {
	if len(body) < 2 || body[0] != 0x1f || body[1] != 0x8b {
		return body, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(r, profileBytesMax+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > profileBytesMax {
		return nil, invalid("uncompressed profile payload size exceeds limit of 4.2 MB")
	}
	return raw, nil
}

func seriesLabels(series *pushv1.RawProfileSeries) (map[string]string, error) {
	labels := map[string]string{}
	for _, pair := range series.Labels {
		if known, found := labels[pair.Name]; found {
			return nil, invalid("profile with labels '%s' has duplicate label name: '%s' (%s)", labelsText(labels), pair.Name, known)
		}
		labels[pair.Name] = pair.Value
	}
	if labels["service_name"] == "" {
		labels["service_name"] = "unknown_service"
	}
	return labels, nil
}
