// Colours that people who confuse some can tell apart (after Okabe and Ito), for light and dark pages.

import { INLINED, KERNEL, KIND_MASK, MODULE, PYTHON } from './data.js';

export const KINDS = ['kernel', 'module', 'native', 'inlined', 'python'];
export const KIND_NAMES = { kernel: 'kernel', module: 'kernel module', native: 'native', inlined: 'inlined', python: 'Python' };

const LIGHT = {
  kernel: '#f0b54a', module: '#e58c5a', native: '#7fcdb0', inlined: '#e6dc7c', python: '#8ac9f2', text: '#14181d', faded: '#e4e6e9',
  fadedText: '#7b828b', back: '#ffffff', focus: '#14181d', match: '#c2359a', less: [33, 102, 172], more: [196, 98, 16], same: [226, 228, 231],
};
const DARK = {
  kernel: '#a9771a', module: '#a8562a', native: '#2f7d62', inlined: '#807727', python: '#2f74a3', text: '#f3f5f7', faded: '#2b3036',
  fadedText: '#8b939c', back: '#14171b', focus: '#ffffff', match: '#ff7ad9', less: [74, 144, 217], more: [217, 121, 38], same: [58, 63, 70],
};

const dark = window.matchMedia('(prefers-color-scheme: dark)');

export function palette() {
  return dark.matches ? DARK : LIGHT;
}

export function onSchemeChange(listener) {
  dark.addEventListener('change', listener);
}

export function kindOf(kind) {
  if (kind & MODULE) return 'module';
  if (kind & INLINED) return 'inlined';
  if ((kind & KIND_MASK) === KERNEL) return 'kernel';
  return (kind & KIND_MASK) === PYTHON ? 'python' : 'native';
}

/** From "less" by "same" to "more"; `change` is -1 … 1. */
export function changeColor(change, colors) {
  const to = change < 0 ? colors.less : colors.more, part = Math.min(1, Math.abs(change));
  return `rgb(${colors.same.map((from, i) => Math.round(from + (to[i] - from) * part)).join(',')})`;
}

/** Of lanes and classes: each its own, in the order of their first use. */
const SERIES_LIGHT = ['#0072b2', '#d55e00', '#009e73', '#a05195', '#b58900', '#56b4e9', '#7a5230', '#777777'];
const SERIES_DARK = ['#4aa3df', '#f08a3c', '#2fbf94', '#cf87c4', '#e0b73a', '#8fd0f5', '#b98a63', '#9aa0a6'];

export function series(index) {
  const colors = dark.matches ? SERIES_DARK : SERIES_LIGHT;
  return colors[index % colors.length];
}
