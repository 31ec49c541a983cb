// Checks the page: its layers, what it may import, and the size of what is loaded before the composer works. Run by
// `npm run check`.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import { buildWeb } from './build-web.mjs'
import { root } from './lib/root.mjs'

/** KiB, compressed one by one as they are sent. */
const firstLoadBudget = 48
const screenBudget = 15

const layers = [
  'web/model',
  'web/words',
  'web/first.ts',
  'web/api',
  'web/parts',
  'web/markdown',
  'web/screens',
  'web/main.tsx',
  'web/service-worker.ts',
]
const packages = [
  'preact',
  'preact/hooks',
  '@preact/signals',
  'marked',
  'sugar-high/core',
  'uqr',
  'temml',
  'beautiful-mermaid',
  'modern-tar',
  'unpdf/pdfjs',
]
const layerOf = (file) => layers.findIndex((layer) => file === layer || file.startsWith(`${layer}/`))

const offences = []
const files = readdirSync(join(root, 'web'), { recursive: true })
  .map((name) => join('web', name))
  .filter((name) => /\.tsx?$/.test(name))
for (const file of files) {
  const source = readFileSync(join(root, file), 'utf8')
  if (layerOf(file) < 0) offences.push(`${file} is in no layer`)
  if (/innerHTML|outerHTML|insertAdjacentHTML|document\.write/.test(source)) offences.push(`${file} writes HTML`)
  for (const [, target] of source.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g))
    if (!mayImport(file, target)) offences.push(`${file} -> ${target}`)
}

function mayImport(file, target) {
  if (!target.startsWith('.')) return packages.includes(target) || target.startsWith('sugar-high/lang/')
  const to = relative(root, normalize(join(root, dirname(file), target)))
  return to.startsWith('web/') && layerOf(to) <= layerOf(file)
}

// Tests beside this check read the folder: it is written only when it is older than the sources.
await buildWeb()
const { outputs } = await buildWeb({ write: false })
const sizeOf = (name) => gzipSync(readFileSync(join(root, name)), { level: 9 }).length / 1024
const outputOf = (entry) => Object.keys(outputs).find((name) => outputs[name].entryPoint === entry)

/** A file and all that it imports statically. */
function listLoaded(name, found = new Set()) {
  if (!name || found.has(name)) return found
  found.add(name)
  for (const { path, kind } of outputs[name].imports) if (kind === 'import-statement') listLoaded(path, found)
  return found
}

const first = listLoaded(outputOf('web/main.tsx')).add(outputOf('web/first.ts'))
const sum = (names) => [...names].reduce((all, name) => all + sizeOf(name), 0)
const firstLoad = sum(first) + sizeOf(outputOf('web/styles/main.css')) + sizeOf('public/index.html')
// The other languages load one more file.
const german = sizeOf(outputOf('web/words/de.ts'))
console.log(
  `first load ${firstLoad.toFixed(1)} KiB gzip, budget ${firstLoadBudget} KiB; in German ${german.toFixed(1)} KiB more`,
)
if (firstLoad > firstLoadBudget) offences.push(`the first load is ${firstLoad.toFixed(1)} KiB`)
for (const [name, { entryPoint }] of Object.entries(outputs)) {
  if (!entryPoint?.startsWith('web/screens/')) continue
  const size = sum([...listLoaded(name)].filter((one) => !first.has(one)))
  if (size > screenBudget) offences.push(`${entryPoint} loads ${size.toFixed(1)} KiB (at most ${screenBudget})`)
}
for (const offence of offences) console.error(`not allowed: ${offence}`)
process.exitCode = offences.length ? 1 : 0
