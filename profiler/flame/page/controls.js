// Switches, filters and the search field.

import { el } from './dom.js';
import { duration } from './format.js';
import { BLOCKED, hasCpuOutside, NONE } from './calc.js';
import { DIMENSIONS } from './data.js';

const TYPE_NAMES = { delay: 'Blocked time', cpu: 'CPU', contentions: 'Number of waits', recovery: 'Device recovery' };
const TYPE_MEANINGS = { recovery: "Time of kernel threads that brought a device back" };
const NAMES = { class: 'ai_tag', stall: 'stall', device: 'device', waker: 'woken by', inherited: 'inherited', process: 'process', host: 'host', side: 'profile' };

function choices(name, options, chosen, choose) {
  return el('span', { class: 'choice', role: 'group', 'aria-label': name }, options.map(([key, text, title, disabled]) =>
    el('button', { type: 'button', title, disabled, 'aria-pressed': String(chosen === key), onclick: () => choose(key) }, text)));
}

function textOf(key, text) {
  if (key === 'side') return text === 'base' ? 'base' : 'this one';
  if (key === 'stall' && text === NONE) return 'none: on the CPU outside of stalls';
  return text === '' ? `[no ${NAMES[key]}]` : text;
}

/** The options of a dimension with what each would leave, the heaviest first. Of two profiles one is chosen always, as their ledgers are two. */
function filterSelect(data, key, filter, options, unit, choose) {
  const found = [...options].map(([text, value]) => [data.strings[text], value]).sort((a, b) => b[1] - a[1]);
  if (key === 'side') found.push(...data.sides.filter(({ side }) => !found.some(([text]) => text === side)).map(({ side }) => [side, 0]));
  const wanted = filter[key];
  if (wanted !== undefined && wanted !== BLOCKED && !found.some(([text]) => text === wanted)) found.push([wanted, 0]);
  if (found.length < 2 && wanted === undefined && key !== 'stall' && key !== 'class') return null;
  const items = found.map(([text, value]) => el('option', { value: `=${text}`, selected: text === wanted }, `${textOf(key, text)} (${unit(value)})`));
  if (key === 'stall') items.push(el('option', { value: `=${BLOCKED}`, selected: wanted === BLOCKED }, 'blocked: all that is no stall'));
  return el('label', {}, NAMES[key], el('select', { class: wanted === undefined ? '' : 'set', 'data-filter': key, onchange: (event) =>
    choose({ [key]: event.target.value ? event.target.value.slice(1) : undefined }) },
  key === 'side' ? null : el('option', { value: '', selected: wanted === undefined }, key === 'stall' && !found.some(([text]) => text === NONE) ? 'all stalls' : 'all'), items));
}

/** A selected time, as the axis of the timeline has it: from the run's begin on. */
function rangeText([from, to], begin) {
  return `${duration(Math.max(0, from - begin) * 1e6)} – ${duration(Math.max(0, to - begin) * 1e6)} of the run ✕`;
}

/** The filters of one side of a comparison, or the only ones. begin: of that side's run, in ms since the data's start. */
export function drawFilters(data, name, filter, options, unit, begin, choose, clear, isSearched) {
  const isSet = Object.keys(filter).length > 0 || isSearched;
  return el('div', { class: 'filters', role: 'group', 'aria-label': name || 'filters' }, name ? el('b', { class: 'side' }, name) : null,
    DIMENSIONS.map((key) => filterSelect(data, key, filter, options[key], unit, choose)),
    filter.range ? el('button', { type: 'button', class: 'tag', title: 'Take the whole run', onclick: () => choose({ range: undefined }) },
      rangeText(filter.range, begin)) : null,
    isSet ? el('button', { type: 'button', title: 'Take all filters off (Backspace)', onclick: clear }, 'Clear') : null);
}

/** on: {set(changes), compare(), help()}. */
export function drawSwitches(data, state, on) {
  const meanings = { ...TYPE_MEANINGS, cpu: hasCpuOutside(data) ? 'Time on the CPU' : 'Time on the CPU inside of stalls' };
  const types = data.types.map(({ name, isEmpty }) => [name, TYPE_NAMES[name] || name,
    isEmpty ? 'There is none in this profile' : meanings[name], isEmpty]).sort((a, b) => (b[0] === 'delay') - (a[0] === 'delay') || (b[0] === 'cpu') - (a[0] === 'cpu'));
  return el('div', { class: 'switches' },
    choices('what is summed', types, state.type, (type) => on.set({ type })),
    choices('direction', [['icicle', 'Icicle', 'The outermost function on top (i)'], ['flame', 'Flame', 'The outermost function at the bottom (i)']], state.view,
      (view) => on.set({ view })),
    choices('boxes', [['lines', 'Lines', 'A box for each line (l)'], ['functions', 'Functions', 'A box for each function (l)']], state.by, (by) => on.set({ by, z: '' })),
    choices('native frames', [['0', 'Python folded', 'Where a stack has Python frames, leave out the C code below them, as stallprof top does (n)'],
      ['1', 'All frames', 'Show the C code below Python, too (n)']], state.native, (native) => on.set({ native, z: '' })),
    el('button', { type: 'button', id: 'compare', 'aria-pressed': String(Boolean(state.base)), title: 'Compare two filters, or two times of the run (c)', onclick: on.compare },
      'Compare'),
    el('button', { type: 'button', title: 'Keys, and what this page is made of (?)', onclick: on.help }, '?'));
}
