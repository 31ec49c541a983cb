/**
 * A plugin of Vite for the tests in Node: bundles the parts of the worker that need packages which
 * scripts/lib/package-plugins.mjs changes, with the same plugins. scripts/lib/app-bundle.mjs does it for tests inside workerd.
 */

import { build } from 'esbuild'
import type { Plugin } from 'vitest/config'
import { packagePlugins } from '../../scripts/lib/package-plugins.mjs'

const parts =
  /\/src\/(?:backends\/(?:[\w/-]+\/in-process|[\w/-]+\/(?:index-)?part|dialects\/[\w-]+)|worker\/openapi\/part)\.ts$/

/** By path. */
const bundles = new Map<string, Promise<string>>()

async function bundle(path: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [path],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2023',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*', 'node:*'],
    logLevel: 'error',
    plugins: packagePlugins,
  })
  return outputFiles[0]?.text ?? ''
}

export const bundledParts = (): Plugin => ({
  name: 'bundled-parts',
  enforce: 'pre',
  load: {
    filter: { id: parts },
    handler: (id) => {
      const path = id.replace(/\?.*$/, '')
      const known = bundles.get(path) ?? bundle(path)
      bundles.set(path, known)
      return known
    },
  },
})
