// The table beside the graph: the program's own lines that wait, or all functions, with what is in them and below them.

import { el } from './dom.js';
import { percent } from './format.js';
import { kindOf, KIND_NAMES } from './colors.js';
import { fullText } from './graph.js';

const ROWS = 200;

function labelOf(data, frame) {
  const { frames, strings } = data;
  return { name: strings[frames.name[frame]], file: strings[frames.file[frame]], line: frames.line[frame], kind: frames.kind[frame] };
}

/** Rows {label, self, total, before: of the base} of the chosen table, the heaviest first. */
export function rowsOf({ data, trie, tab, own, labels, baseOwn, baseLabels, sort }) {
  let rows;
  if (tab === 'own') {
    const frames = new Set([...own.keys(), ...(baseOwn ? baseOwn.keys() : [])]);
    rows = [...frames].map((frame) => ({ label: labelOf(data, frame), self: own.get(frame) || 0, total: own.get(frame) || 0, before: baseOwn?.get(frame) || 0 }));
  } else {
    rows = trie.labels.map((label, i) => ({ label, self: labels.self[i], total: labels.total[i], before: baseLabels ? baseLabels.total[i] : 0 }))
      .filter((row) => row.total !== 0 || row.before !== 0);
  }
  const keys = new Map([['self', (row) => row.self], ['total', (row) => row.total], ['change', (row) => Math.abs(row.total - row.before)]]);
  const key = keys.get(sort) || keys.get('total');
  return rows.sort((a, b) => key(b) - key(a) || b.total - a.total || (a.label.name < b.label.name ? -1 : 1));
}

function head(name, sort, chosen, on) {
  return el('th', { scope: 'col', 'aria-sort': sort === chosen ? 'descending' : 'none' },
    el('button', { type: 'button', onclick: () => on.sort(sort) }, name, sort === chosen ? ' ▾' : ''));
}

/** The line first where that is what one looks for, so that it is not what is cut. */
function nameCell(label, isOwn, on) {
  const kind = kindOf(label.kind), base = label.file.slice(label.file.lastIndexOf('/') + 1);
  const text = isOwn && label.line ? [el('b', {}, `${base}:${label.line}`), ` ${label.name}`] : fullText(label);
  return el('td', { class: 'name' }, el('i', { class: `kind ${kind}`, title: KIND_NAMES[kind] }),
    el('button', { type: 'button', title: `${label.name}\n${label.file}${label.line ? `:${label.line}` : ''}`, onclick: () => on.find(label) }, text));
}

/** model: rowsOf()'s and {sum, unit, compare, sort}; on: {tab(name), sort(key), find(label)}. */
export function drawTable(model, on) {
  const rows = rowsOf(model), { unit, sum, compare, tab, sort } = model;
  const tabs = el('div', { class: 'tabs', role: 'tablist' }, [['own', 'Own lines that wait'], ['functions', 'All functions']].map(([key, name]) =>
    el('button', { type: 'button', role: 'tab', 'aria-selected': String(tab === key), onclick: () => on.tab(key) }, name)));
  if (!rows.length) return [tabs, el('p', { class: 'empty' }, 'Nothing passes the filter.')];
  const share = (value) => percent(value, sum);
  const heads = [el('th', { scope: 'col' }, tab === 'own' ? 'line' : 'function'), tab === 'own' ? null : head('self', 'self', sort, on),
    head(tab === 'own' ? 'time' : 'total', 'total', sort, on), compare ? head('change', 'change', sort, on) : el('th', { scope: 'col' }, 'share')];
  const body = rows.slice(0, ROWS).map(({ label, self, total, before }) => el('tr', {}, nameCell(label, tab === 'own', on),
    tab === 'own' ? null : el('td', {}, self ? unit(self) : '–'), el('td', {}, unit(total)),
    compare ? el('td', { class: total > before ? 'more' : 'less' }, `${total > before ? '+' : ''}${compare(total - before)}`)
      : el('td', { style: `--share:${sum ? Math.min(100, Math.max(0, 100 * total / sum)).toFixed(1) : 0}%`, class: 'share' }, share(total))));
  return [tabs, el('div', { class: 'rows' }, el('table', {}, el('thead', {}, el('tr', {}, heads)), el('tbody', {}, body))),
    rows.length > ROWS ? el('p', { class: 'note' }, `The first ${ROWS} of ${rows.length}.`) : null];
}
