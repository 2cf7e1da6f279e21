package main

import (
	"fmt"
	"strings"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
)

// stackKey is a stack as text, root first: a key, and readable in a failure.
func stackKey(stack []frame) string {
	var b strings.Builder
	for i := len(stack) - 1; i >= 0; i-- {
		f := stack[i]
		fmt.Fprintf(&b, "%s (%s:%d in %s);", f.function, f.file, f.line, f.object)
	}
	return b.String()
}

func stackSums(rows []row) map[string]int64 {
	sums := map[string]int64{}
	for _, r := range rows {
		sums[stackKey(r.stack)] += r.value
	}
	return sums
}

// node is a flame graph's box.
type node struct {
	total, self int64
}

// treeOfRows is the flame graph that the rows make: boxes by their path of function names, root first.
func treeOfRows(rows []row) map[string]node {
	tree := map[string]node{}
	for _, r := range rows {
		path := ""
		for i := len(r.stack) - 1; i >= 0; i-- {
			path += ";" + r.stack[i].function
			box := tree[path]
			box.total += r.value
			if i == 0 {
				box.self += r.value
			}
			tree[path] = box
		}
	}
	return tree
}

// box is a node with the place that a flame graph draws it at.
type box struct {
	path       string
	begin, end int64
}

// treeOfAnswer reads a flame graph's levels. A level is a row of boxes, four numbers each: the distance from
// the end of the box before, total, self, and the name's index. A box's parent is the one it lies under.
func treeOfAnswer(f *querierv1.FlameGraph) (map[string]node, error) {
	tree := map[string]node{}
	var above []box
	for depth, level := range f.Levels {
		var row []box
		if len(level.Values)%4 != 0 {
			return nil, fmt.Errorf("level %d has %d numbers, not boxes of four", depth, len(level.Values))
		}
		at, parent := int64(0), 0
		for v := level.Values; len(v) > 0; v = v[4:] {
			begin, name := at+v[0], v[3]
			at = begin + v[1]
			if name < 0 || name >= int64(len(f.Names)) {
				return nil, fmt.Errorf("level %d names function %d of %d", depth, name, len(f.Names))
			}
			if depth == 0 {
				row = append(row, box{"", begin, at})
				continue
			}
			for parent < len(above) && (begin >= above[parent].end || above[parent].begin == above[parent].end) {
				parent++
			}
			if parent == len(above) || at > above[parent].end {
				return nil, fmt.Errorf("level %d: %q lies under no box", depth, f.Names[name])
			}
			path := above[parent].path + ";" + f.Names[name]
			sum := tree[path]
			tree[path] = node{sum.total + v[1], sum.self + v[2]}
			row = append(row, box{path, begin, at})
		}
		above = row
	}
	return tree, nil
}
