// From the data and what was chosen to what is drawn. Each part is made anew only when that on which it depends changes.

import { byLabel, byOwnLine, matched, search, select, totals } from './calc.js';
import { derive } from './trie.js';
import { sumLedger } from './ledger.js';

/** Remembers the last result of a function by a text that says on what it depends. */
function remembered(make) {
  let key = null, value;
  return (newKey, ...args) => {
    if (key !== newKey) {
      value = make(...args);
      key = newKey;
    }
    return value;
  };
}

function seconds(data, filter) {
  if (filter.range) return (filter.range[1] - filter.range[0]) / 1000;
  const side = data.sides.find((each) => each.side === (filter.side || '')) || data.sides[0];
  return side.covered_ns / 1e9;
}

/** By what a side's values are divided, so that two sides can be compared. */
function scaleOf(data, norm, filter, sum) {
  if (norm === 'share') return sum ? 1 / sum : 0;
  const length = seconds(data, filter);
  return norm === 'second' && length ? 1 / length : 1;
}

/** Widths and changes of two sides: {total, self, width: means of both, change: -1 … 1, now, was}. */
function compareSides(trie, now, was) {
  const total = new Float64Array(trie.count), self = new Float64Array(trie.count), width = new Float64Array(trie.count), change = new Float32Array(trie.count);
  for (let n = 0; n < trie.count; n++) {
    const a = now.total[n], b = was.total[n], most = Math.max(Math.abs(a), Math.abs(b));
    total[n] = (Math.max(a, 0) + Math.max(b, 0)) / 2;
    width[n] = (now.width[n] + was.width[n]) / 2;
    self[n] = (now.self[n] + was.self[n]) / 2;
    change[n] = most ? (a - b) / most : 0;
  }
  return { total, self, width, change, now: now.total, was: was.total };
}

export class Model {
  constructor(data) {
    this.data = data;
    this.trieOf = remembered(derive);
    this.selectionOf = remembered(select);
    this.baseOf = remembered(select);
    this.sumsOf = remembered((...args) => this.sumSides(...args));
    this.labelsOf = remembered((trie, sums) => byLabel(trie, sums));
    this.baseLabelsOf = remembered((trie, sums) => byLabel(trie, sums));
    this.ownOf = remembered(byOwnLine);
    this.baseOwnOf = remembered(byOwnLine);
    this.marksOf = remembered(search);
    this.ledgerOf = remembered(sumLedger);
  }

  sumSides(trie, selection, base, scales) {
    const now = totals(trie, selection.value, scales[0]);
    if (!base) return { ...now, now, change: null };
    const was = totals(trie, base.value, scales[1]);
    return { ...compareSides(trie, now, was), nowSums: now, wasSums: was };
  }

  type(state) {
    const { types } = this.data, index = types.findIndex((type) => type.name === state.type);
    return index < 0 ? Math.max(0, types.findIndex((type) => type.name === 'delay')) : index;
  }

  /** All that is drawn of a state. */
  of(state) {
    const { data } = this, type = this.type(state), views = `${state.native} ${state.by}`;
    const trie = this.trieOf(views, data, { native: state.native === '1', byLine: state.by === 'lines' });
    const filterKey = `${type} ${JSON.stringify(state.filter)}`;
    const baseKey = state.base ? `${type} ${JSON.stringify(state.base)}` : '';
    const selection = this.selectionOf(filterKey, data, state.filter, type);
    const base = state.base ? this.baseOf(baseKey, data, state.base, type) : null;
    const scales = base ? [scaleOf(data, state.norm, state.filter, selection.sum), scaleOf(data, state.norm, state.base, base.sum)] : [1, 1];
    const sumsKey = `${views}|${filterKey}|${baseKey}|${base ? state.norm : ''}`;
    const sums = this.sumsOf(sumsKey, trie, selection, base, scales);
    const marks = this.marksOf(`${views} ${state.q}`, trie, state.q);
    const zoom = Number(state.z) > 0 && Number(state.z) < trie.count && sums.width[Number(state.z)] > 0 ? Number(state.z) : 0;
    const ledgerFilter = { process: state.filter.process, host: state.filter.host };
    return {
      trie, type, selection, base, scales, sums, marks, zoom, sumsKey,
      matched: marks ? (base ? [sums.now, sums.was] : [sums.total]).map((total) => matched(trie, total, marks)) : null, // of each side
      ledger: this.ledgerOf(JSON.stringify([ledgerFilter, state.filter.side]), data, ledgerFilter, state.filter.side || ''),
    };
  }

  /** What only the table beside the graph needs. */
  tableOf(state, drawn) {
    const { trie, sums, selection, base, sumsKey, scales } = drawn, isOwn = state.tab === 'own';
    const scaled = (map, scale) => (scale === 1 ? map : new Map([...map].map(([key, value]) => [key, value * scale])));
    return {
      data: this.data, trie, tab: state.tab,
      own: isOwn ? scaled(this.ownOf(sumsKey, this.data, selection.value), scales[0]) : null,
      labels: isOwn ? null : this.labelsOf(sumsKey, trie, base ? sums.nowSums : sums),
      baseOwn: isOwn && base ? scaled(this.baseOwnOf(sumsKey, this.data, base.value), scales[1]) : null,
      baseLabels: !isOwn && base ? this.baseLabelsOf(sumsKey, trie, sums.wasSums) : null,
    };
  }
}
