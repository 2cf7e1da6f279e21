// What other programs of the host did meanwhile, as the profile's signals tell: whose CPU time and whose data on disks.

const LEAST = 0.1; // of the largest

/** [[program, sum]], the largest first: of a signal (on a device, if one is given), between two times in ms. Programs that hold tags are left out. */
export function usersOf({ data, lanes }, name, device, [from, to]) {
  const own = new Set([...new Set(data.ledger.process)].map((text) => data.strings[text].replace(/^rank \d+ /, '').replace(/\[(\d+)\]$/, ' ($1)'))), sums = new Map();
  for (const lane of lanes) {
    const program = lane.class.replace(/ \(\d+\)$/, '');
    if (lane.kind !== 'signal' || lane.name !== name || (device !== undefined && lane.device !== device)) continue;
    if (own.has(lane.class) || program === '?' || program === 'others') continue;
    for (let i = 0; i < lane.begin.length; i++) {
      const part = Math.min(to, lane.begin[i] + lane.bucket_ms) - Math.max(from, lane.begin[i]);
      if (part > 0) sums.set(program, (sums.get(program) || 0) + lane.value[i] * part / lane.bucket_ms);
    }
  }
  const users = [...sums].sort((a, b) => b[1] - a[1]);
  return users.filter((user) => user[1] > 0 && user[1] >= LEAST * users[0][1]).slice(0, 3);
}
