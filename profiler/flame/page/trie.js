// The stacks as they are drawn: merged by line or function, with native frames below Python folded or not, in the order
// in which a graph is drawn. Nothing here depends on a filter, so that a node keeps its place.

import { KIND_MASK, NATIVE, PYTHON } from './data.js';

/** A table of pairs of numbers, by open addressing. It begins small: what fits a cache is found much faster. */
class Pairs {
  constructor() {
    this.count = 0;
    this.first = new Int32Array(1 << 14);
    this.second = new Int32Array(1 << 14);
    this.index(1 << 15);
  }

  index(size) {
    this.mask = size - 1;
    this.slots = new Int32Array(size).fill(-1);
    for (let i = 0; i < this.count; i++) this.slots[this.slotOf(this.first[i], this.second[i])] = i;
  }

  grow() {
    for (const key of ['first', 'second']) {
      const wider = new Int32Array(this.count * 2);
      wider.set(this[key]);
      this[key] = wider;
    }
    if (this.first.length * 2 > this.slots.length) this.index(this.slots.length * 2);
  }

  /** Where the pair is, or would be. */
  slotOf(a, b) {
    const { slots, mask, first, second } = this;
    let h = Math.imul(a + 1, 0x9e3779b1) ^ Math.imul(b + 1, 0x85ebca6b);
    h ^= h >>> 15;
    let at = (Math.imul(h, 0x2c1b3c6d) ^ (h >>> 13)) & mask;
    for (; slots[at] >= 0; at = (at + 1) & mask) {
      const i = slots[at];
      if (first[i] === a && second[i] === b) break;
    }
    return at;
  }

  put(a, b) {
    const at = this.slotOf(a, b);
    if (this.slots[at] >= 0) return this.slots[at];
    this.slots[at] = this.count;
    this.first[this.count] = a;
    this.second[this.count++] = b;
    const number = this.count - 1;
    if (this.count === this.first.length) this.grow();
    return number;
  }
}

/** What is written into a box: frames that are one in this view. */
function makeLabels({ frames, strings }, byLine) {
  const known = new Map(), of = new Int32Array(frames.count), labels = [];
  for (let i = 0; i < frames.count; i++) {
    const line = byLine ? frames.line[i] : 0, kind = frames.kind[i];
    const key = `${frames.name[i]} ${frames.file[i]} ${line} ${kind}`;
    let label = known.get(key);
    if (label === undefined) {
      label = labels.length;
      known.set(key, label);
      labels.push({ name: strings[frames.name[i]], file: strings[frames.file[i]], line, kind });
    }
    of[i] = label;
  }
  return { of, labels };
}

/** Which nodes are in stacks that end in a Python frame or have one outside of it, and which in others. */
function findNeeds({ nodes, frames, samples }) {
  const count = nodes.count, python = new Uint8Array(count), needs = new Uint8Array(count);
  for (let n = 0; n < count; n++) {
    const parent = nodes.parent[n];
    const here = (frames.kind[nodes.frame[n]] & KIND_MASK) === PYTHON;
    python[n] = here || (parent >= 0 && python[parent]) ? 1 : 0;
  }
  for (let s = 0; s < samples.count; s++) needs[samples.node[s]] |= python[samples.node[s]] ? 2 : 1;
  for (let n = count - 1; n >= 0; n--) if (nodes.parent[n] >= 0) needs[nodes.parent[n]] |= needs[n];
  return { python, needs };
}

/** Merges the data's nodes; returns pairs (parent + 1, label) and each sample's pair. */
function merge(data, of, native) {
  const { nodes, frames, samples } = data, count = nodes.count;
  const pairs = new Pairs(), plain = new Int32Array(count), folded = new Int32Array(count);
  const { python, needs } = native ? { python: null, needs: null } : findNeeds(data);
  for (let n = 0; n < count; n++) {
    const parent = nodes.parent[n], frame = nodes.frame[n];
    if (native || needs[n] & 1) plain[n] = pairs.put(parent < 0 ? 0 : plain[parent] + 1, of[frame]);
    if (native || !(needs[n] & 2)) continue;
    const outer = parent < 0 ? -1 : folded[parent];
    folded[n] = (frames.kind[frame] & KIND_MASK) === NATIVE ? outer : pairs.put(outer + 1, of[frame]);
  }
  const leaf = new Int32Array(samples.count);
  for (let s = 0; s < samples.count; s++) {
    const n = samples.node[s];
    leaf[s] = python && python[n] ? folded[n] : plain[n];
  }
  return { pairs, leaf };
}

/** Orders numbers 0 … n-1 by their keys, which are small. */
function byKey(keys, n, size) {
  const starts = new Int32Array(size + 1), order = new Int32Array(n);
  for (let i = 0; i < n; i++) starts[keys[i] + 1]++;
  for (let k = 0; k < size; k++) starts[k + 1] += starts[k];
  for (let i = 0; i < n; i++) order[starts[keys[i]]++] = i;
  return order;
}

/** The rank of each label by its text, so that siblings stand in the order of their names. */
function ranks(labels) {
  const text = labels.map((label) => `${label.name}\u0000${label.file}\u0000${String(label.line).padStart(8, '0')}`);
  const order = labels.map((_, i) => i).sort((a, b) => (text[a] < text[b] ? -1 : text[a] > text[b] ? 1 : a - b));
  const rank = new Int32Array(labels.length);
  order.forEach((label, at) => { rank[label] = at; });
  return rank;
}

/**
 * Node 0 is the root; a node's descendants are those behind it up to end[node]. {count, parent, label, depth, end,
 * labels, leaf: each sample's node, labelOf: each frame's label}.
 */
export function derive(data, { native, byLine }) {
  const { of, labels } = makeLabels(data, byLine);
  const { pairs, leaf } = merge(data, of, native);
  const n = pairs.count, first = new Int32Array(n + 1).fill(-1), next = new Int32Array(n).fill(-1);
  const rank = ranks(labels), keys = new Int32Array(n);
  for (let i = 0; i < n; i++) keys[i] = rank[pairs.second[i]];
  const order = byKey(keys, n, labels.length);
  for (let i = n - 1; i >= 0; i--) {
    const node = order[i], parent = pairs.first[node]; // 0: the root
    next[node] = first[parent];
    first[parent] = node;
  }
  const count = n + 1, trie = {
    count, labels, labelOf: of, maxDepth: 0,
    parent: new Int32Array(count), label: new Int32Array(count).fill(-1), depth: new Uint16Array(count),
    end: new Int32Array(count), leaf: new Int32Array(leaf.length),
  };
  const place = new Int32Array(n), stack = [];
  let at = 1;
  for (let child = first[0]; ;) {
    if (child < 0) {
      if (!stack.length) break;
      const done = stack.pop();
      trie.end[place[done]] = at;
      child = next[done];
      continue;
    }
    place[child] = at;
    const parent = pairs.first[child] === 0 ? 0 : place[pairs.first[child] - 1];
    trie.parent[at] = parent;
    trie.label[at] = pairs.second[child];
    trie.depth[at] = trie.depth[parent] + 1;
    if (trie.depth[at] > trie.maxDepth) trie.maxDepth = trie.depth[at];
    at++;
    stack.push(child);
    child = first[child + 1];
  }
  trie.end[0] = at;
  for (let s = 0; s < leaf.length; s++) trie.leaf[s] = leaf[s] < 0 ? 0 : place[leaf[s]];
  return trie;
}
