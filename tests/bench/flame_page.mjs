// flame_page.mjs PACKAGES PAGE PEER ROUNDS: how long Chromium takes for the page of `stallprof flame`, until its first picture is
// painted and from a choice to the painted change; and for a page of d3-flame-graph with the same stacks (PEER). One JSON object.
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [packages, page, peer, rounds] = process.argv.slice(2);
const puppeteer = createRequire(join(resolve(packages), 'package.json'))('puppeteer-core');
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', pipe: true, protocolTimeout: 300000,
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
const FILTERS = ['#stall=writeback', '#class=loader', '#all', '#stall=block_io&device=vda', '#stall=block_io&range=20000-60000',
  '#stall=block_io&class=train_step&tab=functions', '#stall=block_io&q=method_3', '#class=loader&compare=1&base.class=train_step'];
const found = { first_ms: [], first_cpu_ms: [], filter_ms: [], filter_cpu_ms: [], peer_first_ms: [], peer_filter_ms: [] };

/** A function that returns the CPU time in ms that the page's thread took since it was last called. */
async function stopwatch(tab) {
  const client = await tab.createCDPSession();
  await client.send('Performance.enable', { timeDomain: 'threadTicks' });
  let before = 0;
  return async () => {
    const { metrics } = await client.send('Performance.getMetrics'), now = 1000 * metrics.find((each) => each.name === 'TaskDuration').value;
    const took = now - before;
    before = now;
    return took;
  };
}

async function open(file, ready) {
  const tab = await browser.newPage();
  await tab.setViewport({ width: 1280, height: 800 });
  const cpu_ms = await stopwatch(tab);
  await tab.goto(pathToFileURL(resolve(file)).href);
  await tab.waitForFunction(ready, { timeout: 120000, polling: 50 });
  return { tab, cpu_ms };
}

for (let round = 0; round < Number(rounds); round++) {
  const { tab, cpu_ms } = await open(page, () => performance.getEntriesByName('stallprof-first-paint').length);
  found.first_cpu_ms.push(await cpu_ms());
  found.first_ms.push(await tab.evaluate(() => performance.getEntriesByName('stallprof-first-paint')[0].duration));
  for (const filter of FILTERS) {
    found.filter_ms.push(await tab.evaluate((fragment) => new Promise((done) => {
      const begun = performance.now();
      location.hash = fragment;
      window.addEventListener('hashchange', () => requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun))), { once: true });
    }), filter));
    found.filter_cpu_ms.push(await cpu_ms());
  }
  await tab.close();
  const { tab: other } = await open(peer, () => window.measured);
  const measured = await other.evaluate(() => window.measured);
  found.peer_first_ms.push(measured.first_ms);
  found.peer_filter_ms.push(measured.filter_ms);
  await other.close();
}
await browser.close();
console.log(JSON.stringify(found));
