// Builds the code of the isolates of the Worker Loader and the bundled skills, as text into src/backends/dist. Skips outputs that are newer than
// all inputs. The same sources are parts of the worker for deployments without a loader (scripts/lib/bundle-worker.mjs).
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { waitForBuilds } from './lib/build-lock.mjs'
import { packagePlugins } from './lib/package-plugins.mjs'
import { copyReference } from './lib/reference.mjs'
import { buildDocs } from './build-docs.mjs'
import { buildWeb } from './build-web.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const backends = join(root, 'src/backends')
const output = join(backends, 'dist')
const rooms = ['virtual', 'isolate', 'plugins', 'pdf', 'office', 'make-document', 'search', 'web']
  .map((name) => join(backends, name))
  .concat(join(root, 'src/agent/core'))
const targets = [
  { entry: 'virtual/isolate/entry.ts', file: 'bash.isolate.txt' },
  { entry: 'isolate/compile/entry.ts', file: 'compile.isolate.txt' },
  { entry: 'isolate/inside/entry.ts', file: 'run.isolate.txt' },
  { entry: 'plugins/inside/entry.ts', file: 'plugin.isolate.txt' },
  { entry: 'pdf/inside/entry.ts', file: 'pdf.isolate.txt' },
  { entry: 'office/inside/entry.ts', file: 'office.isolate.txt' },
  { entry: 'web/page/inside/entry.ts', file: 'page.isolate.txt' },
  ...['docx', 'xlsx', 'pptx', 'pdf', 'svg', 'png'].map((kind) => ({
    entry: `make-document/inside/entry-${kind}.ts`,
    file: `write-${kind}.isolate.txt`,
  })),
  { entry: 'search/inside/entry.ts', file: 'search.isolate.txt' },
]

// Bytes that isolates get as modules: a program, and a font with Latin, Greek, Cyrillic and more.
const assets = [
  { source: '@resvg/resvg-wasm/index_bg.wasm', file: 'resvg-wasm.isolate.txt' },
  { source: 'dejavu-fonts-ttf/ttf/DejaVuSans.ttf', file: 'font-sans.isolate.txt' },
]

/** The skills that every tenant has: each is a folder with a SKILL.md. Stored by name, as JSON. */
const skills = join(backends, 'skills/bundled')
const skillsFile = { file: 'bundled-skills.isolate.txt' }
const skillNames = readdirSync(skills).toSorted()
const skillOf = (name) => join(skills, name, 'SKILL.md')

const inputs = [
  fileURLToPath(import.meta.url),
  join(root, 'scripts/lib/package-plugins.mjs'),
  join(root, 'scripts/lib/just-bash.mjs'),
  join(root, 'scripts/lib/pdfjs.mjs'),
  join(root, 'scripts/lib/turndown.mjs'),
  join(root, 'node_modules/just-bash/package.json'),
  join(root, 'node_modules/diff/package.json'),
  join(root, 'node_modules/turndown/package.json'),
  join(root, 'node_modules/isomorphic-git/package.json'),
  join(root, 'node_modules/modern-tar/package.json'),
  join(root, 'node_modules/acorn/package.json'),
  join(root, 'node_modules/@mdream/js/package.json'),
  join(root, 'node_modules/@mozilla/readability/package.json'),
  join(root, 'node_modules/linkedom/package.json'),
  join(root, 'node_modules/htmlparser2/package.json'),
  join(root, 'node_modules/sucrase/package.json'),
  join(root, 'node_modules/re2js/package.json'),
  join(root, 'node_modules/unpdf/package.json'),
  ...assets.map(({ source }) => join(root, 'node_modules', source)),
  ...['docx', 'write-excel-file', 'pptxgenjs', 'pdf-lib', 'beautiful-mermaid', '@pdf-lib/fontkit'].map((name) =>
    join(root, `node_modules/${name}/package.json`),
  ),
  join(root, 'node_modules/yaml/package.json'),
  ...skillNames.map(skillOf),
  join(backends, 'tar.ts'),
  join(backends, 'omitted-output.ts'),
  ...rooms.flatMap((room) =>
    readdirSync(room, { recursive: true })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(room, name)),
  ),
]
const outputOf = ({ file }) => join(output, file)
const age = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
const newest = Math.max(...inputs.map(age))

async function build() {
  const { build: bundle } = await import('esbuild')
  mkdirSync(output, { recursive: true })
  // Files of an earlier build that nothing reads any more.
  const current = new Set([...targets, ...assets, skillsFile].map(({ file }) => file))
  for (const name of readdirSync(output)) if (!current.has(name)) rmSync(join(output, name))
  for (const { source, file } of assets) {
    const packed = gzipSync(readFileSync(join(root, 'node_modules', source)), { level: 9 }).toString('base64')
    writeFileSync(outputOf({ file }), packed)
  }
  const texts = skillNames.map((name) => [name, readFileSync(skillOf(name), 'utf8')])
  writeFileSync(outputOf(skillsFile), JSON.stringify(Object.fromEntries(texts)))
  for (const { entry, file } of targets) {
    const result = await bundle({
      entryPoints: [join(backends, entry)],
      bundle: true,
      write: false,
      format: 'esm',
      target: 'es2023',
      conditions: ['workerd', 'worker', 'browser'],
      external: ['cloudflare:*', 'node:*', 'program.js', 'font.ttf', 'resvg.wasm'],
      minify: true,
      legalComments: 'none',
      logLevel: 'error',
      plugins: packagePlugins,
    })
    const code = result.outputFiles[0].text
    // The first line names the contents, so that a loader never serves an older build under the same name.
    const version = createHash('sha256').update(code).digest('hex').slice(0, 16)
    writeFileSync(outputOf({ file }), `// ${version}\n${code}`)
    console.log(`${file} ${Math.round(code.length / 1024)} KiB`)
  }
}

await waitForBuilds()
await copyReference()
await Promise.all([buildWeb(), buildDocs()])
if ([...targets, ...assets, skillsFile].some((target) => age(outputOf(target)) < newest)) await build()
