/**
 * A plugin of Vite for the tests inside workerd: bundles the sources once, and resolves every import of a source file to
 * its module in the bundle. workerd loads the bundle as one native module. Without it each worker would fetch 1 300 modules
 * from Node over a socket and evaluate each of them.
 */

import { build, type Plugin as EsbuildPlugin } from 'esbuild'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { SourceMap, type SourceMapPayload } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ParsedStack } from 'vitest'
import type { Plugin } from 'vitest/config'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const sources = join(root, 'src/')
/** A rule of wrangler.toml names it: the runtime loads it natively. */
const output = join(root, 'dist/tests/app.bundle.mjs')
const prefix = '\0app:'

const specifier = /(?:\bfrom|\bimport)\s*\(?\s*'((?:\.\.?\/|#)[^']+\.ts)'/g

/** Lists the source files that tests import. */
function listImported(): readonly string[] {
  const folder = join(root, 'test')
  const tests = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const imported = tests.flatMap((name) =>
    [...readFileSync(join(folder, name), 'utf8').matchAll(specifier)].map(([, path = '']) =>
      path.startsWith('#') ? join(sources, path.slice(1)) : resolve(folder, dirname(name), path),
    ),
  )
  return [...new Set(imported)].filter((path) => path.startsWith(sources) && existsSync(path)).toSorted()
}

/** What `build-isolate.mjs` wrote stays in its files: the runtime loads them when they are first used. */
const externalParts: EsbuildPlugin = {
  name: 'external-parts',
  setup({ onResolve }) {
    const filter = /\/dist\/[^/]+\.(?:isolate\.txt|inline\.mjs)$/
    onResolve({ filter }, ({ path, resolveDir }) => ({
      path: `${join(resolveDir, path)}${path.endsWith('.txt') ? '?mf_vitest_force=Text' : ''}`,
      external: true,
    }))
  },
}

/** Each module is evaluated when a test first imports it. */
async function bundle(): Promise<void> {
  const modules = listImported().map((path) => JSON.stringify(relative(root, path)))
  const result = await build({
    stdin: {
      contents: `export const modules = {${modules.map((path) => `${path}: () => import(${JSON.stringify(`./${JSON.parse(path)}`)})`).join(',\n')}}`,
      resolveDir: root,
    },
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
    plugins: [externalParts],
  })
  mkdirSync(dirname(output), { recursive: true })
  for (const { path, contents } of result.outputFiles) {
    // Other runs may read the file meanwhile.
    const unfinished = `${path}.${process.pid}`
    writeFileSync(unfinished, contents)
    renameSync(unfinished, path)
  }
}

let bundled: Promise<void> | undefined

export const appBundle = (): Plugin => ({
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

let map: SourceMap | undefined

/** Points a frame of a stack trace at the source. */
export function pointToSource(_error: unknown, frame: ParsedStack): void {
  if (!frame.file.includes('/app.bundle.mjs')) return
  map ??= new SourceMap(JSON.parse(readFileSync(`${output}.map`, 'utf8')) as SourceMapPayload)
  const entry = map.findEntry(frame.line - 1, frame.column - 1)
  if (!('originalSource' in entry)) return
  frame.file = resolve(dirname(output), entry.originalSource)
  frame.line = entry.originalLine + 1
  frame.column = entry.originalColumn + 1
}
