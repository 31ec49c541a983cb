// Bundles the worker with esbuild, split at its dynamic imports: what `import()` names is a module apart, which is loaded
// when it is first used and shares everything else with the core. wrangler's own bundler cannot split, so wrangler.toml
// says `no_bundle`.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { codeAsAssets } from './isolate-assets.mjs'
import { packagePlugins } from './package-plugins.mjs'
import { root } from './root.mjs'
import { outputFolder, sourceOf } from './worker-entries.mjs'

/** The code of isolates, as a part of the worker for deployments without the binding `LOADER`. */
const twins = /\/src\/backends\/[\w/-]+\/in-process\.ts$/

/** Leaves the twins out: with the binding they are never loaded, and everything that is uploaded counts against a limit. */
const withoutTwins = {
  name: 'without-twins',
  setup: (context) =>
    context.onLoad({ filter: twins }, ({ path }) => ({
      contents: [...readFileSync(path, 'utf8').matchAll(/\b(\w+)(?= \} from)/g)]
        .map(([name]) => `export const ${name} = () => { throw new Error('This build needs the binding LOADER.') }`)
        .join('\n'),
      loader: 'js',
    })),
}

/** Whether a configuration binds the Worker Loader, in any of its environments. */
export const bindsLoader = (config = readFileSync(join(root, 'wrangler.toml'), 'utf8')) =>
  /^\s*binding\s*=\s*["']LOADER["']/m.test(config)

/** Returns esbuild's result with its metafile, and the static assets that belong to it. Writes nothing. */
export async function bundleWorker({ entry = 'index', hasLoader = bindsLoader() } = {}) {
  const assets = new Map()
  const plugins = [codeAsAssets(assets)]
  return { ...(await bundle({ entry, hasLoader, plugins })), assets }
}

const bundle = ({ entry, hasLoader, plugins }) =>
  build({
    entryPoints: [{ in: sourceOf(entry), out: 'index' }],
    absWorkingDir: root,
    outdir: outputFolder(entry),
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    // An isolate holds every module as text, loaded or not: short names save 1.5 MB of its heap. `npm run trace` names the
    // places of a stack trace.
    minify: true,
    sourcemap: 'linked',
    legalComments: 'none',
    logLevel: 'error',
    chunkNames: '[name]-[hash]',
    format: 'esm',
    target: 'es2024',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser'],
    loader: { '.txt': 'text', '.wasm': 'copy' },
    plugins: [...plugins, ...packagePlugins, ...(hasLoader ? [withoutTwins] : [])],
    // Nothing reads the names of functions. Keeping them costs bytes, and time for every closure.
    keepNames: false,
    // Our code does not use `process`. The OpenAI SDK does; its use would load node:util, 10 ms of every start.
    define: { 'process.env.NODE_ENV': '"production"', process: 'undefined' },
    external: ['cloudflare:*', 'node:*'],
  })

/** The outputs that are loaded before the first request: the entry and what it imports statically. */
export function listCore({ outputs }) {
  const entry = Object.keys(outputs).find((name) => name.endsWith('dist/worker/index.js'))
  const core = new Set([entry])
  for (const name of core)
    for (const { path, kind } of outputs[name].imports) if (kind === 'import-statement' && outputs[path]) core.add(path)
  return [...core]
}
