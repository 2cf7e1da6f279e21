// The answer in sentences: which stall was worst, of which class, on which device, at which line, when, and whether
// checkpoints had to do with it. Each is a button or more that shows what it says.

import { el } from './dom.js';
import { clock, count, duration, percent } from './format.js';
import { BLOCKED, byOwnLine } from './calc.js';
import { fullText } from './graph.js';
import { worstBlocked } from './ledger.js';

const CHECKPOINT = /^(checkpoint|ckpt)/i;
const BINS = 60, BURST = 0.3, WHOLE = 0.8;

function largest(map) {
  let best;
  for (const [key, value] of map) if (!best || value > best[1]) best = [key, value];
  return best;
}

/** [text, value] of the class, device … that has most of what passes the filter; undefined: it has none. */
function leading({ data, filter, selection }, dimension) {
  if (filter[dimension] !== undefined) return [filter[dimension], selection.sum];
  const most = largest(selection.options[dimension]);
  return most && data.strings[most[0]] ? [data.strings[most[0]], most[1]] : undefined;
}

function link(text, title, onclick) {
  return el('button', { type: 'button', class: 'link', title, onclick }, text);
}

/** Of which class and device most is. */
function sayWho(context) {
  const { filter, selection, unit, sums, choose, countOf, isTime } = context, stall = filter.stall;
  const [name, most] = leading(context, 'class') || [], [device] = leading(context, 'device') || [];
  const row = sums.rows.find((each) => each.name === name);
  const parts = [el('b', {}, stall ?? (sums.rows.length ? 'All stalls' : 'All samples'))];
  if (device) parts.push(' on ', link(device, `Only ${device}`, () => choose({ device })));
  parts.push(`: ${unit(selection.sum)}`);
  if (countOf) parts.push(` in ${count(countOf)} waits`);
  if (name) {
    parts.push('; ', link(name, `Only ${name}`, () => choose({ class: name })), ` has ${percent(most, selection.sum)} of it`);
    if (row && stall !== undefined && row.wall > 0 && !filter.range && isTime) parts.push(`, which is ${percent(most, row.wall)} of that class's wall time`);
  }
  return [...parts, '.', ...sayBlocked(context)];
}

/** What threads were blocked for without a stall, if that is more than the stall: it is what to look at first, then. */
function sayBlocked({ data, filter, selection, sums, isTime, side, choose }) {
  const isStall = filter.stall === undefined || sums.causes.includes(filter.stall), isWhole = !filter.range && filter.device === undefined;
  const worst = isTime && isStall && isWhole ? worstBlocked(data, filter, side) : null;
  if (!worst || worst.ns <= selection.sum) return [];
  return [' More time went to ', link(worst.kind, 'Show these waits', () => choose({ stall: worst.kind })),
    `: ${duration(worst.ns)}, ${worst.most < worst.ns ? 'most' : 'all'} of it of ${worst.name}. That is no stall, but waiting for other threads, timers or peers.`];
}

/** At which line of the program's own code. */
function sayWhere({ data, selection, unit, find }) {
  const best = largest(byOwnLine(data, selection.value));
  if (!best) return null;
  const { frames, strings } = data;
  const label = { name: strings[frames.name[best[0]]], file: strings[frames.file[best[0]]], line: frames.line[best[0]] };
  const most = 2 * best[1] > selection.sum;
  return [most ? 'Where: ' : 'Where: many places; the worst is ', link(fullText(label), 'Find it in the graph', () => find(label)),
    ` has ${percent(best[1], selection.sum)} of it, ${unit(best[1])}.`];
}

/** Sums of lanes over even parts of the run. */
function bins(lanes, span, number) {
  const sums = new Float64Array(number), width = (span[1] - span[0]) / number;
  for (const lane of lanes) {
    for (let i = 0; i < lane.begin.length; i++) {
      const from = lane.begin[i] - span[0], to = from + lane.bucket_ms;
      const last = Math.min(number - 1, Math.ceil(to / width) - 1);
      for (let b = Math.max(0, Math.floor(from / width)); b <= last; b++) {
        sums[b] += lane.value[i] * (Math.min(to, (b + 1) * width) - Math.max(from, b * width)) / lane.bucket_ms;
      }
    }
  }
  return sums;
}

function chosenLanes(lanes, filter) {
  return lanes.filter((lane) => (filter.stall === BLOCKED ? lane.kind === BLOCKED
    : lane.kind === 'stall' && (filter.stall === undefined || lane.name === filter.stall)) &&
    (filter.class === undefined || lane.class === filter.class) && (filter.device === undefined || lane.device === filter.device));
}

/** The shortest stretch of the run that has half of it, if that is much shorter than half the run. */
function sayWhen({ data, lanes, filter, span, canCut, choose }) {
  const sums = bins(chosenLanes(lanes, filter), span, BINS), all = sums.reduce((sum, value) => sum + Math.max(0, value), 0);
  if (!(all > 0)) return null;
  let best = null;
  for (let from = 0, to = 0, sum = 0; from < BINS; sum -= Math.max(0, sums[from++])) {
    while (to < BINS && sum < all / 2) sum += Math.max(0, sums[to++]);
    if (sum >= all / 2 && (!best || to - from < best.to - best.from)) best = { from, to, sum };
  }
  const width = (span[1] - span[0]) / BINS, part = (best.to - best.from) / BINS;
  if (part > BURST) return ['When: all the time; no burst.'];
  const range = [Math.round(span[0] + best.from * width), Math.round(span[0] + best.to * width)];
  const text = `${duration(best.from * width * 1e6)} – ${duration(best.to * width * 1e6)}`;
  return ['When: ', canCut ? link(text, 'Select this time', () => choose({ range })) : text,
    ` of the run (${clock(data.startMs + range[0])}) has ${percent(best.sum, all)} of it, in ${percent(best.to - best.from, BINS)} of the time.`];
}

/** How much denser stalls of other classes are while a checkpoint itself waits for a device. Twice the average is called a
 * disturbance. */
function sayCheckpoints({ data, lanes, filter, selection, span, sums, processes }) {
  /* A command named ckpt.py is none: its name is the tag of its process, which nobody has pushed. */
  const rows = sums.rows.filter((row) => !row.base && CHECKPOINT.test(row.name));
  if (!rows.length) return null;
  const names = rows.map((row) => row.name), isOne = (name) => names.includes(name), wall = rows.reduce((sum, row) => sum + row.wall, 0);
  const stalled = rows.reduce((sum, row) => sum + sums.causes.reduce((all, cause) => all + (row.ns[cause] || 0), 0), 0);
  const shares = processes.map((process) => process.classes.filter((each) => names.includes(each.name)).reduce((sum, each) => sum + each.ns, 0) / process.ns)
    .filter((share) => share > 0);
  const parts = [`Checkpoints: ${duration(wall)} of ${names.join(', ')}`];
  if (shares.length) parts.push(` (${percent(Math.max(...shares), 1)} of their thread's tagged time)`);
  parts.push(`, ${duration(stalled)} of it stalled`);
  const own = filter.class !== undefined ? 0 : [...selection.options.class].reduce((sum, [text, value]) => sum + (isOne(data.strings[text]) ? value : 0), 0) / selection.sum;
  const isOwn = own > 0.5;
  if (isOwn) parts.push('; ', el('b', {}, `${percent(own, 1)} of what is shown is their own`));
  const stall = isOwn ? undefined : filter.stall, number = Math.min(6000, Math.max(BINS, Math.round((span[1] - span[0]) / 20)));
  const ckpt = bins(lanes.filter((lane) => lane.kind === 'stall' && isOne(lane.class)), span, number);
  const others = bins(chosenLanes(lanes, { stall, device: filter.device }).filter((lane) => !isOne(lane.class)), span, number);
  let during = 0, all = 0, busy = 0;
  for (let b = 0; b < number; b++) {
    all += Math.max(0, others[b]);
    if (ckpt[b] > 0) {
      busy++;
      during += Math.max(0, others[b]);
    }
  }
  if (!(all > 0) || !busy) return [...parts, '.'];
  if (busy / number > WHOLE) return [...parts, '. They stalled all the time, so that what they did to others cannot be told.'];
  const density = (during / all) / (busy / number), what = stall === undefined ? 'stalls' : stall;
  const extra = during / all - busy / number;
  const verdict = density >= 2 ? `they disturb others, which costs those about ${percent(extra, 1)} of their ${what}.` : isOwn ? 'they do not disturb others.' : 'not to blame.';
  return [...parts, `; meanwhile ${what} of others ${stall === undefined ? 'were' : 'was'} ${density.toFixed(1)} times as dense as on average (${percent(during, all)} in ${percent(busy, number)} of the run): `,
    el('b', {}, verdict)];
}

/** Whose requests the device served that most waits were for: others' may be what made them slow. */
function sayDevice(context) {
  const { requests } = context, [device] = leading(context, 'device') || [], sums = new Map();
  for (const row of requests) if (row.device === device) sums.set(row.class ?? '(no tag)', (sums.get(row.class ?? '(no tag)') || 0) + row.ns);
  const all = [...sums.values()].reduce((sum, ns) => sum + ns, 0);
  if (!all) return null;
  const shares = [...sums].sort((x, y) => y[1] - x[1]).slice(0, 4).map(([name, ns]) => `${name} ${percent(ns, all)}`);
  return [`Who used ${device}, by the time of its requests: ${shares.join(', ')}.`];
}

function sayShares(processes) {
  return processes.slice(0, 1).map((process) => ['Of the ', duration(process.ns), ` under tags in ${process.process}, one thread's worth: `,
    process.classes.map((each) => `${each.name} ${percent(each.ns, process.ns)}`).join(', '), '.'])[0] || null;
}

/** context: {data, filter, selection, unit, sums, lanes, span, canCut, processes, requests, countOf, side, isTime: delays are summed, choose, find}. */
export function drawAnswer(context) {
  if (!context.selection.sum) return [];
  const isTimed = context.span && context.isTime, where = [sayWhere(context), isTimed ? sayWhen(context) : null].filter(Boolean);
  return [sayWho(context), where.flatMap((parts, i) => (i ? [' ', ...parts] : parts)), isTimed ? sayCheckpoints(context) : null,
    sayDevice(context), sayShares(context.processes)].filter((parts) => parts && parts.length)
    .map((parts) => el('li', {}, ...parts));
}
