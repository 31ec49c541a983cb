/**
 * Reads the code of isolates. A built worker has it in its static assets, because the runtime compiles every module of a
 * worker when an isolate starts, also those that nothing imports (ADR 0029).
 */

/** The text itself where sources are imported, as in tests; in a build the place of the text and its hash. */
export type StoredCode = string | { readonly path: string; readonly sha256: string }

/** By path, which has the hash. As many as there are isolates. */
const held = new Map<string, string>()

export async function readCode(imported: Promise<{ readonly default: StoredCode }>): Promise<string> {
  const { default: stored } = await imported
  if (typeof stored === 'string') return stored
  const code = held.get(stored.path) ?? (await fetchCode(stored.path, stored.sha256))
  held.set(stored.path, code)
  return code
}

/** The host does not matter: the assets of this version answer. */
const anyOrigin = 'https://assets.example'
const attempts = 2

/** No promise is shared: a request must not wait for the I/O of another one. */
async function fetchCode(path: string, sha256: string): Promise<string> {
  const { env } = await import('cloudflare:workers')
  const { ASSETS } = env as Pick<Env, 'ASSETS'>
  if (!ASSETS) throw new Error('The code of isolates is in the static assets: the deployment needs the binding ASSETS.')
  for (let attempt = 1; ; attempt++) {
    const answer = await ASSETS.fetch(`${anyOrigin}${path}`)
    const bytes = await answer.arrayBuffer()
    if (answer.ok && (await hashOf(bytes)) === sha256) return new TextDecoder().decode(bytes)
    const reason = answer.ok ? 'is not what was built' : `was answered with ${answer.status}`
    if (attempt === attempts) throw new Error(`The code ${path} ${reason}.`)
  }
}

async function hashOf(bytes: ArrayBuffer): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
