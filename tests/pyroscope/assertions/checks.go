package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// How many spans, traces and label values are asked for one by one.
const asksMax = 20

// unknownSpan is a span that no profile has.
const unknownSpan = "00000000deadfeed"

func problem(err error) []string { return []string{err.Error()} }

// differences compares two maps and says where they differ.
func differences[V comparable](got, want map[string]V) []string {
	var problems []string
	for _, key := range sorted(want) {
		if value, found := got[key]; !found {
			problems = append(problems, fmt.Sprintf("missing: %v %s", want[key], key))
		} else if value != want[key] {
			problems = append(problems, fmt.Sprintf("got %v, want %v: %s", value, want[key], key))
		}
	}
	for _, key := range sorted(got) {
		if _, found := want[key]; !found {
			problems = append(problems, fmt.Sprintf("unexpected: %v %s", got[key], key))
		}
	}
	return problems
}

func sameList(got, want []string) []string {
	set := func(list []string) map[string]string {
		m := map[string]string{}
		for _, one := range list {
			m[one] = ""
		}
		return m
	}
	return differences(set(got), set(want))
}

func sameTotal(ctx context.Context, from *server, want *local, c choice) []string {
	f, err := from.flamegraph(ctx, c)
	if err != nil {
		return problem(fmt.Errorf("%+v: %w", c, err))
	}
	if sum := want.total(c); f.Total != sum {
		return problem(fmt.Errorf("%+v: got %d, want %d", c, f.Total, sum))
	}
	return nil
}

// awaitTotals waits until the server has all there is; queries may lag behind pushes.
func awaitTotals(ctx context.Context, from *server, want *local, wait time.Duration) []string {
	for deadline := time.Now().Add(wait); ; time.Sleep(500 * time.Millisecond) {
		var problems []string
		for _, id := range want.types() {
			problems = append(problems, sameTotal(ctx, from, want, choice{typeID: id})...)
		}
		if len(problems) == 0 || time.Now().After(deadline) || ctx.Err() != nil {
			return problems
		}
	}
}

func runAll(ctx context.Context, r *report, from *server, want *local) {
	r.check("profile types are listed", checkProfileTypes(ctx, from, want))
	r.check("label names are those of the samples and the series", checkLabelNames(ctx, from, want))
	r.check("label values are those of the samples and the series", checkLabelValues(ctx, from, want))
	r.check("series are the label sets of the samples", checkSeries(ctx, from, want))
	r.check("totals by label are those of the local file", checkTotals(ctx, from, want))
	for _, id := range want.types() {
		r.check("stacks, functions, files and lines are those of the local file: "+id, checkStacks(ctx, from, want, id))
		r.check("the flame graph is that of the local file: "+id, checkFlamegraph(ctx, from, want, id))
	}
	if id := typeIDs["cpu"]; !slices.Contains(want.types(), id) {
		why := "on a busy host the recorded may never be met on the CPU within a stall"
		r.skip("stacks, functions, files and lines are those of the local file: "+id, why)
		r.skip("the flame graph is that of the local file: "+id, why)
	}
	if spans := values(want.rows, func(w row) string { return w.span }); len(spans) > 0 {
		r.check("span_id selects a single tag", checkSpans(ctx, from, want, spans))
	}
	if traces := values(want.rows, func(w row) string { return w.trace }); len(traces) > 0 {
		r.check("trace_id selects a single trace", checkTraces(ctx, from, want, traces))
	}
	r.check("a diff compares two selections", checkDiff(ctx, from, want))
}

func checkProfileTypes(ctx context.Context, from *server, want *local) []string {
	listed, err := from.profileTypes(ctx) // of all services
	if err != nil {
		return problem(err)
	}
	var problems []string
	for _, id := range want.types() {
		if !slices.Contains(listed, id) {
			problems = append(problems, "not listed: "+id)
		}
	}
	own, err := from.series(ctx, []string{"__profile_type__"})
	if err != nil {
		return append(problems, err.Error())
	}
	var expected []string
	for _, id := range want.types() {
		expected = append(expected, "__profile_type__="+id)
	}
	return append(problems, sameList(own, expected)...)
}

func checkLabelNames(ctx context.Context, from *server, want *local) []string {
	names, err := from.labelNames(ctx)
	if err != nil {
		return problem(err)
	}
	// Names in double underscores are the server's own.
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "__") })
	return sameList(names, want.labelNames())
}

func checkLabelValues(ctx context.Context, from *server, want *local) []string {
	var problems []string
	for _, name := range append(want.labelNames(), spanLabel, traceLabel) {
		got, err := from.labelValues(ctx, name)
		if err != nil {
			return problem(fmt.Errorf("%s: %w", name, err))
		}
		expected := values(want.rows, func(r row) string { return r.labels[name] })
		for _, text := range sameList(got, expected) {
			problems = append(problems, name+": "+text)
		}
	}
	return problems
}

func checkSeries(ctx context.Context, from *server, want *local) []string {
	names := append([]string{"__profile_type__"}, want.labelNames()...)
	got, err := from.series(ctx, names)
	if err != nil {
		return problem(err)
	}
	expected := values(want.rows, func(r row) string {
		return "__profile_type__=" + r.typeID + "," + labelSet(r.labels, names)
	})
	return sameList(got, expected)
}

// labelChoices: every label with each of its values, and with none where some samples lack it.
func labelChoices(want *local, id string) []choice {
	var choices []choice
	for _, name := range want.labelNames() {
		rows := want.chosen(choice{typeID: id})
		found := values(rows, func(r row) string { return r.labels[name] })
		if len(found) > asksMax {
			found = found[:asksMax]
		}
		for _, value := range found {
			choices = append(choices, choice{typeID: id, label: name, value: value})
		}
		if without := (choice{typeID: id, label: name}); len(want.chosen(without)) > 0 {
			choices = append(choices, without)
		}
	}
	return choices
}

func checkTotals(ctx context.Context, from *server, want *local) []string {
	var problems []string
	for _, id := range want.types() {
		for _, c := range labelChoices(want, id) {
			problems = append(problems, sameTotal(ctx, from, want, c)...)
		}
		nobody := choice{typeID: id, label: "stall", value: "no such stall"}
		problems = append(problems, sameTotal(ctx, from, want, nobody)...)
	}
	return problems
}

func sameStacks(ctx context.Context, from *server, want *local, c choice) []string {
	got, err := from.stacks(ctx, c)
	if err != nil {
		return problem(fmt.Errorf("%+v: %w", c, err))
	}
	return differences(got, stackSums(want.chosen(c)))
}

func checkStacks(ctx context.Context, from *server, want *local, id string) []string {
	problems := sameStacks(ctx, from, want, choice{typeID: id})
	for _, c := range labelChoices(want, id) {
		if c.label == "ai_tag" || c.label == "stall" || c.label == "device" {
			problems = append(problems, sameStacks(ctx, from, want, c)...)
		}
	}
	return problems
}

func checkFlamegraph(ctx context.Context, from *server, want *local, id string) []string {
	f, err := from.flamegraph(ctx, choice{typeID: id})
	if err != nil {
		return problem(err)
	}
	got, err := treeOfAnswer(f)
	if err != nil {
		return problem(err)
	}
	return differences(got, treeOfRows(want.chosen(choice{typeID: id})))
}

// sameChoice compares totals and stacks of a choice by span or trace.
func sameChoice(ctx context.Context, from *server, want *local, c choice) []string {
	return append(sameTotal(ctx, from, want, c), sameStacks(ctx, from, want, c)...)
}

func checkSpans(ctx context.Context, from *server, want *local, spans []string) []string {
	var problems []string
	asked := spans
	if len(asked) > asksMax {
		asked = asked[:asksMax]
	}
	for _, id := range want.types() {
		for _, span := range asked {
			problems = append(problems, sameChoice(ctx, from, want, choice{typeID: id, spans: []string{span}})...)
		}
		problems = append(problems, sameTotal(ctx, from, want, choice{typeID: id, spans: asked})...)
		problems = append(problems, sameTotal(ctx, from, want, choice{typeID: id, spans: []string{unknownSpan}})...)
	}
	return problems
}

func checkTraces(ctx context.Context, from *server, want *local, traces []string) []string {
	var problems []string
	if len(traces) > asksMax {
		traces = traces[:asksMax]
	}
	for _, id := range want.types() {
		for _, trace := range traces {
			problems = append(problems, sameChoice(ctx, from, want, choice{typeID: id, traces: []string{trace}})...)
		}
	}
	return problems
}

// checkDiff compares the first and the last value of the stall label; with one value, it with all.
func checkDiff(ctx context.Context, from *server, want *local) []string {
	id := want.types()[0]
	stalls := values(want.chosen(choice{typeID: id}), func(r row) string { return r.labels["stall"] })
	left, right := choice{typeID: id}, choice{typeID: id}
	if len(stalls) > 0 {
		left.label, left.value = "stall", stalls[0]
	}
	if len(stalls) > 1 {
		right.label, right.value = "stall", stalls[len(stalls)-1]
	}
	l, r, err := from.diff(ctx, left, right)
	if err != nil {
		return problem(err)
	}
	if l != want.total(left) || r != want.total(right) {
		return problem(fmt.Errorf("got %d and %d, want %d and %d", l, r, want.total(left), want.total(right)))
	}
	return nil
}
