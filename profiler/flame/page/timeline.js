// The timeline: a lane for each cause and device, and when each class of tags was active. A range can be selected.

import { scaleLinear } from 'd3-scale';
import { axisBottom } from 'd3-axis';
import { select as pick } from 'd3-selection';
import { brushX } from 'd3-brush';
import { clock, duration } from './format.js';
import { palette, series } from './colors.js';
import { BLOCKED, isFinerThanLanes, lanesHaveMore, writtenAlone } from './calc.js';

const LABELS = 150, RIGHT = 10, LANE = 24, STRIP = 11, AXIS = 22, LANES_SHOWN = 8;

/** Adds a lane's points to the columns of pixels that they cover. */
function rasterize(into, lane, x, width) {
  for (let i = 0; i < lane.begin.length; i++) {
    const from = x(lane.begin[i]), to = x(lane.begin[i] + lane.bucket_ms);
    const first = Math.max(0, Math.floor(from)), last = Math.min(width - 1, Math.ceil(to) - 1);
    const rate = lane.value[i] / 1e6 / lane.bucket_ms; // threads at a time
    for (let p = first; p <= last; p++) {
      const part = Math.min(to, p + 1) - Math.max(from, p);
      into[p] += rate * part;
    }
  }
}

/** Lanes by the samples' slices, for files without a timeline. */
function lanesOfSamples(data, side) {
  const delay = data.types.findIndex((type) => type.name === 'delay'), lanes = [], known = new Map();
  if (delay < 0) return lanes;
  const { samples, slices, strings } = data, value = samples.values[delay], wanted = strings.indexOf(side);
  for (let s = 0; s < samples.count; s++) {
    const slice = samples.slice[s];
    if (samples.side[s] !== wanted || slices.begin[slice] < 0 || !value[s]) continue;
    let at = known;
    for (const key of [samples.class[s], samples.stall[s], samples.device[s], samples.wait[s]]) {
      if (!at.has(key)) at.set(key, new Map());
      at = at.get(key);
    }
    at.set(slice, (at.get(slice) || 0) + value[s]);
  }
  const lane = (key, number, wait, sums) => [...new Set([...sums.keys()].map((slice) => slices.end[slice] - slices.begin[slice]))].map((bucket) => {
    const found = [...sums].filter(([slice]) => slices.end[slice] - slices.begin[slice] === bucket);
    return {
      kind: wait ? BLOCKED : 'stall', class: strings[key], name: strings[number[0]], device: strings[number[1]], bucket_ms: bucket,
      begin: found.map(([slice]) => slices.begin[slice]), value: found.map(([, sum]) => sum),
    };
  });
  for (const [ofClass, stalls] of known) {
    for (const [stall, devices] of stalls) {
      for (const [device, waits] of devices) for (const [wait, sums] of waits) lanes.push(...lane(ofClass, [stall, device], wait, sums));
    }
  }
  return lanes;
}

export function lanesOf(data, side) {
  const said = data.sides.find((each) => each.side === side)?.lanes || [];
  return said.length ? said : lanesOfSamples(data, side);
}

/** The run's begin and end, in ms since the data's start; null: no times are known. */
export function extent(data, lanes) {
  let begin = Infinity, end = -Infinity;
  for (const lane of lanes) {
    for (const at of lane.begin) {
      begin = Math.min(begin, at);
      end = Math.max(end, at + lane.bucket_ms);
    }
  }
  return end > begin ? [begin, end] : null;
}

/** Whether the graph can be cut by time: the samples are of more than one slice. */
export function hasSlices(data) {
  return new Set(data.slices.begin.filter((at) => at >= 0)).size > 1;
}

/** Lanes of the same cause and device are one, of the classes that the filter leaves; the heaviest first. */
function causeLanes(lanes, filter) {
  const found = new Map(), wantsBlocked = filter.stall === BLOCKED;
  for (const lane of lanes) {
    if (lane.kind !== 'stall' && lane.kind !== BLOCKED) continue;
    if (filter.class !== undefined && lane.class !== filter.class) continue;
    if (filter.device !== undefined && lane.device !== filter.device) continue;
    const isChosen = wantsBlocked ? lane.kind === BLOCKED : lane.name === filter.stall;
    if (lane.kind === BLOCKED && !isChosen) continue;
    const name = lane.device ? `${lane.name} ${lane.device}` : lane.name;
    const row = found.get(name) || found.set(name, { name, stall: lane.name, device: lane.device, sum: 0, isChosen, lanes: [] }).get(name);
    row.lanes.push(lane);
    row.sum += lane.value.reduce((sum, value) => sum + value, 0);
  }
  return [...found.values()].sort((a, b) => b.isChosen - a.isChosen || b.sum - a.sum).slice(0, LANES_SHOWN);
}

/** When threads of each class did or waited for anything; the classes of `order`. */
function classStrips(lanes, order) {
  return order.map((name) => ({ name, lanes: lanes.filter((lane) => lane.class === name && ['oncpu', 'stall', 'runqueue'].includes(lane.kind)) }))
    .filter((strip) => strip.lanes.length);
}

export class Timeline {
  /** on: {range([begin, end] or null), choose(filter)}. */
  constructor(root, on) {
    this.root = root;
    this.on = on;
    this.canvas = document.createElement('canvas');
    this.canvas.setAttribute('aria-hidden', 'true');
    this.svg = pick(document.createElementNS('http://www.w3.org/2000/svg', 'svg')).attr('class', 'brush');
    this.note = document.createElement('p');
    this.note.className = 'note';
    root.append(this.canvas, this.svg.node(), this.note);
    this.brush = brushX().on('end', (event) => this.brushed(event));
  }

  brushed(event) {
    if (!event.sourceEvent) return;
    const range = event.selection ? event.selection.map((x) => this.x.invert(x - LABELS)) : null;
    this.on.range(range ? this.snap(range) : null);
  }

  /** To the borders of slices, as the graph knows no narrower times. */
  snap([begin, end]) {
    const { slices } = this.model.data;
    let from = Infinity, to = -Infinity;
    for (let i = 0; i < slices.begin.length; i++) {
      const middle = (slices.begin[i] + slices.end[i]) / 2;
      if (slices.begin[i] < 0 || middle < begin || middle > end) continue;
      from = Math.min(from, slices.begin[i]);
      to = Math.max(to, slices.end[i]);
    }
    return to > from ? [from, to] : [begin, end];
  }

  /** {data, lanes, filter, classes: names in the order of their strips, range}. */
  show(model) {
    this.model = model;
    this.draw();
  }

  draw() {
    const { data, lanes, filter, classes, range } = this.model, span = extent(data, lanes);
    this.root.classList.toggle('without', !span);
    if (!span) {
      this.note.textContent = 'When it was is not known: these files have neither a timeline nor a time.';
      return;
    }
    const width = Math.max(200, this.root.clientWidth), plot = width - LABELS - RIGHT;
    const rows = causeLanes(lanes, filter), strips = classStrips(lanes, classes);
    const height = rows.length * LANE + strips.length * STRIP + (strips.length ? 6 : 0);
    this.x = scaleLinear(span, [0, plot]);
    this.drawCanvas(rows, strips, width, height, plot);
    this.drawAxis(width, height, plot, span);
    this.drawBrush(height, plot, range);
    this.note.textContent = this.say(rows, range);
  }

  drawCanvas(rows, strips, width, height, plot) {
    const ratio = window.devicePixelRatio || 1, context = this.canvas.getContext('2d'), colors = palette();
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colors.back;
    context.fillRect(0, 0, width, height);
    context.textBaseline = 'middle';
    this.rows = rows;
    rows.forEach((row, i) => this.drawLane(context, colors, row, i, plot));
    strips.forEach((strip, i) => this.drawStrip(context, colors, strip, rows.length * LANE + 6 + i * STRIP, plot));
  }

  drawLane(context, colors, row, index, plot) {
    const y = index * LANE, values = new Float64Array(plot);
    row.lanes.forEach((lane) => rasterize(values, lane, this.x, plot));
    const most = values.reduce((max, value) => Math.max(max, value), 0);
    context.fillStyle = row.isChosen ? colors.text : colors.fadedText;
    context.font = `${row.isChosen ? 'bold ' : ''}12px system-ui, sans-serif`;
    context.fillText(row.name, 4, y + LANE / 2, LABELS - 10);
    context.fillStyle = colors.faded;
    context.fillRect(LABELS, y + LANE - 2, plot, 1);
    context.globalAlpha = row.isChosen ? 1 : 0.6;
    context.fillStyle = series(index);
    for (let p = 0; p < plot; p++) {
      if (values[p] <= 0) continue;
      const tall = Math.max(1, (values[p] / most) * (LANE - 5));
      context.fillRect(LABELS + p, y + LANE - 2 - tall, 1, tall);
    }
    context.globalAlpha = 1;
  }

  drawStrip(context, colors, strip, y, plot) {
    const values = new Float64Array(plot);
    strip.lanes.forEach((lane) => rasterize(values, lane, this.x, plot));
    const most = values.reduce((max, value) => Math.max(max, value), 0);
    context.font = '10px system-ui, sans-serif';
    context.fillStyle = colors.fadedText;
    context.fillText(strip.name, 4, y + STRIP / 2, LABELS - 10);
    for (let p = 0; p < plot; p++) {
      if (values[p] <= 0) continue;
      context.globalAlpha = 0.25 + 0.75 * (values[p] / most);
      context.fillRect(LABELS + p, y + 2, 1, STRIP - 4);
    }
    context.globalAlpha = 1;
  }

  drawAxis(width, height, plot, span) {
    const seconds = scaleLinear([0, (span[1] - span[0]) / 1000], [LABELS, LABELS + plot]);
    this.svg.attr('width', width).attr('height', height + AXIS);
    let axis = this.svg.select('g.axis');
    if (axis.empty()) axis = this.svg.append('g').attr('class', 'axis');
    axis.attr('transform', `translate(0,${height})`)
      .call(axisBottom(seconds).ticks(Math.max(2, Math.floor(plot / 90))).tickSizeOuter(0)
        .tickFormat((at) => (span[1] - span[0] > 600000 ? clock(this.model.data.startMs + span[0] + at * 1000) : `${at} s`)));
  }

  drawBrush(height, plot, range) {
    let area = this.svg.select('g.range');
    if (!hasSlices(this.model.data)) {
      area.remove();
      return;
    }
    if (area.empty()) area = this.svg.append('g').attr('class', 'range');
    area.call(this.brush.extent([[LABELS, 0], [LABELS + plot, height]]));
    area.call(this.brush.move, range ? range.map((at) => LABELS + Math.min(plot, Math.max(0, this.x(at)))) : null);
  }

  /** Of what the lanes are, where the graph is of less. */
  covered() {
    const { data, filter } = this.model;
    if (lanesHaveMore(data)) return ` The lanes have also what ${writtenAlone(data)} left out.`;
    return isFinerThanLanes(data, filter) ? ' The lanes are of all hosts and processes, whoever ended the waits.' : '';
  }

  say(rows, range) {
    const { data } = this.model;
    if (!rows.length) return 'No stalls of this filter.';
    if (!hasSlices(data)) return 'The graph cannot be cut by time: all samples of this file are of one time.';
    if (!range) return `Drag over the lanes to select a range of the run. Below: when each class was active, and how much.${this.covered()}`;
    return `Selected: ${duration((range[1] - range[0]) * 1e6)} from ${clock(data.startMs + range[0], true)} on.${this.covered()}`;
  }
}
