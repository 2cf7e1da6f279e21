// flame_browser.mjs PACKAGES PAGE SCREENSHOTS: what tests/e2e/test_flame asks of a page in a real browser. One line of JSON for each
// check: {name, passed, details}. PACKAGES: where npm has put puppeteer-core. SCREENSHOTS: a folder to keep pictures in, or "".
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { exactly, search } from '../../profiler/flame/page/calc.js';
import { duration } from '../../profiler/flame/page/format.js';

const [packages, path, screenshots] = process.argv.slice(2);
const puppeteer = createRequire(join(resolve(packages), 'package.json'))('puppeteer-core');
const url = pathToFileURL(resolve(path)).href, requests = [], complaints = [];
const wanted = JSON.parse(readFileSync(0, 'utf8')); // what `stallprof top --json` says of the same files

function check(name, passed, ...details) {
  console.log(JSON.stringify({ name, passed: Boolean(passed), details: passed ? [] : details.map((each) => JSON.stringify(each)) }));
}

const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', pipe: true, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });

async function open(fragment = '', at = url) {
  const page = await browser.newPage();
  page.on('request', (request) => requests.push(request.url().replace(/#.*/, '')));
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('dialog', (dialog) => {
    complaints.push(`a dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.setViewport({ width: 1280, height: 900 });
  await page.goto(at + fragment);
  await page.waitForSelector('#graph');
  return page;
}

const fragment = (page) => page.evaluate(() => location.hash);
const text = (page, selector) => page.$eval(selector, (node) => node.textContent);
const pressed = (page) => page.$$eval('[aria-pressed="true"]', (nodes) => nodes.map((node) => node.textContent));
const table = (page) => page.$$eval('.table tbody tr', (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
const shot = (page, name) => (screenshots ? page.screenshot({ path: join(screenshots, name) }) : null);

async function choose(page, dimension, value) {
  await page.select(`select[data-filter="${dimension}"]`, `=${value}`);
}

/** Where the box with this text in it is: found by the pointer, as the graph is a canvas. */
async function boxes(page) {
  return page.evaluate(() => {
    const canvas = document.getElementById('graph'), bounds = canvas.getBoundingClientRect(), tip = document.querySelector('.tip'), seen = new Map();
    for (let y = 8; y < bounds.height; y += 19) {
      for (let x = 4; x < bounds.width; x += 12) {
        canvas.dispatchEvent(new MouseEvent('mousemove', { clientX: bounds.left + x, clientY: bounds.top + y, bubbles: true }));
        const name = tip.hidden ? null : tip.querySelector('b').textContent;
        if (!name) continue;
        if (!seen.has(name)) seen.set(name, { x, y, facts: tip.textContent });
        seen.get(name).to = x;
      }
    }
    canvas.dispatchEvent(new MouseEvent('mouseleave'));
    return Object.fromEntries(seen);
  });
}

async function click(page, box) {
  await page.evaluate(({ x, y }) => {
    const canvas = document.getElementById('graph'), bounds = canvas.getBoundingClientRect();
    canvas.dispatchEvent(new MouseEvent('click', { clientX: bounds.left + x, clientY: bounds.top + y, bubbles: true }));
  }, box);
}

async function opensOnTheAnswer() {
  const page = await open();
  check('it opens on the worst cause', (await fragment(page)) === `#stall=${wanted.worst}`, await fragment(page));
  const ledger = await page.$$eval('.ledger tbody tr', (rows) => rows.map((row) => row.textContent));
  check('the ledger has the classes of top, in its order', JSON.stringify(await page.$$eval('.ledger tbody th', (cells) => cells.map((cell) => cell.textContent))) ===
    JSON.stringify(wanted.classes.map((row) => row.name)), ledger, wanted.classes);
  const cells = await page.$$eval('.ledger tr', (rows) => rows.map((row) => [...row.cells].map((cell) => cell.querySelector('b')?.textContent ?? cell.textContent)));
  check('each cell of the ledger is what top says', JSON.stringify(cells.slice(1)) === JSON.stringify(wanted.cells), cells.slice(1), wanted.cells);
  const first = await text(page, '.answer .who');
  check('the sentence of the worst stall has sum, device and class', wanted.answer.every((part) => first.includes(part)), first, wanted.answer);
  check('the next has the line', (await text(page, '.answer .where')).includes(wanted.line), await text(page, '.answer .where'));
  await shot(page, 'first.png');
  return page;
}

async function filters(page) {
  await choose(page, 'stall', 'writeback');
  check('a filter is in the fragment', (await fragment(page)) === '#stall=writeback', await fragment(page));
  let found = await boxes(page);
  check('and the graph has its sum, as top has', found.all?.facts.includes(wanted.sums.writeback), found.all, wanted.sums);
  check('native frames below Python are folded', found['Writer.write'] && !found.native_write && found.vfs_fsync, Object.keys(found));
  await page.keyboard.press('n');
  found = await boxes(page);
  check('the key n shows them', found.native_write && (await fragment(page)).includes('native=1'), Object.keys(found));
  await page.keyboard.press('n');
  await page.evaluate(() => { location.hash = '#stall=writeback&class=loader'; });
  await page.waitForFunction(() => !document.getElementById('nothing').hidden);
  check('where no sample passes it says so', (await text(page, '#nothing')).includes('No sample') && (await page.$eval('#graph', (node) => node.hidden)));
  await page.keyboard.press('Backspace');
  check('Backspace takes all filters off', (await fragment(page)) === '#all', await fragment(page));
  found = await boxes(page);
  check('all stalls are what top sums', found.all?.facts.includes(wanted.sums.all), found.all, wanted.sums);
  for (const [dimension, value, sum] of wanted.filters) {
    await choose(page, dimension, value);
    found = await boxes(page);
    check(`only ${dimension} ${value} has its sum`, found.all?.facts.includes(sum), found.all, sum);
    await page.keyboard.press('Backspace');
  }
  await page.keyboard.press('b');
  found = await boxes(page);
  check('CPU is another sum', found.all?.facts.includes(wanted.sums.cpu) && (await pressed(page)).includes('CPU'), found.all, await pressed(page));
  await page.keyboard.press('b');
}

async function searches(page) {
  await page.keyboard.press('/');
  await page.keyboard.type('writer.w');
  check('a search says its share', (await text(page, '.found')).startsWith(wanted.search), await text(page, '.found'), wanted.search);
  check('and is in the fragment', (await fragment(page)) === '#q=writer.w', await fragment(page));
  await page.keyboard.press('Escape');
  check('Escape ends it', (await text(page, '.found')) === '' && (await fragment(page)) === '#all', await fragment(page));
  await page.$eval('.answer .where button', (node) => node.click());
  const asked = new URLSearchParams((await fragment(page)).slice(1)).get('q');
  check('a line of the answer is found in the graph', asked === `/^${wanted.line.replaceAll('.', '\\.')}$/` && !(await text(page, '.found')).startsWith('0.0 %'), asked, await text(page, '.found'));
  await page.keyboard.press('Escape');
}

/** The contrast of two colours, [red, green, blue], as WCAG 2.2 defines it. */
function contrast(...colors) {
  const [dark, light] = colors.map((color) => color.map((each) => each / 255).map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)))
    .map(([red, green, blue]) => 0.2126 * red + 0.7152 * green + 0.0722 * blue).sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

const rgb = (color) => (color.startsWith('#') ? color.match(/[0-9a-f]{2}/g).map((each) => parseInt(each, 16)) : color.match(/[\d.]+/g).slice(0, 3).map(Number));

/** Of each text in the graph: [what, its contrast to its box]. */
function contrastsOfGraph(colors, { changeColor, dimmed, KINDS, textOn }) {
  const changes = Array.from({ length: 41 }, (_, i) => (i - 20) / 20), boxes = [...KINDS.map((kind) => colors[kind]), colors.faded, ...changes.map((each) => changeColor(each, colors))];
  const fills = [...boxes, ...boxes.map((fill) => dimmed(fill, colors))], faded = [colors.faded, dimmed(colors.faded, colors), colors.back];
  return [...fills.map((fill) => [`a box ${fill}`, contrast(rgb(textOn(fill)), rgb(fill))]), ...faded.map((fill) => [`faded on ${fill}`, contrast(rgb(colors.fadedText), rgb(fill))])];
}

/** Of texts of the page that stand on a colour: [selector, contrast]. Rows of bases are translucent. */
async function contrastsOfPage(page) {
  const texts = [['.covered', 'back'], ['.filters label', 'panel'], ['.ledger tbody td.cause small', 'cause'], ['.ledger td.cpu small', 'cpu'], ['.ledger td.queue small', 'wait'],
    ['.ledger td.wait small', 'wait'], ['.ledger tr.base td.wait small', 'wait'], ['.ledger tr.base td.none', 'back'], ['.table td.more', 'back'], ['.table td.less', 'back']];
  const found = await page.evaluate((wantedTexts) => wantedTexts.map(([selector, behind]) => {
    const node = document.querySelector(selector), probe = document.body.appendChild(document.createElement('i')), colors = [getComputedStyle(node).color];
    for (const name of [behind, 'back']) {
      probe.style.color = `var(--${name})`;
      colors.push(getComputedStyle(probe).color);
    }
    probe.remove();
    return { selector, colors, opacity: Number(getComputedStyle(node.closest('tr') || node).opacity) };
  }), texts);
  return found.map(({ selector, colors, opacity }) => {
    const [front, behind, back] = colors.map(rgb), seen = (color) => color.map((each, i) => opacity * each + (1 - opacity) * back[i]);
    return [selector, contrast(seen(front), seen(behind))];
  });
}

/** Texts stand out from what is behind them, on light and on dark pages. */
async function contrasts() {
  const page = await open('#class=checkpoint_write&compare=1&base.class=loader'), scheme = { addEventListener() {} };
  globalThis.window = { matchMedia: () => scheme };
  const colors = await import('../../profiler/flame/page/colors.js');
  for (const name of ['light', 'dark']) {
    scheme.matches = name === 'dark';
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: name }]);
    const weak = [...contrastsOfGraph(colors.palette(), colors), ...await contrastsOfPage(page)].filter(([, ratio]) => !(ratio >= 4.5));
    check(`texts of a ${name} page can be told from what is behind them`, weak.length === 0, weak);
  }
  delete globalThis.window;
  await page.close();
}

/** A label is found alone, whatever is in its name and whatever else has that in its. */
function finds() {
  const labels = [['main', 'a.py', 20], ['main', 'a.py', 2], ['domain', 'a.py', 20], ['main', 'a_py', 20], ['f(*[c]) /x/', '', 0], ['two\u2028lines', 'x', 1]]
    .map(([name, file, line]) => ({ name, file, line }));
  const found = labels.map((label) => [label, { ...label, line: 0 }].map((each) => search({ labels }, exactly(each)).join('')).join(' '));
  check('what is found is that line, or that function, alone', JSON.stringify(found) === JSON.stringify(['100000 110000', '010000 110000', '001000 001000', '000100 000100',
    '000010 000010', '000001 000001']), found);
}

async function zooms(page) {
  const before = await boxes(page);
  await click(page, before['Writer.write']);
  const zoomed = await text(page, '.crumbs'), now = await fragment(page);
  check('a click zooms', zoomed.includes('Writer.write') && /z=\d+/.test(now), zoomed, now);
  const other = await open(now);
  check('a colleague sees the same', (await text(other, '.crumbs')) === zoomed && JSON.stringify(await table(other)) === JSON.stringify(await table(page)), now);
  await other.close();
  await page.goBack();
  check('going back undoes it', (await text(page, '.crumbs')) === '', await fragment(page));
  await page.focus('#graph');
  for (const key of [...Array(5).fill('ArrowUp'), 'ArrowDown', 'ArrowDown']) await page.keyboard.press(key);
  check('arrow keys move, and what is there is said', (await text(page, '.focus-text')).includes(wanted.third), await text(page, '.focus-text'));
  await page.keyboard.press('Enter');
  check('Enter zooms', (await text(page, '.crumbs')).includes(wanted.third), await text(page, '.crumbs'));
  await page.keyboard.press('Escape');
  await page.$eval('.answer li', (node) => { node.isOld = true; });
  await page.keyboard.press('i');
  check('the key i turns it', (await fragment(page)) === '#view=flame', await fragment(page));
  check('an answer that is the same stays, so that it is not read aloud again', await page.$eval('.answer li', (node) => node.isOld));
  await page.keyboard.press('i');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('n');
  await page.keyboard.press('Enter');
  check('where boxes are others, no box has the focus still', (await fragment(page)) === '#native=1' && (await text(page, '.focus-text')) === '', await fragment(page));
  await page.keyboard.press('n');
  await choose(page, 'stall', 'writeback');
  check('another answer is said', !(await page.$eval('.answer li', (node) => node.isOld)) && (await text(page, '.answer .who')).startsWith('writeback'), await text(page, '.answer'));
  await page.keyboard.press('Backspace');
}

async function tables(page) {
  const own = await table(page);
  check('the table has the own lines of top', own[0][0].includes(wanted.line.split(' ')[0]) || own[0][0].includes(wanted.own), own, wanted.own);
  await page.keyboard.press('t');
  const rows = await table(page), found = rows.find((row) => row[0].startsWith('Writer.write'));
  check('the other one has self and total', found && found[1] === '–' && found[2] === wanted.function, rows, wanted.function);
  await page.keyboard.press('t');
}

async function ranges(page) {
  const area = await page.$eval('.timeline .overlay', (node) => {
    const bounds = node.getBoundingClientRect();
    return { x: bounds.left, y: bounds.top + bounds.height / 2, width: bounds.width };
  });
  await page.mouse.move(area.x + 2, area.y);
  await page.mouse.down();
  await page.mouse.move(area.x + area.width * 0.55, area.y, { steps: 4 });
  await page.mouse.up();
  check('dragging selects a range of whole slices', (await fragment(page)) === `#range=${wanted.range.text}`, await fragment(page), wanted.range);
  const found = await boxes(page);
  check('and the graph has its sum', found.all?.facts.includes(wanted.range.sum), found.all, wanted.range);
  const lanes = await page.$$eval('.timeline canvas', (nodes) => nodes[0].height);
  check('lanes are drawn', lanes > 20, lanes);
  await page.keyboard.press('Backspace');
}

async function compares(page) {
  await page.keyboard.press('c');
  await page.select('.filters[aria-label="now"] select[data-filter="class"]', '=checkpoint_write');
  await page.select('.filters[aria-label="base"] select[data-filter="class"]', '=loader');
  check('two filters are compared', (await text(page, '#compared')).includes(wanted.compared), await text(page, '#compared'), wanted.compared);
  const now = await fragment(page);
  check('both are in the fragment', now.includes('class=checkpoint_write') && now.includes('base.class=loader'), now);
  const found = await boxes(page), facts = found['Writer.write']?.facts || '';
  check('a box has both sides', facts.includes(`${wanted.function}now`) && facts.includes('in the base'), facts);
  await shot(page, 'compare.png');
  const both = `now ${wanted.function}, base 0 ns`;
  await page.keyboard.press('/');
  await page.keyboard.type('writer.w');
  check('a search says what each side has', (await text(page, '.found')) === `matches: ${both}`, await text(page, '.found'), both);
  await page.keyboard.press('Escape');
  await click(page, found['Writer.write']);
  check('so does the zoomed box', (await text(page, '.crumbs')).endsWith(`: ${both}`), await text(page, '.crumbs'), both);
  await page.focus('#graph');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowDown');
  check('and where the keys are', (await text(page, '.focus-text')).endsWith(`: ${both}`), await text(page, '.focus-text'), both);
  await page.keyboard.press('Escape');
  const other = await open(now);
  check('a comparison comes back from its fragment', (await text(other, '#compared')) === (await text(page, '#compared')));
  await other.close();
  await page.keyboard.press('c');
}

/** What has the focus: its filter, or its text. */
const focused = (page) => page.evaluate(() => document.activeElement.dataset.filter || document.activeElement.title || document.activeElement.id || document.activeElement.textContent.slice(0, 40));

/** With keys alone: what is chosen keeps the focus, or what is in its place has it. */
async function keepsFocus(page) {
  await page.keyboard.press('Backspace');
  await page.focus('select[data-filter="class"]');
  for (let i = 0; i < 2; i++) await page.keyboard.press('ArrowDown');
  const chosen = await page.$eval('select[data-filter="class"]', (node) => node.selectedIndex);
  check('the arrow keys go on through the options of a filter', chosen === 2 && (await focused(page)) === 'class', chosen, await focused(page));
  await page.keyboard.press('Tab');
  check('Tab goes to the next filter', (await focused(page)) === 'stall', await focused(page));
  await page.keyboard.press('Backspace');
  check('Backspace in a filter takes all off', (await fragment(page)) === '#all' && (await focused(page)) === 'stall', await fragment(page), await focused(page));
  for (const [name, selector] of [['a switch', '.switches button[title^="The outermost function at the bottom"]'], ['a cell of the ledger', '.ledger button[title="Show block_io of loader"]'],
    ['a row of the table', '.table td.name button'], ['a measure of a comparison', '#compare']]) {
    await page.focus(selector);
    const before = await focused(page);
    await page.keyboard.press('Enter');
    check(`${name} has the focus still when it was chosen`, (await focused(page)) === before, before, await focused(page));
  }
  await page.keyboard.press('c');
  await page.evaluate(() => { location.hash = '#tab=functions'; });
  await page.waitForSelector('.table th[aria-sort="none"] button');
  await page.focus('.table th[aria-sort="none"] button');
  await page.keyboard.press('Enter');
  check('and a head of the table by which it is sorted', (await focused(page)) === 'self ▾', await focused(page));
  check('by what it is sorted is in the fragment', (await fragment(page)) === '#tab=functions&sort=self', await fragment(page));
  await page.evaluate(() => { location.hash = '#tab=functions&class=loader&stall=block_io'; });
  await page.waitForSelector('select.set[data-filter="class"]');
  await page.evaluate(() => [...document.querySelectorAll('.filters button')].pop().focus());
  await page.keyboard.press('Enter');
  check('where it is gone, what is beside it has it', (await fragment(page)).startsWith('#tab') && (await focused(page)) === 'process', await fragment(page), await focused(page));
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('t');
}

async function hostile(page) {
  const injected = await page.evaluate(() => ({ ran: window.pwned !== undefined, images: document.images.length, scripts: document.scripts.length,
    inside: document.querySelectorAll('main script, main img, main iframe').length }));
  check('names that are HTML are text', !injected.ran && injected.images === 0 && injected.inside === 0 && injected.scripts === 2, injected);
  await choose(page, 'class', wanted.hostile);
  check('such a name can be chosen, and comes back', decodeURIComponent((await fragment(page)).replace(/\+/g, ' ')) === `#class=${wanted.hostile}` &&
    (await boxes(page)).all?.facts.includes(wanted.hostileSum), await fragment(page));
  await page.keyboard.press('Backspace');
}

async function twoProfiles() {
  const { pair } = wanted, at = pathToFileURL(resolve(pair.page)).href, page = await open('', at);
  check('two profiles open on their difference, of the worst cause', (await text(page, '#compared')).startsWith(pair.compared), pair, await text(page, '#compared'));
  check('which is in the fragment', (await fragment(page)) === '#stall=block_io&side=&compare=1&base.stall=block_io&base.side=base', await fragment(page));
  await page.keyboard.press('Backspace');
  check('without a filter each side is still its own', (await text(page, '#compared')).startsWith(pair.whole) &&
    (await fragment(page)) === '#side=&compare=1&base.stall=block_io&base.side=base', await text(page, '#compared'), pair.whole, await fragment(page));
  await page.evaluate(() => { location.hash = '#stall=writeback'; });
  await page.waitForSelector('.filters[aria-label="filters"] select[data-filter="host"]');
  const sides = await page.$$eval('select[data-filter="side"]', (nodes) => nodes.map((node) => [node.value, ...[...node.options].map((option) => option.value).sort()].join(' ')));
  check('a link that names neither of two profiles shows one, and none shows both as one', JSON.stringify(sides) === '["= = =base"]' &&
    (await boxes(page)).all?.facts.includes(pair.ofOne), sides, pair.ofOne);
  await choose(page, 'host', pair.host);
  const found = await boxes(page);
  check('one of two hosts can be chosen', found.all?.facts.includes(pair.hostSum), found.all, pair);
  await page.close();
  return at;
}

/** In the reader's own time zone, which it names. */
const moment = (page, ms) => page.evaluate((at) => new Date(at).toLocaleString(undefined, {
  year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit', timeZoneName: 'short' }), ms);

async function waitsThatAreLong() {
  const { pair } = wanted, at = pathToFileURL(resolve(pair.lock)).href, page = await open('', at), first = await text(page, '.answer .who');
  check('where threads were blocked for longer than by the worst stall, both are said', first.includes(pair.stalled) && first.includes(`lock: ${pair.locked}, all of it of loader`), first);
  await page.$$eval('.answer .who button', (nodes) => nodes.find((node) => node.textContent === 'lock').click());
  check('and one click shows those waits', (await fragment(page)) === '#class=loader&stall=lock' && !(await text(page, '#nothing')).includes('holds'), await fragment(page));
  await page.evaluate(() => { location.hash = '#stall=block_io'; });
  await page.waitForSelector('#graph:not([hidden])');
  check('a command that is named as a checkpoint is none', !(await text(page, '.answer')).includes('Checkpoints'), await text(page, '.answer'));
  await page.evaluate(() => { location.hash = '#stall=block_io&range=1400-2000'; });
  await page.waitForFunction(() => document.querySelector('.timeline .note').textContent.startsWith('Selected'));
  const found = await boxes(page);
  check('of a wait that is longer than its slice, a time has the part that lies in it', found.all?.facts.includes(pair.part), found.all, pair.part);
  await page.evaluate(() => { location.hash = '#stall=block_io&range=-500-2000'; });
  await page.waitForFunction(() => document.querySelector('.timeline .note').textContent.startsWith('Selected: 2.50 s'));
  await page.keyboard.press('i');
  check('a time may begin before the first window', (await fragment(page)) === '#view=flame&stall=block_io&range=-500-2000', await fragment(page));
  const zone = await page.evaluate(() => new Intl.DateTimeFormat(undefined, { timeZoneName: 'short' }).formatToParts(0).find((part) => part.type === 'timeZoneName').value);
  const head = await text(page, '.covered');
  check('the head says when, and in which time zone', head.includes(await moment(page, pair.laterMs)) && head.includes(zone), head, zone);
  await page.close();
  const later = pathToFileURL(resolve(pair.later)).href, both = await open('', later), heads = await text(both, '.covered');
  const now = heads.indexOf(await moment(both, pair.laterMs)), base = heads.indexOf(await moment(both, pair.baseMs));
  check('with a base it has the times of both, each where it belongs', now > 0 && base > heads.indexOf('base') && heads.indexOf('base') > now, heads);
  await both.evaluate(() => { location.hash = '#stall=block_io&side=&range=7201400-7202000'; });
  await both.waitForSelector('.filters[aria-label="filters"] .tag');
  check('a selected time counts from the begin of its own profile', (await text(both, '.filters .tag')).startsWith('400 ms – 1.00 s of the run'), await text(both, '.filters .tag'));
  await both.keyboard.press('c');
  check('and is none of the base, which is of another time', (await fragment(both)).endsWith('&range=7201400-7202000&compare=1&base.stall=block_io&base.side=base') &&
    (await text(both, '#compared')).includes(`base ${wanted.answer[0]}`), await fragment(both), await text(both, '#compared'));
  await both.close();
  return [at, later];
}

/** A run that loses something all the time, and more in a part of it. */
async function stretches() {
  const pages = [];
  for (const [name, said] of [['uneven', 'When: all the time, but not evenly: 20.0 s – 23.0 s of the run has 17.4 % of it, 2.6 times as dense as the rest.'],
    ['even', 'When: all the time, about evenly.']]) {
    const at = pathToFileURL(resolve(wanted.pair[name])).href, page = await open('', at), answer = await text(page, '.answer');
    check(`a run that is ${name} is said to be so`, answer.includes(said), answer);
    await page.close();
    pages.push(at);
  }
  const at = pathToFileURL(resolve(wanted.pair.waits)).href, page = await open('', at), loop = await text(page, '.answer .loop');
  check('it opens on what the loop waits for, if that is no stall', (await fragment(page)) === '#class=step&stall=pipe', await fragment(page));
  check('and says so first', loop.includes('step lost most: 6.00 s (30.0 % of its time), of it 6.00 s pipe'), loop);
  check('and who ended that, and for what that one waited', loop.includes('100.0 % of it ended by queue, 75.0 % behind block_io on vda of loader'), loop);
  await page.close();
  const brief = pathToFileURL(resolve(wanted.pair.brief)).href, other = await open('', brief);
  check('it does not open on waits of which there are no samples', (await fragment(other)) === `#stall=${wanted.pair.briefCause}`, await fragment(other));
  await other.close();
  const turns = pathToFileURL(resolve(wanted.pair.seldom)).href, turn = await open('', turns), saved = await text(turn, '.answer .loop');
  check('what a thread does seldom, in turn with its steps, is of the loop', saved.includes('save lost most: 1.50 s (88.2 % of its time), of it 1.50 s lock; then step: 1.00 s (50.0 % of its time)'), saved);
  await turn.close();
  return [...pages, at, brief, turns];
}

/** Samples that take time back: boxes stay in their parents. */
async function takenBack() {
  const at = pathToFileURL(resolve(wanted.pair.back)).href, page = await open('#stall=pipe', at);
  for (const way of ['', 'compared with itself, ']) {
    const { main, 'Loader.read': read, vfs_fsync: beside } = await boxes(page);
    check(`${way}a box is as wide as what is in it, if some of that is taken back`, read.to === main.to && beside.x > main.to, main, read, beside);
    check(`${way}and says its sum`, main.facts.includes('16.0 s') && read.facts.includes('20.0 s'), main, read);
    await page.keyboard.press('c');
  }
  await page.close();
  return at;
}

/** Where a stall or a tag alone was written, the timeline has more than the samples: nothing is said of the stall by that. */
async function writtenAlone() {
  const { alone } = wanted, stall = pathToFileURL(resolve(alone.stall)).href, page = await open('', stall);
  check('a page of one stall alone opens on that', (await fragment(page)) === '#stall=pipe' && (await boxes(page)).all?.facts.includes(alone.stallSum), await fragment(page), alone);
  check('it does not say when that was', !(await text(page, '.answer')).includes('When:'), await text(page, '.answer'));
  await page.keyboard.press('Backspace');
  const nothing = await text(page, '#nothing');
  check('it does not say that the profile has no other stalls', nothing.startsWith('There are no stalls in this page, which has the samples of --stall pipe alone'), nothing);
  await page.close();
  const tag = pathToFileURL(resolve(alone.tag)).href, other = await open('', tag), answer = await text(other, '.answer'), note = await text(other, '.timeline .note');
  check('a page of one tag alone opens on its worst stall', (await fragment(other)) === '#stall=block_io' && answer.includes(alone.tagSum), answer, alone);
  check('and says only what is of that tag', !['When:', 'Checkpoints:', 'The loop:'].some((part) => answer.includes(part)), answer);
  check('its timeline says that it has more', note.endsWith('The lanes have also what --tag loader left out.'), note);
  await other.close();
  return [stall, tag];
}

/** Samples of CPUs are of no stall where --oncpu-hz asked for those: nothing calls them stalls. */
async function onTheCpu() {
  const at = pathToFileURL(resolve(wanted.cpu)).href, page = await open('', at), told = async (hash) => {
    await page.evaluate((fragment) => { location.hash = fragment; }, hash);
    await page.waitForFunction((stall) => document.querySelector('select[data-filter="stall"]').value === (stall ? `=${stall}` : ''), {}, new URLSearchParams(hash.slice(1)).get('stall'));
    return text(page, '.answer .who');
  };
  const options = await page.$$eval('select[data-filter="stall"] option', (nodes) => nodes.map((node) => node.textContent));
  check('what ran on the CPU is no stall', (await fragment(page)) === '#type=cpu' && (await text(page, '.answer .who')).startsWith('On the CPU: 8.04 s; train_step has'), await fragment(page), await text(page, '.answer'));
  check('what ran outside of stalls is said to be that', (await told('#type=cpu&stall=none')).startsWith('On the CPU outside of stalls: 8.00 s; train_step has 100.0 %'), await text(page, '.answer'));
  check('and so in the list of stalls', options[0] === 'all' && options.includes('none: on the CPU outside of stalls (8.00 s)'), options);
  check('what ran inside of one, too', (await told('#type=cpu&stall=block_io')).startsWith('On the CPU during block_io on vda: 40.0 ms; loader has'), await text(page, '.answer'));
  const meaning = () => page.$$eval('.switches button', (nodes) => nodes.find((node) => node.textContent === 'CPU').title);
  check('the switch says so', (await meaning()) === 'Time on the CPU', await meaning());
  await page.evaluate(() => { location.hash = '#type=cpu&stall=writeback'; });
  await page.waitForSelector('#nothing:not([hidden])');
  check('where there is none it says where some are', (await text(page, '#nothing')) === 'No CPU samples pass these filters. Choose "none" as stall for what ran outside of stalls.', await text(page, '#nothing'));
  await page.close();
  const other = await open('#type=cpu&stall=journal');
  await other.waitForSelector('#nothing:not([hidden])');
  check('without such samples, that they are inside of stalls alone', (await text(other, '#nothing')).includes('inside of stalls alone'), await text(other, '#nothing'));
  await other.close();
  return at;
}

/** As test_text_cells has them of top. */
function durations() {
  const cases = [[999, '999 ns'], [999500, '1.00 ms'], [9994000, '9.99 ms'], [9996000, '10.0 ms'], [99940000, '99.9 ms'], [99960000, '100 ms'], [999499999, '999 ms'], [999500000, '1.00 s'],
    [2125000, '2.12 ms'], [2375000, '2.38 ms'], [12250000, '12.2 ms'], [-99960000, '-100 ms']];
  for (const [ns, want] of cases) check(`${ns} ns are ${want}, as in top`, duration(ns) === want, duration(ns));
}

/** The classes in the order in which they lost time; where no tag was pushed, those of processes are none that idle. */
async function ledgers() {
  for (const [file, classes] of wanted.ledgers) {
    const page = await open('', pathToFileURL(resolve(file)).href);
    const rows = await page.$$eval('.ledger tbody tr', (nodes) => nodes.map((node) => [node.cells[0].textContent, node.classList.contains('base')]));
    check('the classes of processes stand where top has them', JSON.stringify(rows) === JSON.stringify(classes), rows, classes);
    await page.close();
  }
  return wanted.ledgers.map(([file]) => pathToFileURL(resolve(file)).href);
}

/** Of one of two hosts, nothing is said that is known of both together alone. */
async function oneHost() {
  const at = pathToFileURL(resolve(wanted.pair.hosts)).href, page = await open('#stall=block_io', at), both = await text(page, '.answer');
  const ofAll = ['When:', 'Who used vda'];
  check('of two hosts, it says when it was, and who used the disk', ofAll.every((part) => both.includes(part)), both);
  const cells = () => page.$$eval('.ledger tbody tr', (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)).find((row) => row[0] === 'step'));
  const ofBoth = await cells();
  check('and how long steps took', ofBoth[1] !== '–' && ofBoth.slice(-3).every((cell) => cell !== '–'), ofBoth);
  await choose(page, 'host', 'node22');
  const one = await text(page, '.answer'), ofOne = await cells();
  check('of one of them it does not', !ofAll.some((part) => one.includes(part)), one);
  check('nor how many threads and how long its steps', ofOne[1] === '–' && ofOne.slice(-3).every((cell) => cell === '–') &&
    (await text(page, '.ledger caption')).includes('all hosts and processes together'), ofOne);
  check('who ended its waits is of it alone', one.includes('100.0 % of it ended by socket'), one, both);
  check('and the timeline says of what it is', (await text(page, '.timeline .note')).includes('all hosts and processes'), await text(page, '.timeline .note'));
  for (const [key, value] of [['process', 'python3[13]'], ['waker', 'queue'], ['inherited', 'block_io on vda of loader']]) {
    await page.evaluate((filter) => { location.hash = `#stall=block_io&${new URLSearchParams(filter)}`; }, { [key]: value });
    await page.waitForSelector(`select.set[data-filter="${key}"]`);
    const answer = await text(page, '.answer');
    check(`nor when all was, of ${key} ${value}`, answer.includes('Where:') && !answer.includes('When:'), answer);
  }
  await page.close();
  return at;
}

try {
  const page = await opensOnTheAnswer();
  for (const part of [filters, searches, finds, zooms, tables, ranges, compares, keepsFocus, hostile, contrasts]) await part(page);
  durations();
  const others = [await twoProfiles(), await onTheCpu(), ...await waitsThatAreLong(), ...await stretches(), await oneHost(), await takenBack(), ...await writtenAlone(), ...await ledgers()];
  check('nothing is asked of the network', requests.every((each) => each === url || others.includes(each)), requests);
  check('the browser has nothing to complain of', complaints.length === 0, complaints);
} catch (error) {
  check('the browser did all that it was asked', false, String(error.stack));
} finally {
  await browser.close();
}
