// Numbers as text, in the form that `stallprof top` has.

const UNITS = [[1e9, 's'], [1e6, 'ms'], [1e3, 'us']];

/** As C's printf: a number halfway between two goes to the even one. Only multiples of 1/8 are that, to two digits; toFixed() rounds them up. */
function fixed(value, places) {
  const scaled = value * 10 ** places, below = Math.floor(scaled);
  return (Number.isInteger(value * 8) && scaled - below === 0.5 ? (below + below % 2) / 10 ** places : value).toFixed(places);
}

/** Three digits: not 10.00, which is 10.0. */
function digits(value) {
  return fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

/** "12.3 s", "1.23 ms", "123 us", "12 ns". */
export function duration(ns) {
  const size = Math.abs(ns), sign = ns < 0 ? '-' : '';
  for (const [one, unit] of UNITS) {
    if (size / one >= 0.9995) return `${sign}${digits(size / one)} ${unit}`;
  }
  return `${sign}${size.toFixed(0)} ns`;
}

export function bytes(count) {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0, value = count;
  while (value >= 1024 && unit + 1 < names.length) {
    value /= 1024;
    unit++;
  }
  return unit ? `${digits(value)} ${names[unit]}` : `${count} B`;
}

export function count(value) {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ',');
}

/** A value of a sample type. */
export function amount(value, unit) {
  if (unit === 'nanoseconds') return duration(value);
  return unit === 'bytes' ? bytes(value) : count(value);
}

export function percent(part, whole) {
  return whole ? `${(100 * part / whole).toFixed(1)} %` : '–';
}

/** Day and time by the reader's clock, with the name of its time zone. */
export function moment(unixMs) {
  return new Date(unixMs).toLocaleString(undefined, {
    year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit', timeZoneName: 'short',
  });
}

/** A moment of the run, by the reader's clock. */
export function clock(unixMs, withMs) {
  const at = new Date(unixMs), two = (n) => String(n).padStart(2, '0');
  const text = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  return withMs ? `${text}.${String(at.getMilliseconds()).padStart(3, '0')}` : text;
}
