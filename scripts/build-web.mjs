// Builds the page (web/) into public/app, with names that change with their contents, and public/index.html. Skips the
// build when both are newer than all inputs. Run by build-isolate.mjs, or alone.
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from './lib/root.mjs'

const source = join(root, 'web')
const output = join(root, 'public/app')
const page = join(root, 'public/index.html')
const age = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0

const listInputs = () => [
  fileURLToPath(import.meta.url),
  ...['preact', '@preact/signals', 'marked', 'esbuild'].map((name) => join(root, 'node_modules', name, 'package.json')),
  ...readdirSync(source, { recursive: true })
    .filter((name) => /\.(?:tsx?|css|html|json)$/.test(name))
    .map((name) => join(source, name)),
]

/** Returns what esbuild says of its outputs, or undefined when they are new enough. */
export async function buildWeb({ force = false } = {}) {
  const newest = Math.max(...listInputs().map(age))
  if (!force && age(page) > newest && age(output)) return undefined
  const { build } = await import('esbuild')
  rmSync(output, { recursive: true, force: true })
  mkdirSync(output, { recursive: true })
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['web/main.tsx', 'web/styles/main.css'],
    outdir: 'public/app',
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: ['es2024', 'chrome123', 'firefox128', 'safari18'],
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    legalComments: 'none',
    logLevel: 'error',
    metafile: true,
    tsconfig: 'web/tsconfig.json',
  })
  const outputOf = (entry) => Object.keys(metafile.outputs).find((name) => metafile.outputs[name].entryPoint === entry)
  const [script, style] = ['web/main.tsx', 'web/styles/main.css'].map(outputOf)
  const address = (name) => name.replace('public/', '/')
  const html = readFileSync(join(source, 'index.html'), 'utf8')
    .replace('%STYLE%', address(style))
    .replace('%SCRIPT%', address(script))
  writeFileSync(page, html)
  return metafile
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildWeb({ force: true })
