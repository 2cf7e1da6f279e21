// build.mjs PACKAGES OUTPUT: bundles the page into one HTML file. PACKAGES is where npm has put node_modules.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const packages = resolve(process.argv[2]);
const output = process.argv[3];
const esbuild = createRequire(join(packages, 'package.json'))('esbuild');

async function bundle(entry, options) {
  const result = await esbuild.build({
    entryPoints: [join(here, entry)],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    legalComments: 'none', // all licences stand in the page, below
    absWorkingDir: here,
    nodePaths: [join(packages, 'node_modules')],
    ...options,
  });
  return { text: result.outputFiles[0].text.trim(), inputs: Object.keys(result.metafile.inputs) };
}

/** What the bundle has of others: name, version and licence text of each package. */
function notices(inputs) {
  const names = new Set();
  for (const input of inputs) {
    const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found) names.add(found[1]);
  }
  return [...names].sort().map((name) => {
    const folder = join(packages, 'node_modules', name);
    const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const file = ['LICENSE', 'LICENSE.md', 'LICENSE.txt'].map((each) => join(folder, each)).find(existsSync);
    if (!file) throw new Error(`${name} has no licence file`);
    return `${name} ${version} (${license})\n\n${readFileSync(file, 'utf8').trim()}\n`;
  });
}

const script = await bundle('main.js', { format: 'iife', target: 'es2020', charset: 'utf8' });
const style = await bundle('page.css', {});
const parts = {
  '@CSP@': `'sha256-${createHash('sha256').update(script.text).digest('base64')}'`,
  '@STYLE@': style.text,
  '@NOTICES@': notices(script.inputs).join('\n').replace(/&/g, '&amp;').replace(/</g, '&lt;'),
  '@SCRIPT@': script.text,
};
if (/<\/script/i.test(script.text)) throw new Error('the script would end its own element');
let page = readFileSync(join(here, 'page.html'), 'utf8');
for (const [mark, text] of Object.entries(parts)) {
  if (page.split(mark).length !== 2) throw new Error(`page.html does not have ${mark} once`);
  page = page.replace(mark, () => text);
}
writeFileSync(output, page);
