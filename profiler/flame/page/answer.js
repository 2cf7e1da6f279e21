// The answer in sentences: which stall was worst, of which class, on which device, at which line, when, and whether
// checkpoints had to do with it. Each is a button or more that shows what it says.

import { el } from './dom.js';
import { bytes, clock, count, duration, percent } from './format.js';
import { BLOCKED, byOwnLine, isFinerThanLanes, isOfSome, NONE } from './calc.js';
import { fullText } from './graph.js';
import { usersOf } from './host.js';
import { loopRows, MEANINGS, NOBODY, RUNQUEUE, worstBlocked, worstOf } from './ledger.js';

const CHECKPOINT = /^(checkpoint|ckpt)/i;
const BIN_MS = 250, BINS_LEAST = 60, BINS_MOST = 240, WHOLE = 0.8;
const BURST_LEAST = 0.2, BURSTS_HOLD = 0.8, BURSTS_PART = 0.7, LISTED = 6; // of when most was
const STRETCH_DENSER = 1.5, STRETCH_EXTRA = 0.1; // of when all is spread over the run, and yet not evenly
const PART_LEAST = 0.05; // of what other threads waited for
const DENSER = 2, COSTS = 0.05; // of stalls beside checkpoints: from there on they are a disturbance

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

/** What is summed, in words. A device is that of a stall, also where what ran on a CPU meanwhile is summed. */
function nameOf(stall, { filter, sums, isCpu }) {
  if (!isCpu) return stall ?? (sums.rows.length ? 'All stalls' : 'All samples');
  if (stall === NONE) return 'On the CPU outside of stalls';
  return stall !== undefined ? `On the CPU during ${stall}` : filter.device ? 'On the CPU during stalls' : 'On the CPU';
}

/** Of which class and device most is. */
function sayWho(context) {
  const { data, filter, selection, unit, sums, choose, countOf, isTime, isCpu } = context, stall = filter.stall ?? data.stall;
  const [name, most] = leading(context, 'class') || [], [device] = isCpu && stall === undefined && !filter.device ? [] : leading(context, 'device') || [];
  const row = sums.rows.find((each) => each.name === name);
  const parts = [el('b', { title: MEANINGS[stall] || '' }, nameOf(stall, context))];
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
  const isStall = filter.stall === undefined || sums.causes.includes(filter.stall), isWhole = !filter.range && filter.device === undefined && filter.waker === undefined && filter.inherited === undefined;
  const worst = isTime && isStall && isWhole ? worstBlocked(data, filter, side) : null;
  if (!worst || worst.ns <= selection.sum) return [];
  return [' More time went to ', link(worst.kind, 'Show these waits', () => choose({ stall: worst.kind, class: worst.name })),
    `: ${duration(worst.ns)}, ${worst.most < worst.ns ? 'most' : 'all'} of it of ${worst.name}. That is no stall, but waiting for other threads, timers or peers.`];
}

/** At which line of the program's own code. */
function sayWhere({ data, selection, unit, find }) {
  const best = largest(byOwnLine(data, selection.value));
  if (!best) return null;
  const { frames, strings } = data;
  const label = { name: strings[frames.name[best[0]]], file: strings[frames.file[best[0]]], line: frames.line[best[0]] };
  const most = 2 * best[1] > selection.sum;
  return [most ? 'Where: ' : 'Where: many places; the worst is ', link(fullText(label), `Find it in the graph: ${label.file || label.name}`, () => find(label)),
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
  // A kind of wait has lanes of kind "blocked", by its name.
  const isWanted = (lane) => (filter.stall === BLOCKED ? lane.kind === BLOCKED
    : filter.stall === undefined ? lane.kind === 'stall' : [BLOCKED, 'stall'].includes(lane.kind) && lane.name === filter.stall);
  return lanes.filter((lane) => isWanted(lane) && (filter.class === undefined || lane.class === filter.class) && (filter.device === undefined || lane.device === filter.device));
}

/** [{from, to, sum}]: stretches whose bins have much, with what is in them. A gap of one bin ends none. */
function burstsOf(sums) {
  const least = BURST_LEAST * sums.reduce((most, value) => Math.max(most, value), 0), bursts = [];
  for (let b = 0; b < sums.length; b++) {
    if (!(sums[b] > 0) || sums[b] < least) continue;
    const last = bursts[bursts.length - 1];
    if (last && b - last.to <= 1) {
      while (last.to <= b) last.sum += Math.max(0, sums[last.to++]);
    } else bursts.push({ from: b, to: b + 1, sum: sums[b] });
  }
  return bursts;
}

/** {from, to, sum}: the stretch of bins that has most beyond STRETCH_DENSER times the mean; undefined: none is that much denser than the rest. */
function densestOf(sums, all) {
  const least = STRETCH_DENSER * all / sums.length;
  let best, begin = 0, beyond = 0, sum = 0;
  for (let b = 0; b < sums.length; b++) {
    if (beyond <= 0) [begin, beyond, sum] = [b, 0, 0];
    beyond += sums[b] - least;
    sum += sums[b];
    if (beyond > (best ? best.beyond : 0)) best = { from: begin, to: b + 1, sum, beyond };
  }
  if (!best || best.to - best.from === sums.length) return undefined;
  const length = best.to - best.from, usual = (all - best.sum) / (sums.length - length);
  const extra = best.sum - usual * length;
  return extra >= STRETCH_EXTRA * all ? { ...best, times: usual > 0 ? best.sum / length / usual : Infinity } : undefined;
}

/** A stretch of bins, in words, that selects its time. */
function stretch({ data, span, canCut, choose }, { from, to }, width) {
  const text = `${duration(from * width * 1e6)} – ${duration(to * width * 1e6)}`;
  const range = [Math.round(span[0] + from * width), Math.round(span[0] + to * width)];
  return canCut ? link(text, `Select this time, from ${clock(data.startMs + range[0])} on`, () => choose({ range })) : text;
}

/** In which stretches of the run most of it is, if these are much shorter than the run; else where it is densest. */
function sayWhen(context) {
  const { lanes, filter, span } = context;
  const number = Math.round(Math.min(BINS_MOST, Math.max(BINS_LEAST, (span[1] - span[0]) / BIN_MS)));
  const sums = bins(chosenLanes(lanes, filter), span, number), all = sums.reduce((sum, value) => sum + Math.max(0, value), 0);
  if (!(all > 0)) return null;
  const bursts = burstsOf(sums), held = bursts.reduce((sum, burst) => sum + burst.sum, 0);
  const length = bursts.reduce((sum, burst) => sum + burst.to - burst.from, 0), width = (span[1] - span[0]) / number;
  const show = (burst) => stretch(context, burst, width);
  if (held < BURSTS_HOLD * all || length > BURSTS_PART * number) {
    const dense = densestOf(sums, all);
    if (!dense) return ['When: all the time, about evenly.'];
    return ['When: all the time, but not evenly: ', show(dense), ` of the run has ${percent(dense.sum, all)} of it${Number.isFinite(dense.times) ? `, ${dense.times.toFixed(1)} times as dense as the rest` : ''}.`];
  }
  const share = `${percent(held, all)} of it, in ${percent(length, number)} of the time.`;
  if (bursts.length === 1) return ['When: ', show(bursts[0]), ` of the run has ${share}`];
  if (bursts.length <= LISTED) return ['When: ', ...bursts.flatMap((burst, i) => (i ? [', ', show(burst)] : [show(burst)])), ` of the run together have ${share}`];
  const most = bursts.reduce((best, burst) => (burst.sum > best.sum ? burst : best));
  return [`When: ${bursts.length} bursts, ${duration(length * width * 1e6 / bursts.length)} long on average, the largest `, show(most), `; all of them together have ${share}`];
}

/** How much denser stalls of other classes are while a checkpoint itself waits for a device than at other times. */
function sayCheckpoints({ data, lanes, filter, selection, span, sums, processes }) {
  /* A command named ckpt.py is none: its name is the tag of its process, which nobody has pushed. */
  const rows = sums.rows.filter((row) => row.isPushed && CHECKPOINT.test(row.name));
  if (!rows.length) return null;
  const names = rows.map((row) => row.name), isOne = (name) => names.includes(name), wall = rows.reduce((sum, row) => sum + row.wall, 0);
  const stalled = rows.reduce((sum, row) => sum + sums.causes.reduce((all, cause) => all + (row.ns[cause] || 0), 0), 0);
  const shares = processes.map((process) => process.classes.filter((each) => names.includes(each.name)).reduce((sum, each) => sum + each.ns, 0) / process.ns)
    .filter((share) => share > 0);
  const parts = [`Checkpoints: ${duration(wall)} of ${names.join(', ')}`];
  if (shares.length) parts.push(`, ${percent(Math.max(...shares), 1)} of the time under tags of their thread`);
  parts.push(`; ${duration(stalled)} of it stalled`);
  const own = filter.class !== undefined ? 0 : [...selection.options.class].reduce((sum, [text, value]) => sum + (isOne(data.strings[text]) ? value : 0), 0) / selection.sum;
  const isOwn = own > 0.5;
  if (isOwn) parts.push('; ', el('b', {}, `${percent(own, 1)} of what is shown is their own`));
  const stall = isOwn ? undefined : filter.stall, number = Math.min(6000, Math.max(BINS_LEAST, Math.round((span[1] - span[0]) / 20)));
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
  /* As dense as at other times: if nothing was stalled then, it is all theirs. */
  const what = stall === undefined ? 'stalls' : stall, usual = (all - during) / (number - busy), extra = (during - usual * busy) / all;
  const times = usual > 0 ? `${(during / busy / usual).toFixed(1)} times as dense as at other times` : 'all there was';
  const isDense = during / busy >= DENSER * usual && extra >= COSTS;
  const verdict = isDense ? `they disturb others, which costs those about ${percent(extra, 1)} of their ${what}.` : 'they do not disturb others.';
  return [...parts, `. While they stalled (${percent(busy, number)} of the run), ${what} of others ${stall === undefined ? 'were' : 'was'} ${times} (${percent(during, all)} of it): `,
    el('b', {}, verdict)];
}

/** Whose requests the device served that most waits were for: others' may be what made them slow. Of one of several hosts it is not known. */
function sayDevice(context) {
  if (context.filter.host !== undefined) return null;
  const { requests, span } = context, [device] = leading(context, 'device') || [], sums = new Map();
  for (const row of requests) if (row.device === device) sums.set(row.class ?? NOBODY, (sums.get(row.class ?? NOBODY) || 0) + row.ns);
  const all = [...sums.values()].reduce((sum, ns) => sum + ns, 0);
  if (!all) return null;
  const shares = [...sums].sort((x, y) => y[1] - x[1]).slice(0, 4).map(([name, ns]) => `${name} ${percent(ns, all)}`);
  const users = span ? usersOf(context, 'disk_user', device, span).map(([program, value]) => `${program} ${bytes(value)}`) : [];
  return [`Who used ${device}, by the time of its requests${context.filter.range ? ' in the whole run' : ''}: ${shares.join(', ')}.`,
    users.length && sums.get(NOBODY) > 0 ? ` Without a tag: ${users.join(', ')}.` : ''];
}

/** Of the process that runs the loop, if that is known, else of the first. */
function sayShares({ data, sums, side, processes, filter }) {
  if (filter.host !== undefined) return null; // a process of that name may be another host's
  const loop = new Set(loopRows(data, sums, side).map((row) => row.name)), runsIt = (process) => process.classes.some((each) => loop.has(each.name));
  const shown = processes.filter((each) => filter.process === undefined || each.process === filter.process);
  return [shown.find(runsIt) || shown[0]].filter(Boolean).map((process) => ['Of the ', duration(process.ns), ` under tags in ${process.process}, one thread's worth: `,
    process.classes.map((each) => `${each.name} ${percent(each.ns, process.ns)}`).join(', '), '.'])[0] || null;
}

/** Who ended most of a class's waits of a kind that is no stall, and what those that did waited for meanwhile, as far as that is known. */
function sayWaker({ data, filter, side }, name, kind) {
  const delay = data.types.findIndex((type) => type.name === 'delay'), wakers = new Map(), ends = new Map(), { samples, strings } = data;
  const [ofClass, ofKind, ofSide, unknown] = [name, kind, side, ''].map((text) => strings.indexOf(text));
  const isOther = (s) => ['process', 'host'].some((key) => filter[key] !== undefined && strings[samples[key][s]] !== filter[key]);
  let all = 0;
  for (let s = 0; delay >= 0 && s < samples.count; s++) {
    if (!samples.wait[s] || samples.class[s] !== ofClass || samples.stall[s] !== ofKind || samples.side[s] !== ofSide || isOther(s)) continue;
    const value = samples.values[delay][s];
    all += value;
    for (const [sums, text] of [[wakers, samples.waker[s]], [ends, samples.inherited[s]]]) if (text !== unknown) sums.set(text, (sums.get(text) || 0) + value);
  }
  const most = largest(wakers), parts = [...ends].sort((x, y) => y[1] - x[1]).filter(([, value]) => value >= PART_LEAST * all).slice(0, 3);
  if (!most || !(all > 0)) return [];
  return [', ', percent(most[1], all), ' of it ended by ', el('b', {}, strings[most[0]]), ...(parts.length ? [', '] : []),
    ...parts.flatMap(([text, value], i) => [i ? ', ' : '', percent(value, all), ' behind ', el('b', {}, strings[text])])];
}

/** Of a class's wait for CPUs: when it was longest, if it was in a part of the run, and who ran meanwhile. */
function sayQueue(context, name) {
  const { filter, lanes, span } = context, parts = [el('b', { title: MEANINGS[RUNQUEUE] }, 'waiting for a CPU (run queue)')];
  if (!span || isOfSome(filter)) return parts;
  const number = Math.max(1, Math.round((span[1] - span[0]) / 1000)), width = (span[1] - span[0]) / number;
  const sums = bins(lanes.filter((lane) => lane.kind === RUNQUEUE && lane.class === name), span, number), all = sums.reduce((sum, value) => sum + Math.max(0, value), 0);
  const dense = all > 0 ? densestOf(sums, all) : undefined, range = dense ? [span[0] + dense.from * width, span[0] + dense.to * width] : span;
  if (dense) parts.push(', ', percent(dense.sum, all), ' of that in ', stretch(context, dense, width), ' of the run');
  const users = usersOf(context, 'cpu_user', undefined, range).map(([program, ns]) => `${program} ${duration(ns)}`);
  if (users.length) parts.push(`, when others ran without a tag: ${users.join(', ')}`);
  return parts;
}

/** Which class of the loop lost most, and which nearly as much. */
function sayLost(context) {
  const { data, filter, sums, side, choose } = context, rows = loopRows(data, sums, side);
  const told = rows.slice(0, 2).filter((row) => 2 * row.lost >= rows[0].lost).map((row) => [row, ...(worstOf(data, filter, sums, side, row) || [])]).filter(([, , ns]) => ns > 0);
  if (!told.length) return null;
  return ['The loop: ', ...told.flatMap(([row, kind, ns], i) => [i ? '; then ' : '', el('b', {}, row.name), i ? '' : ' lost most', `: ${duration(row.lost)} (${percent(row.lost, row.wall)} of its time), of it ${duration(ns)} `,
    ...(kind === RUNQUEUE ? sayQueue(context, row.name) : [link(kind, `Show ${kind} of ${row.name}`, () => choose({ class: row.name, stall: kind })), ...sayWaker(context, row.name, kind)])]), '.'];
}

/** context: {data, filter, selection, unit, sums, lanes, span, canCut, processes, requests, countOf, side, isTime: delays are summed, isCpu: samples of CPUs are, choose, find}. */
export function drawAnswer(context) {
  const isWhole = context.isTime && !context.filter.range, hasTimes = isWhole && context.span && !isFinerThanLanes(context.data, context.filter);
  const hasAllTags = context.data.tag === undefined; // else the ledger is a part of the loop's
  const said = { loop: isWhole && hasAllTags ? sayLost(context) : null };
  if (context.selection.sum) {
    const where = [sayWhere(context), hasTimes ? sayWhen(context) : null].filter(Boolean);
    Object.assign(said, { who: sayWho(context), where: where.flatMap((parts, i) => (i ? [' ', ...parts] : parts)), shares: sayShares(context),
      checkpoints: hasTimes ? sayCheckpoints(context) : null, device: sayDevice(context) });
  }
  return Object.entries(said).filter(([, parts]) => parts && parts.length).map(([about, parts]) => el('li', { class: about }, ...parts));
}
