// synthetic DIR writes a small profile in the shape that stallprof records, with every trait that delivery
// might lose: inlined frames, recursion, kernel frames, frames without a file, names in UTF-8, values beyond
// 2^32, several tags, spans and traces, numeric labels, one stack under several label sets.
//
// DIR/local.pb.gz holds all sample types, as a file of `stallprof record` does; DIR/block.pb.gz and
// DIR/process_cpu.pb.gz hold what is pushed of it, one series each. DIR/wrong-*.pb.gz differ from local.pb.gz in
// one trait each: assertions that pass with one of them assert nothing. The values are made up; only this
// generator and the tests that compare with it know them.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// Indices into the local file's sample types.
const (
	contentions = iota
	delay
	cpu
)

var sampleTypes = []*profile.ValueType{
	{Type: "contentions", Unit: "count"},
	{Type: "delay", Unit: "nanoseconds"},
	{Type: "cpu", Unit: "nanoseconds"},
}

// frame is a function at a line, in its file.
type frame struct {
	function, file string
	line           int64
}

// builder hands out the ids.
type builder struct {
	p         *profile.Profile
	functions map[string]*profile.Function
}

func (b *builder) function(f frame) *profile.Function {
	key := f.function + "\x00" + f.file
	if known := b.functions[key]; known != nil {
		return known
	}
	made := &profile.Function{ID: uint64(len(b.p.Function) + 1), Name: f.function, SystemName: f.function, Filename: f.file}
	b.p.Function = append(b.p.Function, made)
	b.functions[key] = made
	return made
}

// location makes one of frames, the innermost inlined one first.
func (b *builder) location(m *profile.Mapping, address uint64, frames ...frame) *profile.Location {
	l := &profile.Location{ID: uint64(len(b.p.Location) + 1), Mapping: m, Address: address}
	for _, f := range frames {
		l.Line = append(l.Line, profile.Line{Function: b.function(f), Line: f.line})
	}
	b.p.Location = append(b.p.Location, l)
	return l
}

func (b *builder) sample(stack []*profile.Location, values []int64, labels map[string]string, step int64) {
	s := &profile.Sample{Location: stack, Value: values, Label: map[string][]string{}, NumLabel: map[string][]int64{}, NumUnit: map[string][]string{}}
	for name, value := range labels {
		s.Label[name] = []string{value}
	}
	if step > 0 {
		s.NumLabel["step"] = []int64{step}
		s.NumUnit["step"] = []string{"count"}
	}
	b.p.Sample = append(b.p.Sample, s)
}

func newBuilder(now time.Time) *builder {
	binary := &profile.Mapping{ID: 1, Start: 0x400000, Limit: 0x500000, File: "/opt/train/bin/trainer", BuildID: "00112233445566778899aabbccddeeff00112233", HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}
	kernel := &profile.Mapping{ID: 2, Start: 0xffffffff81000000, Limit: 0xffffffff82000000, File: "[kernel.kallsyms]_stext", BuildID: "ffeeddccbbaa99887766554433221100ffeeddcc", HasFunctions: true}
	return &builder{
		p: &profile.Profile{
			SampleType:        sampleTypes,
			DefaultSampleType: "delay",
			PeriodType:        &profile.ValueType{Type: "contentions", Unit: "count"},
			Period:            1,
			TimeNanos:         now.UnixNano(),
			DurationNanos:     int64(10 * time.Second),
			Mapping:           []*profile.Mapping{binary, kernel},
			Comments:          []string{"made by tests/pyroscope/synthetic"},
		},
		functions: map[string]*profile.Function{},
	}
}

// stacks returns: a write with inlined frames down into the kernel, a recursion that faults, a stack cut
// short, and a frame that computes.
func stacks(b *builder) (write, fault, cut, compute []*profile.Location) {
	binary, kernel := b.p.Mapping[0], b.p.Mapping[1]
	main := b.location(binary, 0x401000, frame{"main", "/src/train/main.cc", 40})
	schedule := b.location(kernel, 0xffffffff81000100, frame{"io_schedule", "", 0})
	submit := b.location(kernel, 0xffffffff81000200, frame{"submit_bio_wait", "block/bio.c", 1371})
	inlined := b.location(binary, 0x401200,
		frame{"Shard<float, 3>::flush(std::string const&)", "/src/train/shard.h", 17},
		frame{"Writer::step()", "/src/train/writer.cc", 88},
		frame{"save_checkpoint", "/src/train/save.cc", 9})
	recurse := b.location(binary, 0x401300, frame{"größe_rekursiv", "/src/train/größe.py", 5})
	again := b.location(binary, 0x401310, frame{"größe_rekursiv", "/src/train/größe.py", 7})
	truncated := b.location(nil, 0, frame{"[unwind truncated]", "", 0})
	busy := b.location(kernel, 0xffffffff81000300, frame{"crypto_xor \"quoted\\\"", "crypto/xor.c", 1})
	write = []*profile.Location{schedule, submit, inlined, main}
	fault = []*profile.Location{schedule, again, recurse, recurse, again, main}
	cut = []*profile.Location{schedule, truncated}
	compute = []*profile.Location{busy, inlined, main}
	return
}

func labels(tag, stall, device string, span, trace int) map[string]string {
	l := map[string]string{"stall": stall}
	if tag != "" {
		l["ai_tag"] = tag
	}
	if device != "" {
		l["device"] = device
	}
	if span > 0 {
		l["span_id"] = fmt.Sprintf("%016x", uint64(span)<<32|0xabcdef)
	}
	if trace > 0 {
		l["trace_id"] = fmt.Sprintf("%024xdeadbeef", trace)
	}
	return l
}

func local(now time.Time) *profile.Profile {
	b := newBuilder(now)
	write, fault, cut, compute := stacks(b)
	blocked := func(n, ns int64) []int64 { return []int64{n, ns, 0} }
	onCPU := func(ns int64) []int64 { return []int64{0, 0, ns} }
	for i := 1; i <= 12; i++ {
		b.sample(write, blocked(1, int64(i)*1_000_003), labels("checkpoint_write", "throttle", "vda", i, 1), int64(i))
	}
	b.sample(write, blocked(3, 7_000_000_019), labels("checkpoint_write", "block_io", "vda", 1, 1), 0)
	b.sample(write, blocked(2, 5_000_000), labels("data_load", "block_io", "nvme0n1", 20, 2), 0)
	b.sample(fault, blocked(4, 123_456_789), labels("data_load", "block_io", "nvme0n1", 21, 2), 80000)
	b.sample(fault, blocked(1, 1<<41), labels("", "journal", "vda", 0, 0), 0)
	// A wait that began in an earlier window: time, but no new wait.
	b.sample(fault, blocked(0, 10_000_000_000), labels("data_load", "throttle", "vda", 22, 2), 0)
	b.sample(cut, blocked(9, 900_000_001), labels("data_load", "writeback", "", 21, 2), 0)
	b.sample(compute, onCPU(30_303_030), labels("checkpoint_write", "writeback", "", 2, 1), 0)
	b.sample(compute, onCPU(10_101_010), labels("data_load", "block_io", "nvme0n1", 20, 2), 0)
	return b.p
}

// series is what is pushed of a profile: some of its types, and the samples that have a value in them.
func series(from *profile.Profile, period *profile.ValueType, types ...int) *profile.Profile {
	p := from.Copy()
	samples := p.Sample
	p.PeriodType, p.SampleType, p.Sample, p.DefaultSampleType = period, nil, nil, sampleTypes[types[len(types)-1]].Type
	for _, t := range types {
		p.SampleType = append(p.SampleType, sampleTypes[t])
	}
	for _, s := range samples {
		var values []int64
		var sum int64
		for _, t := range types {
			values = append(values, s.Value[t])
			sum += s.Value[t]
		}
		if s.Value = values; sum != 0 {
			p.Sample = append(p.Sample, s)
		}
	}
	return p.Compact()
}

// wrongs: what delivery could get wrong, done to a copy of the local profile.
var wrongs = map[string]func(*profile.Profile){
	"value":    func(p *profile.Profile) { p.Sample[0].Value[delay]++ },
	"lost":     func(p *profile.Profile) { p.Sample = p.Sample[1:] },
	"label":    func(p *profile.Profile) { p.Sample[0].Label["stall"] = []string{"nfs_read"} },
	"span":     func(p *profile.Profile) { p.Sample[0].Label["span_id"] = p.Sample[1].Label["span_id"] },
	"trace":    func(p *profile.Profile) { p.Sample[0].Label["trace_id"] = []string{strings.Repeat("a", 32)} },
	"line":     func(p *profile.Profile) { p.Location[0].Line[0].Line++ },
	"file":     func(p *profile.Profile) { p.Function[0].Filename += "x" },
	"function": func(p *profile.Profile) { p.Function[0].Name += "x" },
	"inlined": func(p *profile.Profile) {
		for _, l := range p.Location {
			if n := len(l.Line); n > 1 {
				l.Line = l.Line[:n-1]
			}
		}
	},
	"root": func(p *profile.Profile) {
		for _, s := range p.Sample {
			s.Location = s.Location[:len(s.Location)-1]
		}
	},
	"object": func(p *profile.Profile) { p.Mapping[1].File = "vmlinux" },
}

func write(path string, p *profile.Profile) error {
	if err := p.CheckValid(); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return p.Write(file)
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: synthetic DIR")
		os.Exit(2)
	}
	p := local(time.Now())
	made := map[string]*profile.Profile{
		"local":       p,
		"block":       series(p, &profile.ValueType{Type: "contentions", Unit: "count"}, contentions, delay),
		"process_cpu": series(p, &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, cpu),
	}
	for trait, spoil := range wrongs {
		made["wrong-"+trait] = p.Copy()
		spoil(made["wrong-"+trait])
	}
	for name, one := range made {
		if err := write(filepath.Join(os.Args[1], name+".pb.gz"), one); err != nil {
			fmt.Fprintln(os.Stderr, "synthetic:", err)
			os.Exit(1)
		}
	}
}
