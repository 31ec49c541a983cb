// Builds the code that runs beside the core of the worker, into src/backends/dist. The shell and the PDF reader are
// bundled twice: as text for a Worker Loader isolate, and as a module for deployments without a loader. The runner of
// programs is bundled as text. Skips outputs that are newer than
// all inputs.
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { amended } from './lib/just-bash.mjs'
import { clientOnly } from './lib/openai.mjs'
import { readable } from './lib/pdfjs.mjs'
import { copyReference } from './lib/reference.mjs'
import { buildDocs } from './build-docs.mjs'
import { buildWeb } from './build-web.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const backends = join(root, 'src/backends')
const output = join(backends, 'dist')
const rooms = [
  'virtual',
  'isolate',
  'pdf',
  'office',
  'make-document',
  'search',
  'web',
  'jose',
  'dialects',
  'shell-policy',
  'json-schema',
  'skills',
]
  .map((name) => join(backends, name))
  .concat(
    ['core', 'path-policy', 'shell-policy', 'providers', 'untrusted', 'memory', 'skills'].map((name) =>
      join(root, 'src/agent', name),
    ),
  )
  .concat(join(root, 'src/worker/openapi'))
const targets = [
  { entry: 'virtual/isolate/entry.ts', file: 'bash.isolate.txt' },
  { entry: 'virtual/isolate/inline.ts', file: 'bash.inline.mjs' },
  { entry: 'isolate/compile/entry.ts', file: 'compile.isolate.txt' },
  { entry: 'isolate/inside/entry.ts', file: 'run.isolate.txt' },
  { entry: 'pdf/inside/entry.ts', file: 'pdf.isolate.txt' },
  { entry: 'pdf/inside/inline.ts', file: 'pdf.inline.mjs' },
  { entry: 'office/inside/entry.ts', file: 'office.isolate.txt' },
  { entry: 'office/inside/inline.ts', file: 'office.inline.mjs' },
  { entry: 'web/page/inside/entry.ts', file: 'page.isolate.txt' },
  { entry: 'web/page/inside/inline.ts', file: 'page.inline.mjs' },
  ...['docx', 'xlsx', 'pptx', 'pdf', 'svg', 'png'].map((kind) => ({
    entry: `make-document/inside/entry-${kind}.ts`,
    file: `write-${kind}.isolate.txt`,
  })),
  { entry: 'search/inside/entry.ts', file: 'search.isolate.txt' },
  { entry: 'search/inside/inline.ts', file: 'search.inline.mjs' },
  { entry: 'shell-policy/inline.ts', file: 'shell-policy.inline.mjs' },
  { entry: 'json-schema/inline.ts', file: 'json-schema.inline.mjs' },
  { entry: 'jose/inline.ts', file: 'jose.inline.mjs' },
  { entry: 'skills/inline.ts', file: 'skills.inline.mjs' },
  { entry: 'skills/index-inline.ts', file: 'skill-index.inline.mjs' },
  { entry: '../worker/openapi/inline.ts', file: 'openapi.inline.mjs' },
  // Reading `process` would load node:util, as in the core (wrangler.toml).
  { entry: 'dialects/anthropic.ts', file: 'anthropic.inline.mjs', define: { process: 'undefined' } },
  { entry: 'dialects/openai.ts', file: 'openai.inline.mjs', define: { process: 'undefined' } },
  { entry: 'dialects/bedrock.ts', file: 'bedrock.inline.mjs' },
  { entry: 'dialects/demo.ts', file: 'demo.inline.mjs' },
  { entry: 'dialects/workers-ai.ts', file: 'workers-ai.inline.mjs' },
]

// Bytes that isolates get as modules: a program, and a font with Latin, Greek, Cyrillic and more.
const assets = [
  { source: '@resvg/resvg-wasm/index_bg.wasm', file: 'resvg-wasm.isolate.txt' },
  { source: 'dejavu-fonts-ttf/ttf/DejaVuSans.ttf', file: 'font-sans.isolate.txt' },
]

const inputs = [
  fileURLToPath(import.meta.url),
  join(root, 'scripts/lib/just-bash.mjs'),
  join(root, 'scripts/lib/openai.mjs'),
  join(root, 'scripts/lib/pdfjs.mjs'),
  join(root, 'node_modules/@anthropic-ai/sdk/package.json'),
  join(root, 'node_modules/just-bash/package.json'),
  join(root, 'node_modules/diff/package.json'),
  join(root, 'node_modules/isomorphic-git/package.json'),
  join(root, 'node_modules/modern-tar/package.json'),
  join(root, 'node_modules/acorn/package.json'),
  join(root, 'node_modules/@mdream/js/package.json'),
  join(root, 'node_modules/@mozilla/readability/package.json'),
  join(root, 'node_modules/linkedom/package.json'),
  join(root, 'node_modules/htmlparser2/package.json'),
  join(root, 'node_modules/aws4fetch/package.json'),
  join(root, 'node_modules/eventsource-parser/package.json'),
  join(root, 'node_modules/sucrase/package.json'),
  join(root, 'node_modules/jose/package.json'),
  join(root, 'node_modules/openai/package.json'),
  join(root, 'node_modules/re2js/package.json'),
  join(root, 'node_modules/unbash/package.json'),
  join(root, 'node_modules/unpdf/package.json'),
  ...assets.map(({ source }) => join(root, 'node_modules', source)),
  ...['docx', 'write-excel-file', 'pptxgenjs', 'pdf-lib', 'beautiful-mermaid', '@pdf-lib/fontkit'].map((name) =>
    join(root, `node_modules/${name}/package.json`),
  ),
  join(root, 'node_modules/yaml/package.json'),
  join(root, 'src/worker/shapes.ts'),
  join(root, 'src/worker/responses/response-shape.ts'),
  join(backends, 'tar.ts'),
  join(backends, 'omitted-output.ts'),
  ...rooms.flatMap((room) =>
    readdirSync(room, { recursive: true })
      .filter((name) => /\.(?:ts|md)$/.test(name))
      .map((name) => join(room, name)),
  ),
]
const outputOf = ({ file }) => join(output, file)
const age = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
const newest = Math.max(...inputs.map(age))

const mendsShell = {
  name: 'mends-shell',
  setup: (context) =>
    context.onLoad({ filter: /just-bash\/dist\/bundle\/browser\.js$/ }, ({ path }) => ({
      contents: amended(readFileSync(path, 'utf8')),
      loader: 'js',
    })),
}

// PDF.js as `unpdf` bundles it for servers.
const boundsPdf = {
  name: 'bounds-pdf',
  setup(context) {
    const path = join(root, 'node_modules/unpdf/dist/pdfjs.mjs')
    let contents
    context.onResolve({ filter: /^pdfjs$/ }, () => ({ path, sideEffects: false }))
    context.onLoad({ filter: /unpdf\/dist\/pdfjs\.mjs$/ }, () => ({
      contents: (contents ??= readable(readFileSync(path, 'utf8'))),
      loader: 'js',
    }))
  },
}

// Packages written for Node import its modules without the node: prefix.
const namesNode = {
  name: 'names-node',
  setup(context) {
    const filter = /^(buffer|util|stream|crypto|events|path)$/
    context.onResolve({ filter }, ({ path }) => ({ path, namespace: 'node-module' }))
    context.onLoad({ filter: /.*/, namespace: 'node-module' }, ({ path }) => ({
      contents: `import * as module from 'node:${path}'\nexport * from 'node:${path}'\nexport default module.default`,
      resolveDir: root,
    }))
  },
}

async function build() {
  const { build: bundle } = await import('esbuild')
  mkdirSync(output, { recursive: true })
  for (const { source, file } of assets) {
    const packed = gzipSync(readFileSync(join(root, 'node_modules', source)), { level: 9 }).toString('base64')
    writeFileSync(outputOf({ file }), packed)
  }
  for (const { entry, file, define = {} } of targets) {
    const result = await bundle({
      entryPoints: [join(backends, entry)],
      bundle: true,
      write: false,
      format: 'esm',
      target: 'es2023',
      conditions: ['workerd', 'worker', 'browser'],
      external: ['cloudflare:*', 'node:*', 'program.js', 'font.ttf', 'resvg.wasm'],
      minify: true,
      legalComments: 'none',
      logLevel: 'error',
      loader: { '.md': 'text' },
      define,
      plugins: [mendsShell, boundsPdf, namesNode, clientOnly],
    })
    const code = result.outputFiles[0].text
    // The first line names the contents, so that a loader never serves an older build under the same name.
    const version = createHash('sha256').update(code).digest('hex').slice(0, 16)
    writeFileSync(outputOf({ file }), `// ${version}\n${code}`)
    console.log(`${file} ${Math.round(code.length / 1024)} KiB`)
  }
}

await copyReference()
await Promise.all([buildWeb(), buildDocs()])
if ([...targets, ...assets].some((target) => age(outputOf(target)) < newest)) await build()
