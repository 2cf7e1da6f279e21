// The profile's data, as flame_json.h says, in typed arrays.

export const DIMENSIONS = ['class', 'stall', 'device', 'waker', 'inherited', 'process', 'host', 'side'];

// Bits of a frame's kind (flame_data.h).
export const KERNEL = 0, PYTHON = 1, NATIVE = 2, KIND_MASK = 3, INLINED = 4, MODULE = 8, LIBRARY = 16;

/**
 * Fills the ends of slices that do not say theirs. Those of a recording are as long as its shortest that another follows: they begin with
 * the same fraction of a second, so that recordings of several hosts, or of other lengths, are not taken for slices of each other.
 */
function fillEnds(begin, end) {
  const sorted = [...new Set(begin)].filter((at) => at >= 0).sort((a, b) => a - b);
  const before = new Map(), shortest = new Map();
  for (const at of sorted) {
    const fraction = at % 1000;
    if (before.has(fraction)) shortest.set(fraction, Math.min(shortest.get(fraction) ?? Infinity, at - before.get(fraction)));
    before.set(fraction, at);
  }
  for (let i = 0; i < begin.length; i++) {
    if (begin[i] >= 0 && end[i] < 0) end[i] = begin[i] + (shortest.get(begin[i] % 1000) ?? 1000);
  }
}

function columns(table, keys) {
  const out = { count: table[keys[0]].length };
  for (const key of keys) out[key] = Int32Array.from(table[key]);
  return out;
}

/** With each node's parent, -1 where there is none. */
function nodesOf({ up, frame }) {
  const parent = new Int32Array(up.length);
  for (let i = 0; i < up.length; i++) parent[i] = up[i] ? i - up[i] : -1;
  return { count: up.length, parent, frame: Int32Array.from(frame) };
}

export function load(json) {
  const raw = JSON.parse(json);
  if (raw.format !== 1) throw new Error(`the data have format ${raw.format}, which this page does not know`);
  const samples = columns(raw.samples, ['node', 'own', 'slice', 'wait', ...DIMENSIONS]);
  samples.values = raw.samples.values.map((column) => Float64Array.from(column));
  const ledger = columns(raw.ledger, ['state', 'base', ...DIMENSIONS]);
  ledger.ns = Float64Array.from(raw.ledger.ns);
  const slices = { begin: Float64Array.from(raw.slices.begin), end: Float64Array.from(raw.slices.end) };
  fillEnds(slices.begin, slices.end);
  return {
    title: raw.title,
    stall: raw.stall ?? undefined, // what alone was written, if the program was told so
    tag: raw.tag ?? undefined,
    program: raw.program,
    startMs: raw.start_ms,
    types: raw.types.map(([name, unit], i) => ({ name, unit, isEmpty: samples.values[i].every((value) => value === 0) })),
    strings: raw.strings,
    frames: columns(raw.frames, ['name', 'file', 'line', 'kind']),
    nodes: nodesOf(raw.nodes),
    samples,
    slices,
    states: raw.states,
    ledger,
    steps: raw.steps.filter((step) => (raw.tag ?? step.name) === step.name), // where the ledger has a part of a class, they are of all of it
    sides: raw.sides,
    hasBase: raw.sides.some((side) => side.side === 'base'),
  };
}

/** The numbers of the texts that stand in a column, in no order. */
export function values(column) {
  return [...new Set(column)];
}
