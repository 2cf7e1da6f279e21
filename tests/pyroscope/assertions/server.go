package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/google/pprof/profile"
	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"google.golang.org/protobuf/proto"
)

// More nodes than any profile of a test has, so that nothing is cut into "other".
const allNodes = 16384

// access is how a server is reached.
type access struct {
	url, tenant, user, passwordFile string
}

// server asks one server about one service.
type server struct {
	url     string
	http    *http.Client
	querier querierv1connect.QuerierServiceClient
	service string
	begin   time.Time
}

// credentials adds the headers to every request.
type credentials struct {
	tenant, user, password string
}

func (c credentials) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	if c.tenant != "" {
		request.Header.Set("X-Scope-OrgID", c.tenant)
	}
	if c.user != "" {
		request.SetBasicAuth(c.user, c.password)
	}
	return http.DefaultTransport.RoundTrip(request)
}

func (a access) open(service string, begin time.Time) (*server, error) {
	c := credentials{tenant: a.tenant, user: a.user}
	if a.passwordFile != "" {
		text, err := os.ReadFile(a.passwordFile)
		if err != nil {
			return nil, err
		}
		c.password, _, _ = strings.Cut(string(text), "\n")
	}
	client := &http.Client{Transport: c, Timeout: 60 * time.Second}
	url := strings.TrimRight(a.url, "/")
	return &server{url: url, http: client, querier: querierv1connect.NewQuerierServiceClient(client, url), service: service, begin: begin}, nil
}

func (s *server) times() (start, end int64) {
	return s.begin.UnixMilli(), time.Now().Add(time.Minute).UnixMilli()
}

// ready asks until the server says that it is, as a real one needs half a minute after its start.
func (s *server) ready(ctx context.Context) []string {
	problem := ""
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/ready", nil)
		if err != nil {
			return []string{err.Error()}
		}
		answer, err := s.http.Do(request)
		if err != nil {
			problem = err.Error()
			continue
		}
		body, _ := io.ReadAll(io.LimitReader(answer.Body, 512))
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return nil
		}
		problem = fmt.Sprintf("GET /ready: %s: %s", answer.Status, body)
	}
	return []string{problem}
}

// selector is the label selector for the service, and for a choice in it.
func (s *server) selector(c choice) string {
	text := "{service_name=" + strconv.Quote(s.service)
	if c.label != "" {
		text += "," + c.label + "=" + strconv.Quote(c.value)
	}
	return text + "}"
}

func (s *server) profileTypes(ctx context.Context) ([]string, error) {
	start, end := s.times()
	answer, err := s.querier.ProfileTypes(ctx, connect.NewRequest(&querierv1.ProfileTypesRequest{Start: start, End: end}))
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, one := range answer.Msg.ProfileTypes {
		ids = append(ids, one.ID)
	}
	return ids, nil
}

func (s *server) labelNames(ctx context.Context) ([]string, error) {
	start, end := s.times()
	answer, err := s.querier.LabelNames(ctx, connect.NewRequest(&typesv1.LabelNamesRequest{
		Matchers: []string{s.selector(choice{})}, Start: start, End: end}))
	if err != nil {
		return nil, err
	}
	return answer.Msg.Names, nil
}

func (s *server) labelValues(ctx context.Context, name string) ([]string, error) {
	start, end := s.times()
	answer, err := s.querier.LabelValues(ctx, connect.NewRequest(&typesv1.LabelValuesRequest{
		Name: name, Matchers: []string{s.selector(choice{})}, Start: start, End: end}))
	if err != nil {
		return nil, err
	}
	return answer.Msg.Names, nil
}

// series returns the label sets, each as "name=value,…" in the order of names, labels that are not set left out.
func (s *server) series(ctx context.Context, names []string) ([]string, error) {
	start, end := s.times()
	answer, err := s.querier.Series(ctx, connect.NewRequest(&querierv1.SeriesRequest{
		Matchers: []string{s.selector(choice{})}, LabelNames: names, Start: start, End: end}))
	if err != nil {
		return nil, err
	}
	var sets []string
	for _, set := range answer.Msg.LabelsSet {
		labels := map[string]string{}
		for _, pair := range set.Labels {
			labels[pair.Name] = pair.Value
		}
		sets = append(sets, labelSet(labels, names))
	}
	return sets, nil
}

func labelSet(labels map[string]string, names []string) string {
	var parts []string
	for _, name := range names {
		if labels[name] != "" {
			parts = append(parts, name+"="+labels[name])
		}
	}
	return strings.Join(parts, ",")
}

func (s *server) stacktracesRequest(c choice, format querierv1.ProfileFormat) *querierv1.SelectMergeStacktracesRequest {
	start, end := s.times()
	nodes := int64(allNodes)
	return &querierv1.SelectMergeStacktracesRequest{
		ProfileTypeID: c.typeID, LabelSelector: s.selector(c), Start: start, End: end, MaxNodes: &nodes,
		Format: format, SpanSelector: c.spans, TraceIdSelector: c.traces,
	}
}

func (s *server) flamegraph(ctx context.Context, c choice) (*querierv1.FlameGraph, error) {
	request := s.stacktracesRequest(c, querierv1.ProfileFormat_PROFILE_FORMAT_FLAMEGRAPH)
	answer, err := s.querier.SelectMergeStacktraces(ctx, connect.NewRequest(request))
	if err != nil {
		return nil, err
	}
	if answer.Msg.Flamegraph == nil {
		return &querierv1.FlameGraph{}, nil
	}
	return answer.Msg.Flamegraph, nil
}

// stacks asks SelectMergeProfile, or where a choice by span or trace asks for more than it can be asked,
// SelectMergeStacktraces for the same as pprof.
func (s *server) stacks(ctx context.Context, c choice) (map[string]int64, error) {
	if c.spans != nil || c.traces != nil {
		request := s.stacktracesRequest(c, querierv1.ProfileFormat_PROFILE_FORMAT_PPROF)
		answer, err := s.querier.SelectMergeStacktraces(ctx, connect.NewRequest(request))
		if err != nil {
			return nil, err
		}
		return stacksOfAnswer(c.typeID, answer.Msg.GetPprof().GetProfile())
	}
	start, end := s.times()
	answer, err := s.querier.SelectMergeProfile(ctx, connect.NewRequest(&querierv1.SelectMergeProfileRequest{
		ProfileTypeID: c.typeID, LabelSelector: s.selector(c), Start: start, End: end}))
	if err != nil {
		return nil, err
	}
	return stacksOfAnswer(c.typeID, answer.Msg)
}

// stacksOfAnswer checks that an answer is a valid profile of the type asked for, and sums it by stack.
func stacksOfAnswer(typeID string, answer *googlev1.Profile) (map[string]int64, error) {
	sums := map[string]int64{}
	if len(answer.GetSample()) == 0 {
		return sums, nil
	}
	raw, err := proto.Marshal(answer)
	if err != nil {
		return nil, err
	}
	p, err := profile.ParseData(raw)
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		return nil, fmt.Errorf("the answer is no valid profile: %w", err)
	}
	part := strings.Split(typeID, ":")
	if len(p.SampleType) != 1 || p.SampleType[0].Type != part[1] || p.SampleType[0].Unit != part[2] {
		return nil, fmt.Errorf("asked for %s, got sample types %v", typeID, p.SampleType)
	}
	if p.PeriodType == nil || p.PeriodType.Type != part[3] || p.PeriodType.Unit != part[4] {
		return nil, fmt.Errorf("asked for %s, got period type %v", typeID, p.PeriodType)
	}
	for _, sample := range p.Sample {
		sums[stackKey(stackOf(sample))] += sample.Value[0]
	}
	return sums, nil
}

// diff returns the totals of both sides.
func (s *server) diff(ctx context.Context, left, right choice) (int64, int64, error) {
	answer, err := s.querier.Diff(ctx, connect.NewRequest(&querierv1.DiffRequest{
		Left:  s.stacktracesRequest(left, querierv1.ProfileFormat_PROFILE_FORMAT_UNSPECIFIED),
		Right: s.stacktracesRequest(right, querierv1.ProfileFormat_PROFILE_FORMAT_UNSPECIFIED)}))
	if err != nil {
		return 0, 0, err
	}
	if answer.Msg.Flamegraph == nil {
		return 0, 0, errors.New("the answer has no flame graph")
	}
	return answer.Msg.Flamegraph.LeftTicks, answer.Msg.Flamegraph.RightTicks, nil
}
