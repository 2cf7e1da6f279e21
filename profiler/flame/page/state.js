// What the reader has chosen, all of it in the URL's fragment.

import { DIMENSIONS } from './data.js';

const DEFAULTS = { type: 'delay', view: 'icicle', by: 'lines', native: '0', q: '', z: '', tab: 'own', sort: 'total', norm: 'total' };
const FILTER = [...DIMENSIONS, 'range'];

/** "from-to": waits may have begun before the first window did, at a time below 0. */
function parseRange(text) {
  const found = /^(-?\d+)-(-?\d+)$/.exec(text || '');
  return found && Number(found[1]) < Number(found[2]) ? [Number(found[1]), Number(found[2])] : undefined;
}

function parseFilter(parameters, prefix) {
  const filter = {};
  for (const key of DIMENSIONS) if (parameters.has(prefix + key)) filter[key] = parameters.get(prefix + key);
  const range = parseRange(parameters.get(`${prefix}range`));
  if (range) filter.range = range;
  return filter;
}

/** {type, view, by, native, q, z, tab, sort, norm, filter, base: a filter to compare with, or null}. */
export function parse(fragment) {
  const parameters = new URLSearchParams(fragment.replace(/^#/, ''));
  const state = {};
  for (const [key, value] of Object.entries(DEFAULTS)) state[key] = parameters.get(key) ?? value;
  state.filter = parseFilter(parameters, '');
  state.base = parameters.has('compare') ? parseFilter(parameters, 'base.') : null;
  return state;
}

function putFilter(parameters, prefix, filter) {
  for (const key of FILTER) {
    if (filter[key] === undefined) continue;
    parameters.set(prefix + key, key === 'range' ? filter.range.map(Math.round).join('-') : filter[key]);
  }
}

export function format(state) {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(DEFAULTS)) if (state[key] !== value) parameters.set(key, state[key]);
  putFilter(parameters, '', state.filter);
  if (state.base) {
    parameters.set('compare', '1');
    putFilter(parameters, 'base.', state.base);
  }
  // A fragment of nothing would be taken for none: then the worst cause is chosen.
  return `#${parameters.toString() || 'all'}`;
}
