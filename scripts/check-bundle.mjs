// Checks the size of the worker's core, which is loaded before the first request is answered: the entry and all that it
// imports statically. Fails when the compressed size exceeds the budget. What `import()` names is counted separately.
import { readFileSync, statSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { listCore } from './lib/bundle-worker.mjs'
import { assetFolder } from './lib/isolate-assets.mjs'
import { root } from './lib/root.mjs'
import { metafileOf } from './lib/worker-entries.mjs'

/** KiB, minified and compressed: 1.15 × the required packages (390). Do not raise it. */
const budget = 448

/** MB of all modules as `npm run deploy` uploads them. */
const uploadBudget = 3.9

/** Bytes from which on a module must have no character beyond Latin-1: one doubles what its text takes in memory. */
const maxWideBytes = 64 * 1024

const shown = 12

const started = performance.now()
// The build that `npm start` serves and `npm run deploy` uploads, made when it is older than the sources.
await import('./build-worker.mjs')
const { metafile, assets } = JSON.parse(readFileSync(metafileOf('index'), 'utf8'))
// wrangler uploads what the rules of wrangler.toml name: not the source maps beside the modules.
const modules = Object.keys(metafile.outputs)
  .filter((name) => !name.endsWith('.map'))
  .map((name) => {
    const contents = readFileSync(join(root, name))
    return { path: join(root, name), contents, text: contents.toString() }
  })

const kib = (bytes) => bytes / 1024
const mb = (bytes) => (bytes / 1e6).toFixed(2)
const compressed = (bytes) => kib(gzipSync(bytes, { level: 9 }).length)
const core = new Set(listCore(metafile).map((name) => resolve(root, name)))
/** Without the name of the source map, which no isolate reads. */
const codeOf = ({ text }) => Buffer.from(text.replace(/\/\/# sourceMappingURL=.*\s*$/, ''))
const sizeOf = (files) => compressed(Buffer.concat(files.map(codeOf)))
const loaded = modules.filter(({ path }) => core.has(path))
const apart = modules.filter(({ path }) => !core.has(path))
const size = sizeOf(loaded)

for (const [name, bytes] of largest()) console.log(`${kib(bytes).toFixed(1).padStart(8)} KiB  ${name}`)
const all = loaded.reduce((sum, { contents }) => sum + contents.length, 0)
console.log(`${kib(all).toFixed(1).padStart(8)} KiB  in all, minified; sizes above are before compression`)
for (const file of apart) console.log(`${nameOf(file)}, loaded on demand: ${sizeOf([file]).toFixed(0)} KiB gzip`)
console.log(`core ${size.toFixed(1)} KiB gzip, budget ${budget} KiB (${Math.round(performance.now() - started)} ms)`)
if (size > budget) {
  console.error(`The core is ${(size - budget).toFixed(1)} KiB over its budget. See the largest parts above.`)
  process.exitCode = 1
}

// The runtime compiles every module when an isolate starts, also those that `import()` names.
const uploaded = modules.reduce((sum, { contents }) => sum + contents.length, 0)
const besides = assets.reduce((sum, name) => sum + statSync(join(assetFolder, name)).size, 0)
console.log(`uploaded modules ${mb(uploaded)} MB, budget ${uploadBudget} MB; static code of isolates ${mb(besides)} MB`)
if (Number(mb(uploaded)) > uploadBudget) {
  console.error('The modules are over their budget. Move what is large and rare into an isolate or a static asset.')
  process.exitCode = 1
}

// The JavaScript engine keeps a text with one such character as two bytes each. Only regular expressions have them:
// elsewhere the bundler writes escapes.
for (const { path, text } of modules) {
  if (!path.endsWith('.js')) continue
  const [around] = text.length < maxWideBytes ? [] : (/.{0,30}[^\0-\xff].{0,30}/.exec(text) ?? [])
  if (around === undefined) continue
  console.error(`${basename(path)} has a character beyond Latin-1, write it as \\uXXXX: ${around}`)
  process.exitCode = 1
}

// The other modules of Node bring much of each other: with `node:crypto` an isolate holds 0.8 MB more.
for (const [name, { imports }] of Object.entries(metafile.outputs))
  for (const { path, kind } of imports) {
    if (kind !== 'import-statement' || !path.startsWith('node:') || path === 'node:async_hooks') continue
    console.error(`${basename(name)} imports ${path} when it is loaded. Use import() where it is needed.`)
    process.exitCode = 1
  }

/** The source that a module begins with. Several parts share a module without one. */
function nameOf({ path }) {
  const { entryPoint } = metafile.outputs[relative(root, path).replaceAll('\\', '/')] ?? {}
  return entryPoint?.replace(/^src\//, '') ?? basename(path).replace(/-[A-Z0-9]{8}\.js$/, '')
}

/** Sums the bytes of the core by package, and by room of src. */
function largest() {
  const inputs = listCore(metafile).flatMap((name) => Object.entries(metafile.outputs[name].inputs))
  const sums = new Map()
  for (const [input, { bytesInOutput }] of inputs) {
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
