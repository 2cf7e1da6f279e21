// What is said of the box under the pointer, or of the one that the keyboard is on.

import { el, replace } from './dom.js';
import { percent } from './format.js';
import { kindOf, KIND_NAMES } from './colors.js';

export class Tooltip {
  constructor(root) {
    this.root = root;
    root.hidden = true;
  }

  hide() {
    this.root.hidden = true;
  }

  /** facts: {label or null, total, self, sum, outer: total of the zoomed box, unit, before: of the base or null}. */
  show(facts, { clientX, clientY }) {
    const { label, total, self, sum, outer, unit, before } = facts;
    const lines = [[`${unit(total)}`, `${percent(total, sum)} of what is shown`]];
    if (self && label) lines.push([unit(self), 'in itself']);
    if (outer !== sum && outer) lines.push([percent(total, outer), 'of the zoomed box']);
    if (before) {
      lines.length = 0;
      lines.push([unit(before.now), 'now'], [unit(before.was), 'in the base'],
        [`${before.now > before.was ? '+' : ''}${unit(before.now - before.was)}`, before.was ? `${percent(before.now - before.was, before.was)}` : 'new']);
    }
    replace(this.root, el('b', {}, label ? label.name : 'all'),
      label ? el('div', { class: 'where' }, `${label.file}${label.line ? `:${label.line}` : ''}`, el('span', {}, ` ${KIND_NAMES[kindOf(label.kind)]}`)) : null,
      el('table', {}, lines.map(([value, meaning]) => el('tr', {}, el('td', {}, value), el('td', {}, meaning)))));
    this.root.hidden = false;
    const width = this.root.offsetWidth, height = this.root.offsetHeight;
    const x = Math.min(clientX + 14, window.innerWidth - width - 8);
    const y = clientY + 18 + height > window.innerHeight ? clientY - height - 10 : clientY + 18;
    this.root.style.left = `${Math.max(4, x)}px`;
    this.root.style.top = `${Math.max(4, y)}px`;
  }
}
