// Changes packages where they are bundled: for isolates, for the worker, and for its tests. docs/patched-dependencies.md
// gives the reasons.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { patchJustBash } from './just-bash.mjs'
import { keepResult } from './keep-result.mjs'
import { clientOnly } from './openai.mjs'
import { limitPdfjs } from './pdfjs.mjs'
import { root } from './root.mjs'
import { withoutTrials } from './turndown.mjs'
import { buildSchemasOnUse, zodFiles } from './zod.mjs'

const justBash = {
  name: 'just-bash',
  setup: (context) =>
    context.onLoad({ filter: /just-bash\/dist\/bundle\/browser\.js$/ }, ({ path }) => ({
      contents: patchJustBash(readFileSync(path, 'utf8')),
      loader: 'js',
    })),
}

const turndown = {
  name: 'turndown',
  setup: (context) =>
    context.onLoad({ filter: /turndown\/lib\/turndown\.browser\.es\.js$/ }, ({ path }) => ({
      contents: withoutTrials(readFileSync(path, 'utf8')),
      loader: 'js',
    })),
}

/** Reading PDF.js as a syntax tree takes longer than most bundles, and every build and run of tests needs it. */
const changePdfjs = (path) =>
  keepResult(
    join(root, 'dist/changed-pdfjs.js'),
    readFileSync(path, 'utf8'),
    readFileSync(join(root, 'scripts/lib/pdfjs.mjs'), 'utf8'),
    limitPdfjs,
  )

// PDF.js as `unpdf` bundles it for servers.
const pdfjs = {
  name: 'pdfjs',
  setup(context) {
    const path = join(root, 'node_modules/unpdf/dist/pdfjs.mjs')
    let contents
    context.onResolve({ filter: /^pdfjs$/ }, () => ({ path, sideEffects: false }))
    context.onLoad({ filter: /unpdf\/dist\/pdfjs\.mjs$/ }, () => ({
      // The worker is bundled without `process` (bundle-worker.mjs), and PDF.js has to know that this is no browser.
      contents: (contents ??= `const process = globalThis.process\n${changePdfjs(path)}`),
      loader: 'js',
    }))
  },
}

// Packages written for Node import its modules without the node: prefix.
const nodeModules = {
  name: 'node-modules',
  setup(context) {
    const filter = /^(buffer|util|stream|crypto|events|path)$/
    context.onResolve({ filter }, ({ path }) => ({ path, namespace: 'node-module' }))
    context.onLoad({ filter: /.*/, namespace: 'node-module' }, ({ path }) => ({
      contents: `import * as module from 'node:${path}'\nexport * from 'node:${path}'\nexport default module.default`,
      resolveDir: root,
    }))
  },
}

const zod = {
  name: 'zod',
  setup: (context) =>
    context.onLoad({ filter: zodFiles }, ({ path }) => ({
      contents: buildSchemasOnUse(zodFiles.exec(path)[1], readFileSync(path, 'utf8')),
      loader: 'js',
    })),
}

/** Plugins of esbuild. */
export const packagePlugins = [justBash, turndown, pdfjs, nodeModules, clientOnly, zod]
