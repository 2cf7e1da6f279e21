// The peer of tests/bench/flame: d3-flame-graph with the stacks of `stallprof flame --folded`, which stand in the page. A filter is one
// update, after every value was made anew.
import flamegraph from 'd3-flame-graph';
import { select } from 'd3-selection';

function treeOf(folded) {
  const root = { name: 'all', value: 0, children: [], known: new Map() };
  for (const line of folded.trim().split('\n')) {
    const at = line.lastIndexOf(' '), value = Number(line.slice(at + 1));
    let node = root;
    root.value += value;
    for (const name of line.slice(0, at).split(';')) {
      let child = node.known.get(name);
      if (!child) {
        child = { name, value: 0, children: [], known: new Map() };
        node.known.set(name, child);
        node.children.push(child);
      }
      child.value += value;
      node = child;
    }
  }
  return root;
}

const tree = treeOf(document.getElementById('data').textContent);
const chart = flamegraph().width(1200).minFrameSize(1).transitionDuration(0).selfValue(false);
const painted = (then) => requestAnimationFrame(() => setTimeout(then));

select('#chart').datum(tree).call(chart);
painted(() => {
  const first = performance.now();
  chart.update(treeOf(document.getElementById('data').textContent));
  painted(() => { window.measured = { first_ms: first, filter_ms: performance.now() - first }; });
});
