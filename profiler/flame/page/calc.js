// What a filter leaves: sums of nodes, of lines, of whatever one can filter by.

import { DIMENSIONS } from './data.js';

export const BLOCKED = 'blocked'; // as stall: all waits that are no stalls, as `stallprof top --stall blocked` has it

/** Whether a filter takes some hosts or processes alone, of which tags, coverage and requests are not known: those are of all together. */
export function isOfSome({ host, process }) {
  return host !== undefined || process !== undefined;
}

/** The options by which a part of the samples was written alone; "": all were. */
export function writtenAlone({ stall, tag }) {
  return [stall === undefined ? '' : `--stall ${stall}`, tag === undefined ? '' : `--tag ${tag}`].filter(Boolean).join(' ');
}

/** Whether the timeline has also what these options left out: lanes that were made of the samples have not. */
export function lanesHaveMore(data) {
  return writtenAlone(data) !== '' && data.sides.some((side) => side.lanes.length > 0);
}

/** Whether it takes a part of what a lane of the timeline sums up. */
export function isFinerThanLanes(data, filter) {
  return lanesHaveMore(data) || isOfSome(filter) || filter.waker !== undefined || filter.inherited !== undefined;
}

export const NONE = 'none'; // as stall: what ran on a CPU outside of stalls, where `record --oncpu-hz` asked for that

/** Whether samples of CPUs are of all that ran there: outside of stalls, too, or of another program, which knows of none. Else they are inside of stalls alone. */
export function hasCpuOutside({ types, samples, strings }) {
  const cpu = samples.values[types.findIndex((type) => type.name === 'cpu')], outside = [NONE, ''].map((text) => strings.indexOf(text));
  return cpu !== undefined && samples.stall.some((stall, s) => cpu[s] !== 0 && outside.includes(stall));
}

/** Of each text whether the filter takes it; null: all. */
function allow(data, wanted) {
  if (wanted === undefined) return null;
  const taken = new Uint8Array(data.strings.length);
  const index = data.strings.indexOf(wanted);
  if (index >= 0) taken[index] = 1;
  return taken;
}

/**
 * How much of each sample is in a range of the run ([begin, end] in ms since its start): all, if the middle of its slice is, in which its waits
 * ended. Waits that are longer than their slice, by the mean of the sample's, began before it: of those, the part of that time that
 * is in the range. Null: all of all.
 */
function partsIn({ slices, samples, types }, range) {
  if (!range) return null;
  const delay = samples.values[types.findIndex((type) => type.name === 'delay')], parts = new Float32Array(samples.count);
  const waits = samples.values[types.findIndex((type) => type.name === 'contentions')];
  for (let s = 0; s < parts.length; s++) {
    const begin = slices.begin[samples.slice[s]], end = slices.end[samples.slice[s]], middle = (begin + end) / 2;
    const length = delay && waits && waits[s] > 0 ? delay[s] / waits[s] / 1e6 : 0; // ms
    if (begin < 0) continue;
    if (length > end - begin) parts[s] = Math.max(0, Math.min(range[1], end) - Math.max(range[0], end - length)) / length;
    else parts[s] = middle >= range[0] && middle <= range[1] ? 1 : 0;
  }
  return parts;
}

/**
 * The samples that pass: {value: of each sample, 0 for those that do not; sum; options: {dimension: Map(text number →
 * value)}}. An option's value is what the filter would leave with that one in its place. Without a stall, waits that are
 * no stalls are left out; the options of "stall" have them all.
 */
export function select(data, filter, type) {
  const { samples } = data, column = samples.values[type], value = new Float64Array(samples.count);
  const isBlocked = filter.stall === BLOCKED;
  const allowed = DIMENSIONS.map((key) => (key === 'stall' && isBlocked ? null : allow(data, filter[key])));
  const parts = partsIn(data, filter.range), stallAt = DIMENSIONS.indexOf('stall');
  const columns = DIMENSIONS.map((key) => samples[key]);
  const sums = DIMENSIONS.map(() => new Float64Array(data.strings.length));
  const seen = DIMENSIONS.map(() => new Uint8Array(data.strings.length));
  const anyStall = filter.stall === undefined;
  let sum = 0;
  for (let s = 0; s < samples.count; s++) {
    const v = parts ? column[s] * parts[s] : column[s];
    if (v === 0) continue;
    let failed = -1, fails = 0;
    for (let d = 0; d < allowed.length; d++) {
      if (allowed[d] && !allowed[d][columns[d][s]]) {
        fails++;
        failed = d;
      }
    }
    if ((anyStall && samples.wait[s]) || (isBlocked && !samples.wait[s])) {
      fails++;
      failed = stallAt;
    }
    if (fails > 1) continue;
    if (fails === 1) {
      sums[failed][columns[failed][s]] += v;
      seen[failed][columns[failed][s]] = 1;
      continue;
    }
    value[s] = v;
    sum += v;
    for (let d = 0; d < sums.length; d++) {
      sums[d][columns[d][s]] += v;
      seen[d][columns[d][s]] = 1;
    }
  }
  const options = {};
  DIMENSIONS.forEach((key, d) => {
    options[key] = new Map();
    seen[d].forEach((is, text) => { if (is) options[key].set(text, sums[d][text]); });
  });
  return { value, sum, options };
}

/**
 * Sums of nodes: {self, total, width}. Samples that take time back can make a node's sum less than that of one in it: as wide as its box
 * is drawn is what is in it, then.
 */
export function totals(trie, value, scale = 1) {
  const self = new Float64Array(trie.count), total = new Float64Array(trie.count), width = new Float64Array(trie.count);
  for (let s = 0; s < value.length; s++) if (value[s] !== 0) self[trie.leaf[s]] += value[s] * scale;
  total.set(self);
  for (let n = trie.count - 1; n > 0; n--) {
    total[trie.parent[n]] += total[n];
    width[n] = Math.max(width[n], total[n]);
    width[trie.parent[n]] += width[n];
  }
  width[0] = Math.max(width[0], total[0]);
  return { self, total, width };
}

/** Sums by label: {self, total}, where a function that recurs counts once. */
export function byLabel(trie, { self, total }) {
  const count = trie.labels.length, selfOf = new Float64Array(count), totalOf = new Float64Array(count);
  const open = new Int32Array(count), stack = [];
  for (let n = 1; n < trie.count;) {
    while (stack.length && trie.end[stack[stack.length - 1]] <= n) open[trie.label[stack.pop()]]--;
    if (total[n] === 0) { // whatever is inside cancels out, or is nothing
      n = trie.end[n];
      continue;
    }
    const label = trie.label[n];
    selfOf[label] += self[n];
    if (open[label]++ === 0) totalOf[label] += total[n];
    stack.push(n);
    n++;
  }
  return { self: selfOf, total: totalOf };
}

/** Sums by the line of the program's own code that waited: Map(frame → value). */
export function byOwnLine({ samples }, value) {
  const sums = new Map();
  for (let s = 0; s < value.length; s++) {
    if (value[s] !== 0) sums.set(samples.own[s], (sums.get(samples.own[s]) || 0) + value[s]);
  }
  return sums;
}

/** By what a label is found. */
function searchText({ name, file, line }) {
  return `${name} ${file}${line ? `:${line}` : ''}`;
}

/** The pattern that matches this label alone; without a line, each of its function. */
export function exactly(label) {
  const text = searchText(label).replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return `/^${text}${label.line ? '' : '(:\\d+)?'}$/`;
}

/** Marks the labels in which the pattern is, or all that it matches as /a regular expression/. Null: no pattern. */
export function search(trie, pattern) {
  if (!pattern) return null;
  let test;
  const regex = /^\/(.+)\/$/s.exec(pattern);
  if (regex) {
    try {
      const compiled = new RegExp(regex[1], 'i');
      test = (text) => compiled.test(text);
    } catch {
      return new Uint8Array(trie.labels.length);
    }
  } else {
    const wanted = pattern.toLowerCase();
    test = (text) => text.toLowerCase().includes(wanted);
  }
  return Uint8Array.from(trie.labels, (label) => (test(searchText(label)) ? 1 : 0));
}

/** How much is in stacks with a marked label. */
export function matched(trie, total, marks) {
  let sum = 0;
  for (let n = 1; n < trie.count;) {
    if (total[n] === 0) n = trie.end[n];
    else if (marks[trie.label[n]]) {
      sum += total[n];
      n = trie.end[n];
    } else n++;
  }
  return sum;
}
