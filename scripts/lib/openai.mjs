// Builds the client of the OpenAI SDK without its resources (completions, files, assistants …), which are three fifths of
// the SDK and unused here. The exported names of resource files stay, so that an incompatible SDK version fails to build.
// The build also removes the descriptions of requests for a log that is off, and logins by certificates.
import { readFile } from 'node:fs/promises'

const exported = /^export (?:class|const|let|var|function\*?|async function) (\w+)/gm
const passedOn = /^export (?:\*(?: as \w+)?|\{[^}]*\}) from ['"](.*)['"];?$/gm
/** Re-exports of resource files would pull in other files, so they are dropped. */
const isResource = (path) => !/\/(?:lib|core|internal)\//.test(path)

/** Exports the same names with empty implementations. */
export function stripResources(source) {
  const names = [...source.matchAll(exported)].map(([, name]) => `export class ${name} {}`)
  const others = [...source.matchAll(passedOn)].filter(([, path]) => isResource(path)).map(([line]) => line)
  return ['export {}', ...names, ...others].join('\n')
}

const describes = /export const formatRequestDetails = \(details\) => \{/

/**
 * Removes the redacted descriptions of every request and response, which take a fifth of a millisecond even when the log
 * is off. When the log is on, its entries have no details.
 */
export function silent(source) {
  if (!describes.test(source)) throw new Error('The OpenAI SDK describes requests in another way than is known here.')
  return source.replace(describes, 'export const formatRequestDetails = () => undefined\nconst unused = (details) => {')
}

/** Logins by X.509 certificates. A client with a key has none: the functions do what they do for it. */
export function withoutCertificates(source) {
  const names = [...source.matchAll(exported)].map(([, name]) => name)
  return names.map((name) => `export ${keyOnly[name] ?? missing(name)}`).join('\n')
}

const keyOnly = {
  isX509WorkloadIdentity: 'const isX509WorkloadIdentity = () => false',
  assertX509WebSocketSupported: 'const assertX509WebSocketSupported = () => undefined',
  assertX509FetchOptions: 'const assertX509FetchOptions = () => undefined',
  assertX509RequestOptions: 'const assertX509RequestOptions = () => undefined',
  snapshotX509RequestOptions: 'const snapshotX509RequestOptions = (options) => options',
  X509WorkloadIdentityAuth: 'class X509WorkloadIdentityAuth {}',
}

function missing(name) {
  throw new Error(`The OpenAI SDK has an unknown function for certificates: ${name}.`)
}

/** An esbuild plugin that applies the changes. */
export const clientOnly = {
  name: 'client-only',
  setup: (context) => {
    const load = (filter, change) =>
      context.onLoad({ filter }, async ({ path }) => ({
        contents: change(await readFile(path, 'utf8')),
        loader: 'js',
      }))
    load(/[\\/]openai[\\/]resources[\\/].*\.mjs$/, stripResources)
    load(/[\\/]openai[\\/]internal[\\/]utils[\\/]log\.mjs$/, silent)
    load(/[\\/]openai[\\/]internal[\\/]auth[\\/]x509-workload-identity-auth\.mjs$/, withoutCertificates)
  },
}
