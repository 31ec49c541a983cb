// Writes web/model/schema.d.ts, the types of the OpenAPI document, from which the page takes the shapes of answers. Skips
// the work when the file is newer than the routes and their schemas. Run by `npm run check`.
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { registerHooks } from 'node:module'
import { root } from './lib/root.mjs'

const output = join(root, 'web/model/schema.d.ts')
const sources = ['src/worker', 'src/agent', 'src/durable', 'scripts/build-api-types.mjs'].map((path) =>
  join(root, path),
)

function age(path) {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat?.isDirectory()) return stat?.mtimeMs ?? 0
  return readdirSync(path).reduce((newest, name) => Math.max(newest, age(join(path, name))), stat.mtimeMs)
}

async function write() {
  // The generator uses the programming interface of TypeScript 5, which TypeScript 7 does not have.
  registerHooks({
    resolve: (specifier, context, next) => next(specifier === 'typescript' ? 'typescript-5' : specifier, context),
  })
  const { default: openapiTS, astToString } = await import('openapi-typescript')
  const types = astToString(await openapiTS(await renderDocument(), { immutable: true }))
  writeFileSync(output, `/** Generated from the OpenAPI document by scripts/build-api-types.mjs. */\n\n${types}`)
}

/** Bundles the routes for Node, without what only the platform has, and renders their document. */
async function renderDocument() {
  const { build } = await import('esbuild')
  const folder = mkdtempSync(join(root, 'node_modules/.cache-api-types-'))
  try {
    await build({
      absWorkingDir: root,
      stdin: {
        resolveDir: root,
        contents: `export { openRoutes, routes } from './src/worker/app.ts'
export { renderDocument } from './src/worker/openapi/render-document.ts'`,
      },
      outfile: join(folder, 'document.mjs'),
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node22',
      packages: 'external',
      logLevel: 'error',
      loader: { '.txt': 'empty', '.wasm': 'empty' },
      plugins: [platform],
    })
    const {
      renderDocument: render,
      routes,
      openRoutes,
    } = await import(pathToFileURL(join(folder, 'document.mjs')).href)
    return render([...routes, ...openRoutes], 'http://localhost:8787')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Stands in for `cloudflare:workers`: the document needs its classes only as bases. */
const platform = {
  name: 'platform',
  setup(context) {
    context.onResolve({ filter: /^cloudflare:/ }, ({ path }) => ({ path, namespace: 'platform' }))
    context.onLoad({ filter: /.*/, namespace: 'platform' }, () => ({
      contents: ['DurableObject', 'RpcTarget', 'WorkerEntrypoint']
        .map((name) => `export class ${name} {}`)
        .concat('export const env = {}', 'export class EmailMessage {}', 'export const connect = undefined')
        .join('\n'),
    }))
  },
}

// The routes import the code of isolates, which a fresh clone does not have yet, and an older one not of every isolate.
await import('./build-isolate.mjs')
if (age(output) <= Math.max(...sources.map(age))) await write()
