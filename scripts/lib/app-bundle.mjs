// Bundles the sources once for the tests inside workerd, and resolves every import of a source file to its module in the
// bundle. The runtime loads the bundle as one native module. Without it each isolate would fetch 1 300 modules from Node
// over a socket, and evaluate each of them.
import { build } from 'esbuild'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { packagePlugins } from './package-plugins.mjs'
import { root } from './root.mjs'

const sources = join(root, 'src/')
/** A rule of the tests' wrangler.toml names it, so that the runtime loads it natively. */
const output = join(root, 'dist/tests/app.bundle.mjs')
const prefix = '\0app:'
const specifier = /(?:\bfrom|\bimport)\s*\(?\s*'((?:\.\.?\/|#)[^']+\.ts)'/g

/** Lists the source files that tests import. */
function listImported() {
  const folder = join(root, 'test')
  const tests = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.ts'))
  const imported = tests.flatMap((name) =>
    [...readFileSync(join(folder, name), 'utf8').matchAll(specifier)].map(([, path]) =>
      path.startsWith('#') ? join(sources, path.slice(1)) : resolve(folder, dirname(name), path),
    ),
  )
  return [...new Set(imported)].filter((path) => path.startsWith(sources) && existsSync(path)).toSorted()
}

/** The output of `build-isolate.mjs` stays in its files: the runtime loads them when they are first used. */
const isolateCode = {
  name: 'isolate-code',
  setup({ onResolve }) {
    onResolve({ filter: /\/dist\/[^/]+\.isolate\.txt$/ }, ({ path, resolveDir }) => ({
      path: `${path.startsWith('#') ? join(sources, path.slice(1)) : join(resolveDir, path)}?mf_vitest_force=Text`,
      external: true,
    }))
  },
}

/** Exports a function for each module, which evaluates it when a test first imports it. */
async function bundle() {
  const paths = listImported().map((path) => relative(root, path))
  const loaders = paths.map((path) => `${JSON.stringify(path)}: () => import(${JSON.stringify(`./${path}`)})`)
  const { outputFiles } = await build({
    stdin: { contents: `export const modules = {${loaders.join(',\n')}}`, resolveDir: root },
    absWorkingDir: root,
    outfile: output,
    bundle: true,
    write: false,
    sourcemap: 'linked',
    sourcesContent: false,
    logLevel: 'error',
    format: 'esm',
    target: 'es2024',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*', 'node:*'],
    plugins: [isolateCode, ...packagePlugins],
  })
  mkdirSync(dirname(output), { recursive: true })
  for (const { path, contents } of outputFiles) {
    // Other runs may read the file meanwhile.
    const unfinished = `${path}.${process.pid}`
    writeFileSync(unfinished, contents)
    renameSync(unfinished, path)
  }
}

let bundled

/** The plugin of Vite. It builds the bundle once, for all projects. */
export const appBundle = () => ({
  name: 'app-bundle',
  enforce: 'pre',
  buildStart: () => (bundled ??= bundle()),
  async resolveId(path, importer, options) {
    if (path === output) return path
    if (!/^[.#/].*\.ts$/.test(path)) return undefined
    const resolved = await this.resolve(path, importer, { ...options, skipSelf: true })
    return resolved?.id.startsWith(sources) ? `${prefix}${relative(root, resolved.id)}` : undefined
  },
  load: (id) =>
    id.startsWith(prefix)
      ? `import { modules } from ${JSON.stringify(output)}
const module = await modules[${JSON.stringify(id.slice(prefix.length))}]()
__vite_ssr_exportAll__(module)
export default module.default`
      : undefined,
})

let map

/** Points a frame of a stack trace at the source. */
export function pointToSource(_error, frame) {
  if (!frame.file.includes('/app.bundle.mjs')) return
  map ??= new SourceMap(JSON.parse(readFileSync(`${output}.map`, 'utf8')))
  const { originalSource, originalLine, originalColumn } = map.findEntry(frame.line - 1, frame.column - 1)
  if (originalSource === undefined) return
  frame.file = resolve(dirname(output), originalSource)
  frame.line = originalLine + 1
  frame.column = originalColumn + 1
}
