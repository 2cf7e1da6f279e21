// The page: what was chosen stands in the URL's fragment, and the page is drawn from that alone.

import { load } from './data.js';
import { el, replace, replaceChanged } from './dom.js';
import { amount, clock, count, duration, moment, percent, bytes } from './format.js';
import { format, parse } from './state.js';
import { exactly, hasCpuOutside, NONE, select, writtenAlone } from './calc.js';
import { Model } from './model.js';
import { Graph, fullText } from './graph.js';
import { Timeline, extent, hasSlices, lanesOf } from './timeline.js';
import { Tooltip } from './tooltip.js';
import { drawAnswer } from './answer.js';
import { drawFilters, drawSwitches } from './controls.js';
import { drawLedger, loopRows, NOBODY, RUNQUEUE, sumLedger, worstCause, worstOf } from './ledger.js';
import { drawTable } from './table.js';
import { KIND_NAMES, KINDS, onSchemeChange } from './colors.js';

const NORMS = [['total', 'Absolute', 'As measured'], ['share', 'Shares', 'Of what each side has in all'], ['second', 'Per second', 'Of the time that each side covers']];
const FIELDS = 'button, select, summary';
const KEYS = [
  ['/', 'search'], ['arrows', 'move in the graph'], ['Enter', 'zoom into the box'], ['Esc', 'zoom out, then end the search'],
  ['Backspace', 'take all filters off'], ['i', 'icicle or flame'], ['l', 'lines or functions'], ['n', 'fold or show native frames'],
  ['b', 'blocked time or CPU'], ['c', 'compare'], ['t', 'the other table'], ['?', 'this help'],
];

/** How long a side was recorded, and since when. */
function coveredText({ covered_ns: ns, windows, first_ms: first, files }) {
  const text = ns ? `${duration(ns)} recorded in ${count(windows)} window${windows === 1 ? '' : 's'}${first ? `, from ${moment(first)}` : ''}` : '';
  return files > 1 ? `${text} · ${count(files)} files` : text;
}

/** By what a button or field is known again when it has been drawn anew. */
function nameOf(node) {
  return `${node.closest('[role="group"]')?.getAttribute('aria-label') || ''} ${node.dataset.filter || node.title || node.textContent}`;
}

/** How much more or less now is than the base. */
function ratio(now, was) {
  if (!(was > 0)) return '';
  return now >= 3 * was ? ` (${(now / was).toFixed(1)} times the base)` : ` (${now >= was ? '+' : ''}${percent(now - was, was)})`;
}

class Page {
  constructor(root, data) {
    this.data = data;
    this.model = new Model(data);
    this.runs = new Map();
    this.build(root);
    this.graph = new Graph(this.canvas, {
      zoom: (node) => this.set({ z: node === this.drawn.zoom && node > 0 ? String(this.drawn.trie.parent[node] || '') : node ? String(node) : '' }),
      hover: (node, event) => this.hover(node, event),
    });
    this.timeline = new Timeline(this.timelineRoot, { range: (range) => this.choose({ range: range ? range.map(Math.round) : undefined }) });
    this.tooltip = new Tooltip(this.tip);
    this.listen();
  }

  build(root) {
    const data = this.data, side = data.sides.find((each) => each.side === ''), base = data.sides.find((each) => each.side === 'base');
    document.title = `${data.title}: stalls`;
    this.answer = el('ul', { class: 'answer', 'aria-live': 'polite' });
    this.ledger = el('section', { class: 'ledger-box', 'aria-label': 'Ledger by class of tags' });
    this.timelineRoot = el('section', { class: 'timeline', 'aria-label': 'Timeline of stalls' });
    this.switches = el('div', {});
    this.filters = el('div', { class: 'filter-rows' });
    this.searchField = el('input', {
      type: 'search', placeholder: 'Search function or file, or /regex/', 'aria-label': 'Search', id: 'search',
      oninput: () => this.set({ q: this.searchField.value }, true),
    });
    this.found = el('output', { class: 'found' });
    this.canvas = el('canvas', { tabIndex: 0, role: 'application', id: 'graph', 'aria-label': 'Flame graph; arrow keys move, Enter zooms' });
    this.focusText = el('p', { class: 'focus-text', 'aria-live': 'polite' });
    this.crumbs = el('div', { class: 'crumbs' });
    this.empty = el('p', { class: 'empty', id: 'nothing' });
    this.table = el('aside', { class: 'table', 'aria-label': 'Table' });
    this.devices = el('details', {}, el('summary', {}, 'Whose requests the devices served'));
    this.losses = el('details', {}, el('summary', {}, ''));
    this.tip = el('div', { class: 'tip', role: 'tooltip' });
    this.help = this.buildHelp();
    replace(root,
      el('header', {}, el('h1', {}, data.title), el('p', { class: 'covered' }, coveredText(side), base ? ` · compared with a base: ${coveredText(base)}` : '')),
      this.answer, this.ledger, this.timelineRoot, el('div', { class: 'controls' }, this.switches, this.filters),
      el('div', { class: 'columns' }, el('section', { class: 'graph', 'aria-label': 'Flame graph' },
        el('div', { class: 'bar' }, this.searchField, this.found, this.buildLegend()), this.crumbs, this.empty,
        el('div', { class: 'canvas' }, this.canvas), this.focusText), this.table),
      this.devices, this.losses, this.tip, this.help);
  }

  buildLegend() {
    this.legend = el('span', { class: 'legend' });
    return this.legend;
  }

  buildHelp() {
    return el('dialog', { id: 'help' }, el('h2', {}, 'Keys'), el('dl', {}, KEYS.map(([key, what]) => [el('dt', {}, el('kbd', {}, key)), el('dd', {}, what)])),
      el('p', {}, 'The address of this page holds all that you have chosen: whoever opens the same file with it sees the same.'),
      el('p', {}, 'A box is as wide as its share of the time, or as what is in it, where a part was taken back as it was of another cause. Times of stalls are scaled to the ledger, which is exact; those of waits that are no stalls are of the long ones alone.'),
      el('p', {}, 'A wait belongs to the slice of time in which it ended. Of one that is longer than its slice, a selected time has the part that lies in it, if all of the wait went by evenly.'),
      el('details', {}, el('summary', {}, `${this.data.program}; parts of others in this page`), el('pre', {}, document.getElementById('notices').textContent)),
      el('form', { method: 'dialog' }, el('button', {}, 'Close')));
  }

  // --- choosing ----------------------------------------------------------------------------------------------

  /** Changes what is chosen. A search is typed letter by letter: that is one entry of the history. */
  set(changes, isTyping) {
    this.state = { ...this.state, ...changes };
    const fragment = format(this.state);
    if (fragment !== location.hash) history[isTyping ? 'replaceState' : 'pushState'](null, '', fragment);
    this.draw();
  }

  choose(changes, isBase) {
    const filter = { ...(isBase ? this.state.base : this.state.filter) };
    for (const [key, value] of Object.entries(changes)) {
      if (value === undefined) delete filter[key];
      else filter[key] = value;
    }
    this.set(isBase ? { base: filter } : { filter });
  }

  /** A filter that all of a side passes: one of two profiles, or all there is. */
  nothing(side) {
    return this.data.hasBase ? { side } : {};
  }

  find(label) {
    const text = exactly(this.state.by === 'lines' ? label : { ...label, line: 0 });
    this.set({ q: this.state.q === text ? '' : text });
  }

  /** Another profile is of another time: what is selected of this one's is none of the base's. */
  toggleCompare() {
    const { filter, base } = this.state, { range, ...others } = filter;
    if (base) this.set({ base: null });
    else if (this.data.hasBase) this.set({ base: { ...others, side: 'base' }, filter: { ...filter, side: '' } });
    else this.set({ base: { ...filter } });
  }

  /** What `stallprof top` sums: delay, cpu or another, the first of which there is any. */
  firstType() {
    const names = this.data.types.filter((type) => !type.isEmpty).map((type) => type.name);
    return ['delay', 'cpu', ...names].find((name) => names.includes(name)) || 'delay';
  }

  /** What alone was written; else the worst cause; where the loop lost more to what is no stall, that; whichever there are samples of. */
  firstFilter(type) {
    if (this.data.stall !== undefined) return { stall: this.data.stall };
    const sums = sumLedger(this.data, {}, ''), cause = worstCause(sums), [row] = loopRows(this.data, sums, ''), [kind] = row ? worstOf(this.data, {}, sums, '', row) : [];
    const ofLoop = row && kind !== RUNQUEUE && !sums.causes.includes(kind) && !this.data.hasBase ? [{ class: row.name, stall: kind }] : [];
    const index = this.data.types.findIndex((each) => each.name === type);
    return [...ofLoop, ...(cause ? [{ stall: cause }] : [])].find((filter) => index >= 0 && select(this.data, filter, index).sum > 0) || {};
  }

  /** What the fragment says. With two profiles each filter is of one of them. */
  read() {
    const state = parse(location.hash), { filter, base } = state;
    return { ...state, filter: { ...this.nothing(''), ...filter }, base: base && { ...this.nothing('base'), ...base } };
  }

  /** With nothing chosen yet: the worst cause; with two profiles, both. */
  start() {
    this.state = this.read();
    if (location.hash.length > 1) return;
    const type = this.firstType();
    this.state = { ...this.state, type, filter: this.firstFilter(type) };
    if (this.data.hasBase) this.state = { ...this.state, base: { ...this.state.filter, side: 'base' }, filter: { ...this.state.filter, side: '' } };
    history.replaceState(null, '', format(this.state));
  }

  // --- drawing -----------------------------------------------------------------------------------------------

  unit() {
    const { unit } = this.data.types[this.drawn.type] || { unit: '' };
    return (value) => amount(value, unit);
  }

  /** Values of a comparison, which may be shares or per second. */
  sideUnit() {
    const unit = this.unit();
    if (!this.state.base || this.state.norm === 'total') return unit;
    if (this.state.norm === 'share') return (value) => `${(100 * value).toFixed(1)} %`;
    return (value) => `${unit(value)}/s`;
  }

  /** What each side of a comparison has, in words: the mean, by which boxes are as wide as they are, was never measured. */
  sidesText([now, was]) {
    const unit = this.sideUnit();
    return `now ${unit(now)}, base ${unit(was)}`;
  }

  /** A node's value and share, or its values. */
  nodeText(node) {
    const { sums, base } = this.drawn;
    return base ? this.sidesText([sums.now[node], sums.was[node]]) : `${this.sideUnit()(sums.total[node])}, ${percent(sums.total[node], sums.total[0])}`;
  }

  /** How much the search found. */
  foundText() {
    const { marks, matched, base, sums } = this.drawn;
    if (!marks) return '';
    return base ? `matches: ${this.sidesText(matched)}` : `${percent(matched[0], sums.total[0])} matches, ${this.sideUnit()(matched[0])}`;
  }

  draw() {
    this.keepFocus(() => this.drawAll());
  }

  /** Draws, and gives the focus to what had it, or where that is gone to what is in its place: an element that is drawn anew loses it. */
  keepFocus(draw) {
    const had = document.activeElement, parts = [this.answer, this.ledger, this.switches, this.filters, this.crumbs, this.table, this.devices, this.losses];
    const part = parts.find((each) => each.contains(had)), fields = () => [...part.querySelectorAll(FIELDS)], at = part ? fields().indexOf(had) : -1;
    draw();
    if (at < 0 || had.isConnected) return;
    const now = fields(), name = nameOf(had), again = now.find((each) => nameOf(each) === name) || now[Math.min(at, now.length - 1)] || this.canvas;
    again.focus({ preventScroll: !again.closest('.rows') }); // rows of the table are drawn anew from the first on
  }

  drawAll() {
    const begun = performance.now(), { data, state } = this;
    this.drawn = this.model.of(state);
    this.drawGraph();
    const afterGraph = performance.now();
    const drawn = this.drawn, side = state.filter.side || '', { lanes } = this.run(side);
    replace(this.ledger, drawLedger(data, state, drawn.ledger, (changes) => this.choose(changes)));
    this.timeline.show({ data, lanes, filter: state.filter, classes: drawn.ledger.rows.filter((row) => row.isPushed).map((row) => row.name), range: state.filter.range });
    this.drawControls();
    this.drawAnswer(side);
    this.drawTable();
    this.drawFoot(side);
    performance.measure('stallprof-draw', { start: begun, end: performance.now() });
    performance.measure('stallprof-graph', { start: begun, end: afterGraph });
  }

  /** A side's timeline: {lanes, span}. */
  run(side) {
    if (!this.runs.has(side)) {
      const lanes = lanesOf(this.data, side);
      this.runs.set(side, { lanes, span: extent(this.data, lanes) });
    }
    return this.runs.get(side);
  }

  drawGraph() {
    const { drawn, state } = this, unit = this.sideUnit(), sum = drawn.sums.total[0];
    const nothing = !(sum > 0);
    this.empty.hidden = !nothing;
    this.canvas.hidden = nothing;
    if (nothing) this.sayNothing();
    else {
      this.graph.show({
        trie: drawn.trie, sizes: drawn.sums.width, zoom: drawn.zoom, flame: state.view === 'flame', marks: drawn.marks, change: drawn.sums.change,
        rootText: drawn.base ? 'all: now and base' : `all: ${unit(sum)}`,
      });
    }
    if (this.graph.focus < 0) this.focusText.textContent = '';
    if (this.searchField.value !== state.q) this.searchField.value = state.q;
    this.found.textContent = this.foundText();
    replace(this.crumbs, drawn.zoom ? [el('button', { type: 'button', onclick: () => this.set({ z: '' }) }, '⤺ whole graph (Esc)'),
      ` zoomed into ${fullText(drawn.trie.labels[drawn.trie.label[drawn.zoom]])}: ${this.nodeText(drawn.zoom)}`] : null);
    replace(this.legend, drawn.base ? [el('i', { class: 'kind less' }), 'less than the base', el('i', { class: 'kind same' }), 'the same', el('i', { class: 'kind more' }), 'more']
      : KINDS.map((kind) => [el('i', { class: `kind ${kind}` }), KIND_NAMES[kind]]));
  }

  sayNothing() {
    const { filter, type } = this.state, has = this.data.samples.count > 0;
    const queued = has && filter.class !== undefined && filter.stall === undefined ? this.drawn.ledger.rows.find((row) => row.name === filter.class) : null;
    const alone = writtenAlone(this.data), those = alone ? ` The page has those of ${alone} alone.` : '';
    let text = has ? `No sample passes these filters.${those}` : 'This profile has no samples: no thread waited while it held a tag, or nothing was tagged.';
    if (has && type === 'cpu') text = `No CPU samples pass these filters${this.whereCpu(filter.stall)}.`;
    else if (queued && queued.ns.runqueue > 0) text = `No sample passes these filters: ${queued.name} waited ${duration(queued.ns.runqueue)} for a CPU (run queue), of which there are no stacks.`;
    else if (has && filter.stall === undefined && !Object.keys(filter).some((key) => key !== 'side')) text = `There are no stalls in this ${alone ? `page, which has the samples of ${alone} alone` : 'profile'}. Choose "blocked" as stall for waits that are none.`;
    this.empty.textContent = text;
  }

  /** Where samples of CPUs are to be found. */
  whereCpu(stall) {
    if (!hasCpuOutside(this.data)) return ': they are taken on the CPU inside of stalls alone';
    if (stall === undefined || !this.data.strings.includes(NONE)) return '';
    return stall === NONE ? '. Choose another stall for what ran during one' : `. Choose "${NONE}" as stall for what ran outside of stalls`;
  }

  drawControls() {
    const { data, state, drawn } = this, unit = this.unit(), begin = ({ side }) => this.run(side || '').span?.[0] ?? 0;
    replace(this.switches, drawSwitches(data, state, { set: (changes) => this.set(changes), compare: () => this.toggleCompare(), help: () => this.help.showModal() }));
    replace(this.filters, drawFilters(data, state.base ? 'now' : '', state.filter, drawn.selection.options, unit, begin(state.filter), (changes) => this.choose(changes),
      () => this.set({ filter: this.nothing(''), z: '', q: '' }), Boolean(state.q)),
      state.base ? drawFilters(data, 'base', state.base, drawn.base.options, unit, begin(state.base), (changes) => this.choose(changes, true), () => this.set({ base: this.nothing('base') })) : null,
      state.base ? this.drawCompared(unit) : null);
  }

  drawCompared(unit) {
    const { drawn, state } = this, now = drawn.selection.sum * drawn.scales[0], was = drawn.base.sum * drawn.scales[1], side = this.sideUnit();
    const change = state.norm === 'share' ? '' : `: ${now >= was ? '+' : ''}${side(now - was)}${ratio(now, was)}`;
    return el('div', { class: 'compared' }, el('span', { id: 'compared' }, `now ${unit(drawn.selection.sum)}, base ${unit(drawn.base.sum)}${change}`),
      el('span', { class: 'choice', role: 'group', 'aria-label': 'measure' }, NORMS.map(([norm, name, title]) =>
        el('button', { type: 'button', title, 'aria-pressed': String(state.norm === norm), onclick: () => this.set({ norm }) }, name))),
      el('button', { type: 'button', title: 'Make the filters of now those of the base', onclick: () => this.set({ base: { ...state.filter } }) }, 'Take now as base'),
      el('button', { type: 'button', title: 'Change sides', onclick: () => this.set({ base: state.filter, filter: state.base }) }, 'Swap'));
  }

  drawAnswer(side) {
    const { data, drawn, state } = this, { lanes, span } = this.run(side), type = data.types.findIndex((each) => each.name === 'contentions');
    const of = data.sides.find((each) => each.side === side) || data.sides[0];
    let waits = 0;
    if (type >= 0 && state.type === 'delay') {
      const { value } = drawn.selection;
      for (let s = 0; s < value.length; s++) if (value[s] !== 0) waits += data.samples.values[type][s];
    }
    replaceChanged(this.answer, drawAnswer({
      data, filter: state.filter, selection: drawn.selection, unit: this.unit(), sums: drawn.ledger, lanes, span, canCut: hasSlices(data),
      side, processes: of.processes, requests: of.requests, countOf: waits, isTime: state.type === 'delay', isCpu: state.type === 'cpu',
      choose: (changes) => this.choose(changes), find: (label) => this.find(label),
    }));
  }

  drawTable() {
    const { drawn, state } = this, unit = this.sideUnit(), sum = state.base ? drawn.sums.now?.[0] ?? drawn.sums.total[0] : drawn.sums.total[0];
    const model = { ...this.model.tableOf(state, drawn), sum, unit, compare: state.base ? unit : null, sort: state.sort };
    replace(this.table, drawTable(model, { tab: (tab) => this.set({ tab }), find: (label) => this.find(label), sort: (sort) => this.set({ sort }) }));
  }

  drawFoot(side) {
    const of = this.data.sides.find((each) => each.side === side) || this.data.sides[0];
    const rows = of.requests.filter((row) => row.ns).sort((a, b) => (a.device < b.device ? -1 : a.device > b.device ? 1 : b.ns - a.ns));
    this.devices.hidden = !rows.length;
    replace(this.devices, el('summary', {}, `Whose requests the devices served${this.state.filter.host === undefined ? '' : ', of all hosts'}`), el('table', { class: 'plain' },
      el('thead', {}, el('tr', {}, ['device', 'class', 'what', 'requests', 'data', 'mean', 'share of the device’s time'].map((text) => el('th', { scope: 'col' }, text)))),
      el('tbody', {}, rows.map((row) => el('tr', {}, el('td', {}, row.device), el('td', {}, row.class ?? NOBODY), el('td', {}, row.op + (row.writeback ? ' (by writeback)' : '')),
        el('td', {}, count(row.requests)), el('td', {}, bytes(row.bytes)), el('td', {}, duration(row.requests ? row.ns / row.requests : 0)),
        el('td', {}, percent(row.ns, rows.filter((each) => each.device === row.device).reduce((sum, each) => sum + each.ns, 0))))))));
    this.losses.hidden = !of.losses.length;
    replace(this.losses, el('summary', {}, `What was not seen: ${of.losses.length} note${of.losses.length === 1 ? '' : 's'}`), el('ul', {}, of.losses.map((text) => el('li', {}, text))));
  }

  // --- pointer and keys --------------------------------------------------------------------------------------

  facts(node) {
    const { drawn } = this, { trie, sums } = drawn;
    return {
      label: node ? trie.labels[trie.label[node]] : null, total: sums.total[node], self: sums.self[node], sum: sums.total[0],
      outer: sums.total[drawn.zoom], unit: this.sideUnit(), before: drawn.base ? { now: sums.now[node], was: sums.was[node] } : null,
    };
  }

  hover(node, event) {
    if (node < 0) this.tooltip.hide();
    else this.tooltip.show(this.facts(node), event);
  }

  move(key) {
    const node = this.graph.move(key), facts = this.facts(node), at = this.graph.focusPoint();
    this.focusText.textContent = `${facts.label ? fullText(facts.label) : 'all'}: ${this.nodeText(node)}`;
    if (at) this.tooltip.show(facts, at);
  }

  escape() {
    this.tooltip.hide();
    if (this.state.z) this.set({ z: '' });
    else if (this.state.q) this.set({ q: '' });
  }

  /** What each key does; true: it did something. */
  key(event) {
    const { state } = this, flip = (key, a, b, more) => () => this.set({ [key]: state[key] === a ? b : a, ...more });
    const actions = {
      '/': () => this.searchField.focus(), Escape: () => this.escape(), i: flip('view', 'icicle', 'flame'), l: flip('by', 'lines', 'functions', { z: '' }),
      n: flip('native', '0', '1', { z: '' }), b: flip('type', 'delay', 'cpu'), t: flip('tab', 'own', 'functions'), c: () => this.toggleCompare(),
      '?': () => this.help.showModal(), Backspace: () => this.set({ filter: this.nothing(''), z: '', q: '' }),
    };
    if (event.target === this.canvas && event.key.startsWith('Arrow')) this.move(event.key);
    else if (event.target === this.canvas && event.key === 'Enter' && this.graph.focus >= 0) this.set({ z: String(this.graph.focus || '') });
    else if (actions[event.key]) actions[event.key]();
    else return false;
    return true;
  }

  listen() {
    document.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || this.help.open) return;
      const isField = /^(INPUT|TEXTAREA)$/.test(event.target.tagName) || (event.target.tagName === 'SELECT' && event.key !== 'Backspace');
      if (isField && event.key === 'Escape') event.target.blur();
      if (isField && event.key !== 'Escape') return;
      if (this.key(event)) event.preventDefault();
    });
    const again = () => {
      const state = this.read();
      if (format(state) === format(this.state)) return;
      this.state = state;
      this.draw();
    };
    window.addEventListener('hashchange', again);
    window.addEventListener('popstate', again);
    let frame = 0;
    window.addEventListener('resize', () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => this.draw());
    });
    onSchemeChange(() => this.draw());
  }
}

function main() {
  const root = document.getElementById('page');
  try {
    const source = document.getElementById('data'), begun = performance.now(), data = load(source.textContent);
    performance.measure('stallprof-load', { start: begun, end: performance.now() });
    source.remove();
    const page = new Page(root, data);
    page.start();
    page.draw();
    requestAnimationFrame(() => performance.measure('stallprof-first-paint', { start: 0, end: performance.now() }));
  } catch (error) {
    replace(root, el('p', { class: 'empty' }, `The profile cannot be shown: ${error.message}`));
    throw error;
  }
}

main();
