package main

import (
	"maps"
	"slices"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
)

// node is a function called from where its parents say.
type node struct {
	total, self int64
	children    map[string]*node
}

func (n *node) child(name string) *node {
	if n.children == nil {
		n.children = map[string]*node{}
	}
	if n.children[name] == nil {
		n.children[name] = &node{}
	}
	return n.children[name]
}

// treeOf sums the samples by function names, root first; the tree's root is the sum of all.
func treeOf(records []record) *node {
	root := &node{}
	for _, r := range records {
		for _, s := range r.samples {
			at, value := root, s.Value[r.index]
			at.total += value
			for i := len(s.Location) - 1; i >= 0; i-- {
				lines := s.Location[i].Line
				for j := len(lines) - 1; j >= 0; j-- {
					at = at.child(lines[j].Function.Name)
					at.total += value
				}
			}
			at.self += value
		}
	}
	return root
}

// smallest is the least total that still has a box when there may be so many.
func smallest(root *node, nodes int64) int64 {
	var totals []int64
	var walk func(*node)
	walk = func(n *node) {
		totals = append(totals, n.total)
		for _, c := range n.children {
			walk(c)
		}
	}
	walk(root)
	if int64(len(totals)) <= nodes {
		return 0
	}
	slices.Sort(totals)
	return totals[int64(len(totals))-nodes]
}

// drawing collects a flame graph's levels: four numbers a box, the first being the gap to the box before.
type drawing struct {
	graph *querierv1.FlameGraph
	index map[string]int64
	ends  []int64 // where each level's last box ends
	least int64
}

func (d *drawing) box(level int, at int64, name string, total, self int64) {
	if level == len(d.graph.Levels) {
		d.graph.Levels = append(d.graph.Levels, &querierv1.Level{})
		d.ends = append(d.ends, 0)
	}
	if _, known := d.index[name]; !known {
		d.index[name] = int64(len(d.graph.Names))
		d.graph.Names = append(d.graph.Names, name)
	}
	row := d.graph.Levels[level]
	row.Values = append(row.Values, at-d.ends[level], total, self, d.index[name])
	d.ends[level] = at + total
	d.graph.MaxSelf = max(d.graph.MaxSelf, self)
}

// draw puts a node's own time first, then its children by name, then those too small for a box as one.
func (d *drawing) draw(level int, at int64, name string, n *node) {
	d.box(level, at, name, n.total, n.self)
	at += n.self
	var other int64
	for _, name := range slices.Sorted(maps.Keys(n.children)) {
		c := n.children[name]
		if c.total < d.least {
			other += c.total
			continue
		}
		d.draw(level+1, at, name, c)
		at += c.total
	}
	if other > 0 {
		d.box(level+1, at, "other", other, other)
	}
}

func flamegraph(root *node, nodes int64) *querierv1.FlameGraph {
	if nodes == 0 {
		nodes = defaultNodes
	}
	d := &drawing{graph: &querierv1.FlameGraph{Total: root.total}, index: map[string]int64{}, least: smallest(root, nodes)}
	d.draw(0, 0, "total", root)
	return d.graph
}
