// The graph: boxes on a canvas. Only boxes that are wide enough to be seen are visited, so that the number of stacks does not
// matter.

import { scaleLinear } from 'd3-scale';
import { LIBRARY } from './data.js';
import { changeColor, dimmed, kindOf, palette, textOn } from './colors.js';

const ROW = 19, NARROWEST = 0.4, PADDING = 4, FONT = '12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';

export class Graph {
  /** on: {zoom(node), hover(node or -1, event), describe(node) → text}. */
  constructor(canvas, on) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
    this.on = on;
    this.boxes = []; // what was drawn, by row: [{node, x, width}]
    this.focus = -1;
    this.model = null;
    canvas.addEventListener('mousemove', (event) => this.point(event));
    canvas.addEventListener('mouseleave', (event) => on.hover(-1, event));
    canvas.addEventListener('click', (event) => {
      const node = this.nodeAt(event);
      if (node >= 0) {
        this.focus = node;
        on.zoom(node);
      }
    });
  }

  /** {trie, sizes: of each node, zoom, flame, marks, change: null or −1 … 1 of each node}. */
  show(model) {
    if (this.model?.trie !== model.trie) this.focus = -1; // its nodes are others
    this.model = model;
    if (this.focus >= model.trie.count || model.sizes[this.focus] <= 0) this.focus = -1;
    this.draw();
  }

  path(node) {
    const path = [];
    for (let at = node; at > 0; at = this.model.trie.parent[at]) path.unshift(at);
    return [0, ...path];
  }

  /** Calls visit(node, x, width, row) for each box that can be seen: the path to the zoomed one, and what is in that. */
  visit(width, visit) {
    const { trie, sizes, zoom } = this.model, path = this.path(zoom);
    if (!(sizes[zoom] > 0)) return 0;
    path.slice(0, -1).forEach((node, row) => visit(node, 0, width, row));
    const scale = scaleLinear([0, sizes[zoom]], [0, width]), top = path.length - 1;
    let deepest = top;
    visit(zoom, 0, width, top);
    const stack = [zoom], from = [0]; // open nodes, and where the next child of each begins
    for (let n = zoom + 1; n < trie.end[zoom];) {
      while (trie.end[stack[stack.length - 1]] <= n) {
        stack.pop();
        from.pop();
      }
      const size = sizes[n], level = stack.length - 1;
      if (size <= 0) {
        n = trie.end[n];
        continue;
      }
      const x = scale(from[level]), wide = scale(size);
      from[level] += size;
      if (wide < NARROWEST) {
        n = trie.end[n];
        continue;
      }
      const row = top + trie.depth[n] - trie.depth[zoom];
      visit(n, x, wide, row);
      if (row > deepest) deepest = row;
      stack.push(n);
      from.push(from[level] - size);
      n++;
    }
    return deepest + 1;
  }

  draw() {
    if (!this.model) return;
    const width = this.canvas.parentElement.clientWidth, ratio = window.devicePixelRatio || 1;
    const rows = [];
    const depth = Math.max(1, this.visit(width, (node, x, wide, row) => {
      (rows[row] = rows[row] || []).push({ node, x, width: wide });
    }));
    const height = depth * ROW + 2;
    this.rows = depth;
    this.boxes = rows;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const context = this.context, colors = palette();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colors.back;
    context.fillRect(0, 0, width, height);
    context.font = FONT;
    context.textBaseline = 'middle';
    this.glyph = this.glyph || context.measureText('MMMMMMMMMM').width / 10;
    rows.forEach((boxes, row) => boxes.forEach((box) => this.drawBox(box, row, colors)));
  }

  y(row) {
    return this.model.flame ? (this.rows - 1 - row) * ROW : row * ROW;
  }

  drawBox({ node, x, width }, row, colors) {
    const { trie, marks, change, zoom } = this.model, context = this.context, y = this.y(row);
    const label = node ? trie.labels[trie.label[node]] : null;
    const isMarked = marks && label && marks[trie.label[node]], isFaded = marks && !isMarked;
    let fill = label ? colors[kindOf(label.kind)] : colors.faded;
    if (change) fill = changeColor(change[node], colors);
    if (isFaded) fill = colors.faded;
    if (trie.depth[node] < trie.depth[zoom]) fill = dimmed(fill, colors);
    context.fillStyle = fill;
    context.fillRect(x, y, Math.max(width - (width > 2 ? 1 : 0), 0.5), ROW - 1);
    if (isMarked && width > 3) {
      context.fillStyle = colors.match;
      context.fillRect(x, y + ROW - 4, width - 1, 3);
    }
    if (node === this.focus) {
      context.strokeStyle = colors.focus;
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1, Math.max(width - 3, 1), ROW - 3);
    }
    if (width > 3 * this.glyph + PADDING) {
      context.fillStyle = isFaded ? colors.fadedText : textOn(fill);
      context.font = label && !(label.kind & LIBRARY) && kindOf(label.kind) === 'python' ? `bold ${FONT}` : FONT;
      context.fillText(this.fit(label ? boxText(label) : this.model.rootText, width), x + PADDING, y + ROW / 2);
    }
  }

  fit(text, width) {
    const room = Math.floor((width - 2 * PADDING) / this.glyph);
    return text.length <= room ? text : `${text.slice(0, Math.max(room - 1, 1))}…`;
  }

  nodeAt(event) {
    const bounds = this.canvas.getBoundingClientRect(), x = event.clientX - bounds.left;
    const line = Math.floor((event.clientY - bounds.top) / ROW), row = this.model?.flame ? this.rows - 1 - line : line;
    const box = (this.boxes[row] || []).find((each) => x >= each.x && x < each.x + each.width);
    return box ? box.node : -1;
  }

  point(event) {
    const node = this.nodeAt(event);
    this.canvas.style.cursor = node >= 0 ? 'pointer' : 'default';
    this.on.hover(node, event);
  }

  /** Moves the focus by an arrow key: inward, outward, to the box beside. */
  move(key) {
    const rowOf = (node) => this.boxes.findIndex((boxes) => boxes && boxes.some((box) => box.node === node));
    const from = this.focus >= 0 && rowOf(this.focus) >= 0 ? this.focus : -1;
    if (from < 0) {
      this.focus = this.model.zoom;
    } else {
      const row = rowOf(from), flame = this.model.flame;
      const inward = flame ? 'ArrowUp' : 'ArrowDown', outward = flame ? 'ArrowDown' : 'ArrowUp';
      const at = this.boxes[row].findIndex((box) => box.node === from);
      if (key === outward && row > 0) this.focus = this.model.trie.parent[from];
      else if (key === inward) this.focus = this.widestInside(from, row) ?? from;
      else if (key === 'ArrowLeft') this.focus = (this.boxes[row][at - 1] || this.boxes[row][at]).node;
      else if (key === 'ArrowRight') this.focus = (this.boxes[row][at + 1] || this.boxes[row][at]).node;
    }
    this.draw();
    return this.focus;
  }

  widestInside(node, row) {
    const inside = (this.boxes[row + 1] || []).filter((box) => this.model.trie.parent[box.node] === node);
    return inside.reduce((widest, box) => (!widest || box.width > widest.width ? box : widest), null)?.node;
  }

  /** Where the focused box is, for its tooltip: {x, y} in the window. */
  focusPoint() {
    const row = this.boxes.findIndex((boxes) => boxes && boxes.some((box) => box.node === this.focus));
    if (row < 0) return null;
    const box = this.boxes[row].find((each) => each.node === this.focus), bounds = this.canvas.getBoundingClientRect();
    return { clientX: bounds.left + box.x + Math.min(box.width / 2, 200), clientY: bounds.top + this.y(row) + ROW };
  }
}

export function boxText({ name, file, line }) {
  const base = file.slice(file.lastIndexOf('/') + 1);
  return line ? `${name}  ${base}:${line}` : name;
}

/** For sentences and tables, where the name is cut last. */
export function fullText({ name, file, line }) {
  if (!file) return name;
  return `${name} ${file.slice(file.lastIndexOf('/') + 1)}${line ? `:${line}` : ''}`;
}
