// The ledger by class of tags: where the wall time of each class went. A cell chooses its class and cause.

import { el } from './dom.js';
import { duration, percent } from './format.js';
import { BLOCKED, isOfSome } from './calc.js';

const ONCPU = 'oncpu', STALL = 'stall', UNDECIDED = 'undecided';
const HEADS = { oncpu: 'on CPU', runqueue: 'run queue', blocked: 'blocked', unobserved: 'not seen', undecided: 'undecided' };
export const RUNQUEUE = 'runqueue';
export const NOBODY = 'programs without a tag'; // whose requests are of no class
export const MEANINGS = {
  oncpu: 'ran on a CPU', runqueue: 'could run, but waited for a CPU', blocked: 'waited for what is no stall: other threads, timers, peers',
  block_io: 'waited for a request to a disk', throttle: 'held back by an I/O limit of its control group (io.max, io.latency, io.cost), not by the disk',
  writeback: 'waited until the kernel had written pages back', journal: "waited for the file system's journal", tag_wait: "waited for a free place in the disk's queue",
  nfs_read: 'waited for an NFS server, to read or look up', nfs_write: 'waited for an NFS server, to write or close', dma_map: 'waited for a slow DMA map: of a disk request, or in a call for another device',
  dma_bounce: 'waited for a request whose data went through a bounce buffer', gpu_sync: 'in a call that waits for the GPU', collective: 'in a call that waits for other ranks',
  gpu_ring: "waited for room in a GPU's ring or queue", gpu_fence: 'waited for a fence of a GPU', nvme_timeout: 'waited for a request that timed out',
  nvme_abort: 'waited for a request that was aborted', nvme_reset: 'waited while its NVMe controller was reset', iommu_fault: 'waited for a request whose device made an IOMMU fault',
  unobserved: 'tagged, but could not be seen', undecided: 'a wait that was not over when the recording ended',
};

const STEP_HEADS = [['p50', 'half of the tags of this class took less'], ['p99', 'of a hundred tags one took longer'], ['worst', 'the longest tag']];

/** Whether a row of the ledger is of the side, and passes the filter's process, host and class. */
function isOf({ ledger, strings }, i, filter, side) {
  return strings[ledger.side[i]] === side && ['process', 'host', 'class'].every((key) => filter[key] === undefined || strings[ledger[key][i]] === filter[key]);
}

/**
 * The kind of wait that took most of what pushed classes were blocked without a stall: {kind, ns, name: of the class with most of it, most};
 * null: they were not. Threads under no tag of their own idle most of the time.
 */
export function worstBlocked(data, filter, side) {
  const { ledger, strings, states } = data, kinds = new Map();
  for (let i = 0; i < ledger.count; i++) {
    if (states[ledger.state[i]] !== BLOCKED || ledger.base[i] || strings[ledger.stall[i]] === UNDECIDED || !isOf(data, i, filter, side)) continue;
    const kind = strings[ledger.stall[i]] || BLOCKED, name = strings[ledger.class[i]];
    const row = kinds.get(kind) || kinds.set(kind, { kind, ns: 0, classes: new Map() }).get(kind);
    row.ns += ledger.ns[i];
    row.classes.set(name, (row.classes.get(name) || 0) + ledger.ns[i]);
  }
  const worst = [...kinds.values()].sort((a, b) => b.ns - a.ns)[0];
  if (!worst || !(worst.ns > 0)) return null;
  const [name, most] = [...worst.classes].sort((a, b) => b[1] - a[1])[0];
  return { kind: worst.kind, ns: worst.ns, name, most };
}

/** Without any pushed tag no row is a base: blocked threads then count as lost time, not as idle. */
function settleBase(rows) {
  const hasPushed = rows.some((row) => row.isPushed);
  for (const row of rows) {
    row.base = hasPushed && !row.isPushed;
    if (!hasPushed) row.lost += row.ns[BLOCKED] || 0;
  }
}

/** The sums of a side's rows by class: {columns, rows: [{name, base, isPushed, wall, ns: {column: ns}, lost}]}, as
 * loaded_classes.c has them. Of the filter, process and host hold. */
export function sumLedger(data, filter, side) {
  const { ledger, strings, states } = data, rows = new Map(), causes = new Set(), others = new Set();
  for (let i = 0; i < ledger.count; i++) {
    if (strings[ledger.side[i]] !== side) continue;
    if (filter.process !== undefined && strings[ledger.process[i]] !== filter.process) continue;
    if (filter.host !== undefined && strings[ledger.host[i]] !== filter.host) continue;
    const name = strings[ledger.class[i]], state = states[ledger.state[i]], cause = strings[ledger.stall[i]];
    const row = rows.get(name) || rows.set(name, { name, isPushed: false, wall: 0, lost: 0, ns: {} }).get(name);
    let column = state;
    if (state === STALL && cause) column = cause;
    else if (state === BLOCKED && cause === UNDECIDED) column = UNDECIDED;
    row.isPushed = row.isPushed || !ledger.base[i];
    row.wall += ledger.ns[i];
    if (state !== ONCPU && !(ledger.base[i] && state === BLOCKED)) row.lost += ledger.ns[i];
    row.ns[column] = (row.ns[column] || 0) + ledger.ns[i];
    if (state === STALL) causes.add(column);
    else if (ledger.ns[i]) others.add(column);
  }
  settleBase([...rows.values()]);
  const used = [...causes].filter((cause) => [...rows.values()].some((row) => row.ns[cause])).sort();
  const columns = [ONCPU, RUNQUEUE, ...used, BLOCKED, ...[UNDECIDED, 'unobserved'].filter((each) => others.has(each))];
  const sorted = [...rows.values()].sort((a, b) => a.base - b.base || b.lost - a.lost || b.wall - a.wall || (a.name < b.name ? -1 : 1));
  return { columns, causes: used, rows: sorted };
}

/** How much of each class processes had in turn with one of the steps' classes, one thread's worth of tags: a Map of ns by name. */
function inTurn(data, side, steps) {
  const of = data.sides.find((each) => each.side === side), turns = new Map();
  for (const process of of ? of.processes : []) {
    if (!process.classes.some((each) => steps.has(each.name))) continue;
    for (const { name, ns } of process.classes) turns.set(name, (turns.get(name) || 0) + ns);
  }
  return turns;
}

/** The classes of processes that have one of the steps' classes: what comes as often elsewhere, as in a loader's workers, is none of the loop. */
function besideSteps(data, side, steps) {
  const of = data.sides.find((each) => each.side === side), own = of ? of.processes.filter((process) => process.classes.some((each) => steps.has(each.name))) : [];
  return own.length ? new Set(own.flatMap((process) => process.classes.map((each) => each.name))) : null;
}

/** Those with the word in their name; PyTorch's optimizers have ranges of their own, which are parts of a step. */
function namedSteps(all) {
  const named = all.filter((step) => /step/i.test(step.name)), own = named.filter((step) => !step.name.startsWith('optimizer_'));
  return own.length ? own : named;
}

/**
 * The rows of the loop's classes, the one that lost most first: there the training pays. They are those whose tags come as often as its steps
 * in a process that has them, and those that a thread has in turn with them, as checkpoints. Workers that hold a tag for long idle for most of it. The steps' class has
 * the word in its name, or most tags.
 */
export function loopRows(data, sums, side) {
  const all = data.steps.filter((step) => step.side === side && step.tags > 1), named = namedSteps(all);
  const most = Math.max(0, ...(named.length ? named : all).map((step) => step.tags)), often = new Set(all.filter((step) => 2 * step.tags >= most).map((step) => step.name));
  const steps = new Set((named.length ? named : all).filter((step) => step.tags === most).map((step) => step.name)), turns = inTurn(data, side, steps);
  const beside = besideSteps(data, side, steps), comesAsOften = (name) => often.has(name) && (!beside || beside.has(name));
  return sums.rows.filter((row) => row.isPushed && row.lost > 0 && (comesAsOften(row.name) || 2 * (turns.get(row.name) || 0) > row.wall)).sort((a, b) => b.lost - a.lost);
}

/** What took most of a class's time off the CPU: [its name, as stall it is chosen by, ns]; the run queue has no samples to choose. */
export function worstOf(data, filter, sums, side, row) {
  const found = [...sums.causes, RUNQUEUE].map((cause) => [cause, row.ns[cause] || 0]);
  const blocked = worstBlocked(data, { process: filter.process, host: filter.host, class: row.name }, side);
  if (blocked) found.push([blocked.kind, blocked.ns]);
  return found.sort((a, b) => b[1] - a[1])[0];
}

/** The stall that took most of a class that is no base, else of any; undefined: there is none. */
export function worstCause(sums) {
  let worst;
  for (const base of [false, true]) {
    for (const cause of sums.causes) {
      const rows = sums.rows.filter((row) => row.base === base);
      const ns = rows.reduce((sum, row) => sum + (row.ns[cause] || 0), 0);
      if (ns > 0 && (!worst || ns > worst.ns)) worst = { cause, ns };
    }
    if (worst) return worst.cause;
  }
  return undefined;
}

function cell(row, column, state, causes, choose) {
  const ns = row.ns[column] || 0, canChoose = causes.includes(column) || column === BLOCKED;
  const chosen = state.filter.stall === column && (state.filter.class === undefined || state.filter.class === row.name);
  if (!ns) return el('td', { class: 'none' }, '–');
  const share = row.wall ? Math.min(1, Math.max(0, ns / row.wall)) : 0;
  const texts = [el('b', {}, duration(ns)), el('small', {}, percent(ns, row.wall))];
  const style = `--share:${(100 * share).toFixed(1)}%`;
  if (!canChoose) return el('td', { style, class: column === ONCPU ? 'cpu' : 'queue' }, ...texts);
  return el('td', { style, class: `${column === BLOCKED ? 'wait' : 'cause'}${chosen ? ' chosen' : ''}` },
    el('button', { type: 'button', title: `Show ${column} of ${row.name}`, onclick: () => choose({ class: row.name, stall: column }) }, ...texts));
}

/** How long a tag's time is: p50, p99 and the worst, for classes of more than one tag; undefined: not known. */
function stepCells(step) {
  if (!step || step.tags < 2) return [el('td', { class: 'none' }, '–'), el('td', { class: 'none' }, '–'), el('td', { class: 'none' }, '–')];
  return [el('td', { title: `of ${step.tags} tags` }, duration(step.p50_ns)), el('td', {}, duration(step.p99_ns)),
    el('td', { title: `${step.worst_tag} id=${BigInt(`0x${step.worst_id}`)}` }, duration(step.worst_ns))];
}

export function drawLedger(data, state, sums, choose) {
  if (!sums.rows.length) {
    return el('p', { class: 'empty' }, 'These files have no ledger: they were not written by stallprof, so shares of wall time are not known.');
  }
  const covered = data.sides.find((side) => side.side === (state.filter.side || '')) || data.sides[0];
  const steps = new Map(data.steps.filter((step) => step.side === covered.side).map((step) => [step.name, step])), isPart = isOfSome(state.filter);
  const hasSteps = sums.rows.some((row) => steps.get(row.name)?.tags > 1);
  const head = el('tr', {}, el('th', { scope: 'col' }, 'class'), el('th', { scope: 'col', title: 'as many at a time' }, 'threads'),
    el('th', { scope: 'col', title: 'of all its threads' }, 'wall'),
    sums.columns.map((column) => el('th', { scope: 'col', title: MEANINGS[column] || 'waited for this' },
      sums.causes.includes(column) || column === BLOCKED
        ? el('button', { type: 'button', title: `Show ${column} of all classes`, onclick: () => choose({ stall: column, class: undefined }) },
          HEADS[column] || column)
        : HEADS[column] || column)),
    hasSteps ? STEP_HEADS.map(([name, title]) => el('th', { scope: 'col', class: 'step', title }, name)) : null);
  const rows = sums.rows.map((row) => el('tr', { class: row.base ? 'base' : '' },
    el('th', { scope: 'row', class: state.filter.class === row.name ? 'chosen' : '' },
      el('button', { type: 'button', title: `Show all stalls of ${row.name}`, onclick: () => choose({ class: row.name, stall: sums.causes.some((cause) => row.ns[cause] > 0) ? undefined : BLOCKED }) }, row.name)),
    el('td', {}, covered.span_ns && !isPart ? (row.wall / covered.span_ns).toFixed(2) : '–'), el('td', {}, duration(row.wall)),
    sums.columns.map((column) => cell(row, column, state, sums.causes, choose)), hasSteps ? stepCells(isPart ? undefined : steps.get(row.name)) : null));
  const notes = [state.filter.range ? 'Of the whole run, whatever time is selected' : '',
    isPart ? `Threads${hasSteps ? ', p50, p99 and worst' : ''} are known of all hosts and processes together only` : ''].filter(Boolean);
  return el('table', { class: 'ledger' }, notes.length ? el('caption', {}, notes.join('. ')) : null, el('thead', {}, head), el('tbody', {}, rows));
}
