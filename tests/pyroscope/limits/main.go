// limits pushes what a Pyroscope server must refuse, and what it must just take, and checks the answers.
//
//	limits -url URL -service NAME
//
// The limits are a real server's defaults. The receiver that stands in for one has to draw the same lines, so
// this runs against both. Prints TAP; exits 1 when an answer is another than expected.
package main

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/pprof/profile"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"google.golang.org/protobuf/proto"
)

// attempt is one request and what it must be answered.
type attempt struct {
	name     string
	labels   map[string]string // beside __name__ and service_name; an empty value takes a label away
	series   int               // how many, the same each time; 0 is one
	raw      []byte            // the profile
	encoding string            // of the request's body
	status   int
	words    string // part of the server's message
}

func compressed(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

// made is a valid profile, changed by change, as bytes.
func made(change func(*profile.Profile)) []byte {
	f := &profile.Function{ID: 1, Name: "wait"}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f, Line: 1}}}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "delay", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "contentions", Unit: "count"},
		Period:     1, TimeNanos: time.Now().UnixNano(),
		Function: []*profile.Function{f}, Location: []*profile.Location{l},
		Sample: []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{1}}},
	}
	if change != nil {
		change(p)
	}
	var b bytes.Buffer
	p.Write(&b)
	return b.Bytes()
}

func samples(n int) func(*profile.Profile) {
	return func(p *profile.Profile) {
		for len(p.Sample) < n {
			p.Sample = append(p.Sample, &profile.Sample{Location: p.Location, Value: []int64{int64(len(p.Sample))}})
		}
	}
}

func padded(size int) func(*profile.Profile) {
	return func(p *profile.Profile) { p.Comments = []string{strings.Repeat("c", size)} }
}

func at(when time.Duration) func(*profile.Profile) {
	return func(p *profile.Profile) { p.TimeNanos = time.Now().Add(when).UnixNano() }
}

func manyLabels(n int) map[string]string {
	labels := map[string]string{}
	for i := 2; i < n; i++ { // __name__ and service_name are two
		labels[fmt.Sprintf("l%02d", i)] = "v"
	}
	return labels
}

func attempts() []attempt {
	good := made(nil)
	one := func(name, value string) map[string]string { return map[string]string{name: value} }
	return []attempt{
		{name: "a gzip'd profile", raw: good, status: 200},
		{name: "a profile that is not compressed", raw: gunzip(good), status: 200},
		{name: "two series in a request", raw: good, series: 2, status: 200},
		{name: "a gzip'd request", raw: good, encoding: "gzip", status: 200},
		{name: "a zstd request", raw: good, encoding: "zstd", status: 501, words: "zstd"},
		{name: "no __name__", raw: good, labels: one("__name__", ""), status: 400, words: "invalid metric name"},
		{name: "no service_name", raw: good, labels: one("service_name", ""), status: 200},
		{name: "a label without a name", raw: good, labels: one("", "v"), status: 400, words: "invalid label name"},
		{name: "a label name that Prometheus would not take", raw: good, labels: one("a-b.ü", "v"), status: 200},
		{name: "30 labels", raw: good, labels: manyLabels(30), status: 200},
		{name: "31 labels", raw: good, labels: manyLabels(31), status: 400, words: "31 label names; limit 30"},
		{name: "a label name of 1024", raw: good, labels: one(strings.Repeat("n", 1024), "v"), status: 200},
		{name: "a label name of 1025", raw: good, labels: one(strings.Repeat("n", 1025), "v"), status: 400, words: "label name too long"},
		{name: "a label value of 2048", raw: good, labels: one("a", strings.Repeat("v", 2048)), status: 200},
		{name: "a label value of 2049", raw: good, labels: one("a", strings.Repeat("v", 2049)), status: 400, words: "label value too long"},
		{name: "59 minutes old", raw: made(at(-59 * time.Minute)), status: 200},
		{name: "61 minutes old", raw: made(at(-61 * time.Minute)), status: 400, words: "outside of ingestion window"},
		{name: "9 minutes ahead", raw: made(at(9 * time.Minute)), status: 200},
		{name: "11 minutes ahead", raw: made(at(11 * time.Minute)), status: 400, words: "outside of ingestion window"},
		{name: "a hyphen in a sample type", raw: made(func(p *profile.Profile) { p.SampleType[0].Type = "in-flight" }), status: 400, words: "sample type contains -"},
		{name: "16,000 samples", raw: made(samples(16000)), status: 200},
		{name: "16,001 samples", raw: made(samples(16001)), status: 400, words: "samples count limit"},
		{name: "more than 4 MiB uncompressed", raw: made(padded(4<<20 + 1)), status: 400, words: "exceeds limit of 4.2 MB"},
		{name: "more than 2 MiB uncompressed", raw: made(padded(2<<20 + 1<<17)), status: 429, words: "rate limit"},
		{name: "no sample type", raw: compressed(nil), status: 400, words: "empty profile"},
		{name: "not a profile", raw: []byte("this is no profile"), status: 500},
		{name: "no series", series: -1, status: 400, words: "no profiles received"},
	}
}

func gunzip(data []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	plain, _ := io.ReadAll(r)
	return plain
}

func (a attempt) request(url, service string) (*http.Request, error) {
	labels := map[string]string{"__name__": "block", "service_name": service}
	for name, value := range a.labels {
		labels[name] = value
	}
	message := &pushv1.PushRequest{}
	for i := 0; i < max(a.series, 1) && a.series >= 0; i++ {
		series := &pushv1.RawProfileSeries{Samples: []*pushv1.RawSample{{RawProfile: a.raw}}}
		for name, value := range labels {
			if value != "" {
				series.Labels = append(series.Labels, &typesv1.LabelPair{Name: name, Value: value})
			}
		}
		message.Series = append(message.Series, series)
	}
	body, err := proto.Marshal(message)
	if err != nil {
		return nil, err
	}
	if a.encoding == "gzip" {
		body = compressed(body)
	}
	request, err := http.NewRequest(http.MethodPost, strings.TrimRight(url, "/")+"/push.v1.PusherService/Push", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/proto")
	if a.encoding != "" {
		request.Header.Set("Content-Encoding", a.encoding)
	}
	return request, nil
}

// answer pushes; a server that is busy with what was pushed before is asked again, except for its limit.
func (a attempt) answer(url, service string) (int, string, error) {
	for try := 0; ; try++ {
		request, err := a.request(url, service)
		if err != nil {
			return 0, "", err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, "", err
		}
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 4096))
		answer.Body.Close()
		if answer.StatusCode != http.StatusTooManyRequests || a.status == http.StatusTooManyRequests || try == 10 {
			return answer.StatusCode, string(text), nil
		}
		time.Sleep(time.Second)
	}
}

func main() {
	url := flag.String("url", "", "the server's `URL`")
	service := flag.String("service", "", "the service_name to push under")
	prefix := flag.String("prefix", "", "what each assertion's name begins with")
	flag.Parse()
	if *url == "" || *service == "" || flag.NArg() != 0 {
		flag.Usage()
		os.Exit(2)
	}
	failed := 0
	table := attempts()
	fmt.Printf("1..%d\n", len(table))
	for i, a := range table {
		status, text, err := a.answer(*url, *service)
		name := fmt.Sprintf("%d - %spush: %s: %d", i+1, *prefix, a.name, a.status)
		if err == nil && status == a.status && strings.Contains(text, a.words) {
			fmt.Println("ok", name)
			continue
		}
		failed++
		fmt.Printf("not ok %s\n# got %d %.300s %v\n# want %d and %q\n", name, status, strings.ReplaceAll(text, "\n", " "), err, a.status, a.words)
	}
	if failed > 0 {
		os.Exit(1)
	}
}
