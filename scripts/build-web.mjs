// Builds the page (web/) into public/app, with names that change with their contents, and public/index.html. Skips the
// build when both are newer than all inputs. Run by build-isolate.mjs, or alone.
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from './lib/root.mjs'

const source = join(root, 'web')
const output = join(root, 'public/app')
const page = join(root, 'public/index.html')
/** Larger files are kept by the service worker when they are first used. */
const maxShellBytes = 150_000
const age = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0

const listInputs = () => [
  fileURLToPath(import.meta.url),
  ...[
    'preact',
    '@preact/signals',
    'marked',
    'sugar-high',
    'temml',
    'beautiful-mermaid',
    'modern-tar',
    'unpdf',
    'esbuild',
  ].map((name) => join(root, 'node_modules', name, 'package.json')),
  ...readdirSync(source, { recursive: true })
    .filter((name) => /\.(?:tsx?|css|html|json)$/.test(name))
    .map((name) => join(source, name)),
]

/** Returns what esbuild says of its outputs, or undefined when they are new enough. `write: false` always asks it. */
export async function buildWeb({ write = true } = {}) {
  const newest = Math.max(...listInputs().map(age))
  if (write && age(page) > newest && age(output)) return undefined
  const { build } = await import('esbuild')
  if (write) {
    rmSync(output, { recursive: true, force: true })
    mkdirSync(output, { recursive: true })
  }
  const options = {
    write,
    absWorkingDir: root,
    outdir: 'public/app',
    bundle: true,
    minify: true,
    target: ['es2024', 'chrome123', 'firefox128', 'safari18'],
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    legalComments: 'none',
    logLevel: 'error',
    metafile: true,
    tsconfig: 'web/tsconfig.json',
  }
  const [{ metafile }, first] = await Promise.all([
    build({
      ...options,
      entryPoints: ['web/main.tsx', 'web/styles/main.css', 'web/styles/late.css'],
      splitting: true,
      format: 'esm',
      plugins: [oneFirstFile],
    }),
    build({ ...options, entryPoints: ['web/first.ts'], format: 'iife' }),
  ])
  Object.assign(metafile.outputs, first.metafile.outputs)
  if (!write) return metafile
  const outputOf = (entry) => Object.keys(metafile.outputs).find((name) => metafile.outputs[name].entryPoint === entry)
  const entries = ['web/main.tsx', 'web/styles/main.css', 'web/styles/late.css', 'web/first.ts', 'web/words/de.ts']
  const [script, style, lateStyle, firstScript, german] = entries.map(outputOf)
  const address = (name) => name.replace('public/', '/')
  const preload = (href) => `<link rel="modulepreload" href="${href}" />`
  const html = readFileSync(join(source, 'index.html'), 'utf8')
    .replace('%FIRST%', address(firstScript))
    .replace('%GERMAN%', address(german))
    .replace('%STYLE%', address(style))
    .replace('%LATE_STYLE%', address(lateStyle))
    .replace('%SCRIPT%', address(script))
    .replace(
      '%PRELOADS%',
      listImports(metafile, script)
        .map((name) => preload(address(name)))
        .join('\n    '),
    )
  writeFileSync(page, html)
  const shell = Object.keys(metafile.outputs).filter((name) => metafile.outputs[name].bytes <= maxShellBytes)
  await buildServiceWorker(build, html, shell.map(address))
  return metafile
}

const listLate = () => {
  const late = new Set()
  for (const file of listInputs().filter((name) => name.startsWith(source) && /\.tsx?$/.test(name)))
    for (const [, target] of readFileSync(file, 'utf8').matchAll(/import\('(\.[^']{1,100})'\)/g))
      late.add(join(dirname(file), target))
  return late
}

/**
 * Lets everything that is loaded later depend on the frame of the page, which is there by then. Otherwise esbuild makes
 * a file for each set of screens that share a module, and the first load is fifteen requests.
 */
const oneFirstFile = {
  name: 'one-first-file',
  setup(build) {
    const late = listLate()
    build.onLoad({ filter: /[\\/]web[\\/].*\.tsx?$/ }, ({ path }) =>
      late.has(path)
        ? {
            contents: `import ${JSON.stringify(join(source, 'screens/app.tsx'))}\n${readFileSync(path, 'utf8')}`,
            loader: path.endsWith('x') ? 'tsx' : 'ts',
          }
        : undefined,
    )
  },
}

/** Files that the script needs before it runs. The page names them, or a browser would ask for them one after another. */
function listImports({ outputs }, name, found = new Set()) {
  for (const { path, kind } of outputs[name].imports) {
    if (kind !== 'import-statement' || found.has(path)) continue
    found.add(path)
    listImports({ outputs }, path, found)
  }
  return [...found]
}

/** Its text changes with every file, so browsers see a new version. */
async function buildServiceWorker(build, html, files) {
  const shell = ['/', '/icon.svg', '/icon-192.png', '/manifest.webmanifest', ...files.toSorted()]
  const version = createHash('sha256').update(html).update(shell.join()).digest('hex').slice(0, 12)
  await build({
    absWorkingDir: root,
    entryPoints: ['web/service-worker.ts'],
    outfile: 'public/service-worker.js',
    bundle: true,
    minify: true,
    format: 'iife',
    target: ['es2024', 'chrome123', 'firefox128', 'safari18'],
    define: { shellFiles: JSON.stringify(shell), shellVersion: JSON.stringify(version) },
    legalComments: 'none',
    logLevel: 'error',
    tsconfig: 'web/tsconfig.json',
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildWeb()
