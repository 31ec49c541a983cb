// Copies the reference component of /docs (ADR 0026) to public/docs, from which the assets of the worker are served. The
// package for Fastify is the smallest one that brings the component as one file: its plugin adds a route with the script.
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './root.mjs'

const source = join(root, 'node_modules/@scalar/fastify-api-reference')
const output = join(root, 'public/docs/reference.js')

export async function copyReference() {
  const { version, license } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'))
  const banner = `/*! Scalar API Reference, from @scalar/fastify-api-reference ${version} (${license}), https://github.com/scalar/scalar */\n`
  // A new copy would make a running server reload its assets.
  if (isCopy(banner)) return
  writeFileSync(output, banner + (await readScript()))
}

const isCopy = (banner) =>
  statSync(output, { throwIfNoEntry: false }) !== undefined && readFileSync(output, 'utf8').startsWith(banner)

/** Collects the routes that the plugin adds, and calls the one of the script. */
async function readScript() {
  const { default: plugin } = await import('@scalar/fastify-api-reference')
  const routes = []
  const app = { initialConfig: {}, hasPlugin: () => false, route: (one) => routes.push(one) }
  await plugin(app, { configuration: { url: '/openapi.json' } }, () => undefined)
  const script = routes.find(({ url }) => url.endsWith('/scalar.js'))
  const reply = { header: () => reply, send: (text) => text }
  const text = await script?.handler({}, reply)
  if (typeof text !== 'string' || !text.includes('createApiReference'))
    throw new Error('@scalar/fastify-api-reference has no script of the reference where it is expected.')
  return text
}
