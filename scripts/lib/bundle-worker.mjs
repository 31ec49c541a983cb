// Bundles the worker with esbuild, split at its dynamic imports: what `import()` names is a module apart, which is loaded
// when it is first used and shares everything else with the core. wrangler's own bundler cannot split, so wrangler.toml
// says `no_bundle`.
import { build } from 'esbuild'
import { root } from './root.mjs'
import { outputFolder, sourceOf } from './worker-entries.mjs'

/** Returns esbuild's result with its metafile. Writes nothing. */
export const bundleWorker = ({ entry = 'index', minify = false } = {}) =>
  build({
    entryPoints: [{ in: sourceOf(entry), out: 'index' }],
    absWorkingDir: root,
    outdir: outputFolder(entry),
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    // Names stay readable in traces of errors.
    minifyWhitespace: true,
    minifySyntax: true,
    minifyIdentifiers: minify,
    sourcemap: minify ? false : 'linked',
    legalComments: 'none',
    logLevel: 'error',
    chunkNames: '[name]-[hash]',
    format: 'esm',
    target: 'es2024',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser'],
    loader: { '.txt': 'text', '.wasm': 'copy' },
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
