package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"connectrpc.com/connect"
	"github.com/google/pprof/profile"
	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"google.golang.org/protobuf/proto"
)

const defaultNodes = 8192

// querier answers the queries that the assertions ask; all others are "unimplemented".
type querier struct {
	querierv1connect.UnimplementedQuerierServiceHandler
	store *store
}

func timeSpan(start, end int64) (span, error) {
	if start == 0 || end == 0 {
		return span{}, invalid("missing time range in the query")
	}
	if start > end {
		return span{}, invalid("query start time is after end time")
	}
	return span{start, end}, nil
}

func (q *querier) selected(start, end int64, selectors []string) ([]record, error) {
	when, err := timeSpan(start, end)
	if err != nil {
		return nil, err
	}
	matchers, err := parseSelectors(selectors)
	if err != nil {
		return nil, invalid("%w", err)
	}
	return q.store.selected(when, matchers), nil
}

func keys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

func (q *querier) ProfileTypes(_ context.Context, request *connect.Request[querierv1.ProfileTypesRequest]) (*connect.Response[querierv1.ProfileTypesResponse], error) {
	start, end := request.Msg.Start, request.Msg.End
	if start == 0 && end == 0 { // the one query that may come without
		start, end = 1, 1<<62
	}
	records, err := q.selected(start, end, nil)
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for _, r := range records {
		ids[r.labels["__profile_type__"]] = true
	}
	answer := &querierv1.ProfileTypesResponse{}
	for _, id := range keys(ids) {
		part := strings.Split(id, ":")
		answer.ProfileTypes = append(answer.ProfileTypes, &typesv1.ProfileType{
			ID: id, Name: part[0], SampleType: part[1], SampleUnit: part[2], PeriodType: part[3], PeriodUnit: part[4]})
	}
	return connect.NewResponse(answer), nil
}

func (q *querier) LabelNames(_ context.Context, request *connect.Request[typesv1.LabelNamesRequest]) (*connect.Response[typesv1.LabelNamesResponse], error) {
	records, err := q.selected(request.Msg.Start, request.Msg.End, request.Msg.Matchers)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, r := range records {
		for name := range r.labels {
			names[name] = true
		}
	}
	return connect.NewResponse(&typesv1.LabelNamesResponse{Names: keys(names)}), nil
}

func (q *querier) LabelValues(_ context.Context, request *connect.Request[typesv1.LabelValuesRequest]) (*connect.Response[typesv1.LabelValuesResponse], error) {
	records, err := q.selected(request.Msg.Start, request.Msg.End, request.Msg.Matchers)
	if err != nil {
		return nil, err
	}
	if request.Msg.Name == "" {
		return nil, invalid("name is required")
	}
	values := map[string]bool{}
	for _, r := range records {
		if value := r.labels[request.Msg.Name]; value != "" {
			values[value] = true
		}
	}
	return connect.NewResponse(&typesv1.LabelValuesResponse{Names: keys(values)}), nil
}

// Series returns each distinct set of the labels asked for; of all labels when none is named.
func (q *querier) Series(_ context.Context, request *connect.Request[querierv1.SeriesRequest]) (*connect.Response[querierv1.SeriesResponse], error) {
	records, err := q.selected(request.Msg.Start, request.Msg.End, request.Msg.Matchers)
	if err != nil {
		return nil, err
	}
	sets := map[string]*typesv1.Labels{}
	for _, r := range records {
		set := &typesv1.Labels{}
		key := ""
		for _, name := range slices.Sorted(maps.Keys(r.labels)) {
			if len(request.Msg.LabelNames) == 0 || slices.Contains(request.Msg.LabelNames, name) {
				set.Labels = append(set.Labels, &typesv1.LabelPair{Name: name, Value: r.labels[name]})
				key += fmt.Sprintf("%q=%q,", name, r.labels[name])
			}
		}
		sets[key] = set
	}
	if len(sets) == 1 {
		delete(sets, "") // no series has any of the labels; where some have, the others count as one empty set
	}
	answer := &querierv1.SeriesResponse{}
	for _, key := range slices.Sorted(maps.Keys(sets)) {
		answer.LabelsSet = append(answer.LabelsSet, sets[key])
	}
	return connect.NewResponse(answer), nil
}

// ids checks a list of span or trace ids: so many bytes, in hexadecimal.
func ids(what string, list []string, size int) error {
	for _, id := range list {
		if raw, err := hex.DecodeString(id); err != nil || len(raw) != size {
			return connect.NewError(connect.CodeUnknown, fmt.Errorf("invalid %s id length: %q", what, id))
		}
	}
	return nil
}

// chosenSamples finds the records of a profile type, and of them the samples with one of the ids.
func (q *querier) chosenSamples(request *querierv1.SelectMergeStacktracesRequest) ([]record, error) {
	if len(request.SpanSelector) > 0 && len(request.TraceIdSelector) > 0 {
		return nil, invalid("span_selector and trace_id_selector cannot be combined")
	}
	if _, err := timeSpan(request.Start, request.End); err != nil {
		return nil, err
	}
	if strings.Count(request.ProfileTypeID, ":") != 4 {
		return nil, invalid("profile-type selection must be of the form <name>:<sample-type>:<sample-unit>:<period-type>:<period-unit>, got %q", request.ProfileTypeID)
	}
	if err := ids("span", request.SpanSelector, 8); err != nil {
		return nil, err
	}
	if err := ids("trace", request.TraceIdSelector, 16); err != nil {
		return nil, err
	}
	records, err := q.selected(request.Start, request.End, []string{request.LabelSelector})
	if err != nil {
		return nil, err
	}
	records = slices.DeleteFunc(records, func(r record) bool { return r.labels["__profile_type__"] != request.ProfileTypeID })
	for i := range records {
		records[i].samples = withLabel(records[i].samples, spanLabel, request.SpanSelector)
		records[i].samples = withLabel(records[i].samples, traceLabel, request.TraceIdSelector)
	}
	return slices.DeleteFunc(records, func(r record) bool { return len(r.samples) == 0 }), nil
}

func withLabel(samples []*profile.Sample, name string, ids []string) []*profile.Sample {
	if len(ids) == 0 {
		return samples
	}
	return slices.DeleteFunc(slices.Clone(samples), func(s *profile.Sample) bool {
		return len(s.Label[name]) == 0 || !slices.Contains(ids, s.Label[name][0])
	})
}

// merged is a profile of one sample type and no labels, one sample a stack. nil when there is none.
func merged(records []record, typeID string, end int64) (*profile.Profile, error) {
	var parts []*profile.Profile
	type_ := strings.Split(typeID, ":")
	for _, r := range records {
		part := &profile.Profile{
			SampleType: []*profile.ValueType{{Type: type_[1], Unit: type_[2]}},
			PeriodType: &profile.ValueType{Type: type_[3], Unit: type_[4]},
			Period:     1, TimeNanos: end * 1e6, DefaultSampleType: type_[1],
			Mapping: r.from.Mapping, Location: r.from.Location, Function: r.from.Function,
		}
		for _, s := range r.samples {
			part.Sample = append(part.Sample, &profile.Sample{Location: s.Location, Value: []int64{s.Value[r.index]}})
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return nil, nil
	}
	return profile.Merge(parts)
}

func message(p *profile.Profile) (*googlev1.Profile, error) {
	answer := &googlev1.Profile{}
	if p == nil {
		return answer, nil
	}
	var raw strings.Builder
	if err := p.WriteUncompressed(&raw); err != nil {
		return nil, err
	}
	return answer, proto.Unmarshal([]byte(raw.String()), answer)
}

func (q *querier) SelectMergeProfile(_ context.Context, request *connect.Request[querierv1.SelectMergeProfileRequest]) (*connect.Response[googlev1.Profile], error) {
	m := request.Msg
	records, err := q.chosenSamples(&querierv1.SelectMergeStacktracesRequest{
		ProfileTypeID: m.ProfileTypeID, LabelSelector: m.LabelSelector, Start: m.Start, End: m.End, TraceIdSelector: m.TraceIdSelector})
	if err != nil {
		return nil, err
	}
	p, err := merged(records, m.ProfileTypeID, m.End)
	if err != nil {
		return nil, err
	}
	answer, err := message(p)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(answer), nil
}

func (q *querier) SelectMergeStacktraces(_ context.Context, request *connect.Request[querierv1.SelectMergeStacktracesRequest]) (*connect.Response[querierv1.SelectMergeStacktracesResponse], error) {
	m := request.Msg
	records, err := q.chosenSamples(m)
	if err != nil {
		return nil, err
	}
	answer := &querierv1.SelectMergeStacktracesResponse{}
	switch m.Format {
	case querierv1.ProfileFormat_PROFILE_FORMAT_UNSPECIFIED, querierv1.ProfileFormat_PROFILE_FORMAT_FLAMEGRAPH:
		answer.Flamegraph = flamegraph(treeOf(records), m.GetMaxNodes())
	case querierv1.ProfileFormat_PROFILE_FORMAT_PPROF:
		p, err := merged(records, m.ProfileTypeID, m.End)
		if err != nil {
			return nil, err
		}
		content, err := message(p)
		if err != nil {
			return nil, err
		}
		answer.Pprof = &querierv1.PprofProfile{Profile: content}
	default:
		return nil, connect.NewError(connect.CodeUnimplemented, fmt.Errorf("the receiver has no format %s", m.Format))
	}
	return connect.NewResponse(answer), nil
}

// Diff answers with the totals and the names; the drawing of the two trees no test looks at.
func (q *querier) Diff(_ context.Context, request *connect.Request[querierv1.DiffRequest]) (*connect.Response[querierv1.DiffResponse], error) {
	answer := &querierv1.FlameGraphDiff{}
	names := map[string]bool{}
	for side, total := range map[*querierv1.SelectMergeStacktracesRequest]*int64{
		request.Msg.GetLeft(): &answer.LeftTicks, request.Msg.GetRight(): &answer.RightTicks} {
		if side == nil {
			return nil, invalid("a diff needs two sides")
		}
		records, err := q.chosenSamples(side)
		if err != nil {
			return nil, err
		}
		f := flamegraph(treeOf(records), side.GetMaxNodes())
		*total = f.Total
		for _, name := range f.Names {
			names[name] = true
		}
	}
	answer.Names = keys(names)
	sort.SliceStable(answer.Names, func(i, j int) bool { return answer.Names[i] == "total" && answer.Names[j] != "total" })
	answer.Total = answer.LeftTicks + answer.RightTicks
	return connect.NewResponse(&querierv1.DiffResponse{Flamegraph: answer}), nil
}
