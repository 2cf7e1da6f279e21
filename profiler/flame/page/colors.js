// Colours that people who confuse some can tell apart (after Okabe and Ito), for light and dark pages.

import { INLINED, KERNEL, KIND_MASK, MODULE, PYTHON } from './data.js';

export const KINDS = ['kernel', 'module', 'native', 'inlined', 'python'];
export const KIND_NAMES = { kernel: 'kernel', module: 'kernel module', native: 'native', inlined: 'inlined', python: 'Python' };

const LIGHT = {
  kernel: '#f0b54a', module: '#e58c5a', native: '#7fcdb0', inlined: '#e6dc7c', python: '#8ac9f2', text: '#14181d', faded: '#e4e6e9',
  fadedText: '#5c646d', back: '#ffffff', focus: '#14181d', match: '#c2359a', less: [33, 102, 172], more: [180, 88, 12], same: [226, 228, 231],
};
const DARK = {
  kernel: '#a9771a', module: '#a8562a', native: '#2f7d62', inlined: '#807727', python: '#2f74a3', text: '#f3f5f7', faded: '#2b3036',
  fadedText: '#939ba4', back: '#14171b', focus: '#ffffff', match: '#ff7ad9', less: [74, 144, 217], more: [217, 121, 38], same: [58, 63, 70],
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

function mix(from, to, part) {
  return `rgb(${from.map((each, i) => Math.round(each + (to[i] - each) * part)).join(',')})`;
}

/** From "less" by "same" to "more"; `change` is -1 … 1. */
export function changeColor(change, colors) {
  return mix(colors.same, change < 0 ? colors.less : colors.more, Math.min(1, Math.abs(change)));
}

/** [red, green, blue] of "#rrggbb" or "rgb(r,g,b)". */
function channels(color) {
  return color.startsWith('#') ? [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16)) : color.match(/\d+/g).map(Number);
}

/** Of the boxes around the zoomed one. */
export function dimmed(fill, colors) {
  return mix(channels(colors.back), channels(fill), 0.55);
}

/** Black or white, whichever stands out more from the fill: its contrast is 4.58 or more, whatever the fill (WCAG 2 wants 4.5). */
export function textOn(fill) {
  const [red, green, blue] = channels(fill).map((each) => (each <= 10 ? each / 255 / 12.92 : ((each / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? '#000000' : '#ffffff';
}

/** Of lanes and classes: each its own, in the order of their first use. */
const SERIES_LIGHT = ['#0072b2', '#d55e00', '#009e73', '#a05195', '#b58900', '#56b4e9', '#7a5230', '#777777'];
const SERIES_DARK = ['#4aa3df', '#f08a3c', '#2fbf94', '#cf87c4', '#e0b73a', '#8fd0f5', '#b98a63', '#9aa0a6'];

export function series(index) {
  const colors = dark.matches ? SERIES_DARK : SERIES_LIGHT;
  return colors[index % colors.length];
}
