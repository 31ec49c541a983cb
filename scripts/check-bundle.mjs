// Checks the size of the worker's core, which is loaded before the first request is answered. Bundles it with esbuild as
// wrangler does (sizes differ by a tenth of a percent) and fails when the compressed size exceeds the budget. Files of
// src/backends/dist are loaded on demand and counted separately.
import { readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { root } from './lib/root.mjs'

/** KiB, minified and compressed: 1.15 × the required packages (390). Do not raise it. */
const budget = 448

const apart = [
  'anthropic.inline.mjs',
  'bash.inline.mjs',
  'bash.isolate.txt',
  'bedrock.inline.mjs',
  'compile.isolate.txt',
  'demo.inline.mjs',
  'jose.inline.mjs',
  'json-schema.inline.mjs',
  'openai.inline.mjs',
  'openapi.inline.mjs',
  'run.isolate.txt',
  'pdf.inline.mjs',
  'pdf.isolate.txt',
  'office.inline.mjs',
  'office.isolate.txt',
  'search.inline.mjs',
  'search.isolate.txt',
  'shell-policy.inline.mjs',
  'skill-index.inline.mjs',
  'skills.inline.mjs',
  'workers-ai.inline.mjs',
]
const shown = 12

const started = performance.now()
const bundle = build({
  entryPoints: [join(root, 'src/worker/index.ts')],
  absWorkingDir: root,
  bundle: true,
  write: false,
  outdir: 'dist',
  metafile: true,
  minify: true,
  legalComments: 'none',
  logLevel: 'error',
  // The following options are those of wrangler.
  format: 'esm',
  target: 'es2024',
  platform: 'browser',
  conditions: ['workerd', 'worker', 'browser'],
  keepNames: false,
  define: { 'process.env.NODE_ENV': '"production"', process: 'undefined' },
  external: ['cloudflare:*', 'node:*', ...apart.map((name) => `*/${name}`)],
})
// esbuild has printed the errors.
const { outputFiles, metafile } = await bundle.catch(() => process.exit(1))

const kib = (bytes) => bytes / 1024
const compressed = (bytes) => kib(gzipSync(bytes, { level: 9 }).length)
const [core] = outputFiles
const size = compressed(core.contents)

for (const [name, bytes] of largest(metafile)) console.log(`${kib(bytes).toFixed(1).padStart(8)} KiB  ${name}`)
console.log(
  `${kib(core.contents.length).toFixed(1).padStart(8)} KiB  in all, minified; sizes above are before compression`,
)
for (const name of apart) {
  const file = join(root, 'src/backends/dist', name)
  if (statSync(file, { throwIfNoEntry: false }))
    console.log(`${name}, not part of the core: ${compressed(readFileSync(file)).toFixed(0)} KiB gzip`)
}
console.log(`core ${size.toFixed(1)} KiB gzip, budget ${budget} KiB (${Math.round(performance.now() - started)} ms)`)
if (size > budget) {
  console.error(`The core is ${(size - budget).toFixed(1)} KiB over its budget. See the largest parts above.`)
  process.exitCode = 1
}

/** Sums the bytes of the output by package, and by room of src. */
function largest({ outputs }) {
  const [output] = Object.values(outputs)
  const sums = new Map()
  for (const [input, { bytesInOutput }] of Object.entries(output.inputs)) {
    const name = partOf(relative(root, join(root, input)).replaceAll('\\', '/'))
    sums.set(name, (sums.get(name) ?? 0) + bytesInOutput)
  }
  return [...sums].toSorted(([, a], [, b]) => b - a).slice(0, shown)
}

function partOf(file) {
  const [, dependency] = /(?:^|.*\/)node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file) ?? []
  if (dependency) return dependency
  return /^src\/agent\/[^/]+|^src\/[^/]+/.exec(file)?.[0] ?? file
}
