/** Calls the HTTP API of a server, and repeats what a full or restarting server refuses. */

const maxAttempts = 5
const maxWaitMs = 30_000

/** Routes of POST that take an `Idempotency-Key`, so that a repeated request is done once. */
const keyedRoutes =
  /^\/(?:v1\/responses|api\/(?:sessions(?:\/import|\/[^/]+\/(?:chat|fork|retry|steer))?|jobs(?:\/[^/]+\/run)?|batches))(?:\?|$)/

/** An error that the server has answered, or that it cannot be reached. `message` says what to do. */
export class ApiError extends Error {
  constructor(message, { status, code } = {}) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.code = code
  }
}

/** Addresses resolve `..`, so that the name of a file would choose another route. */
export function requirePath(path) {
  if (path.split('?', 1)[0].split('/').includes('..')) throw new ApiError('A path must not have "..".')
}

export function createApi({ url, key, fetch: send = fetch, wait = (ms) => new Promise((go) => setTimeout(go, ms)) }) {
  const base = url.replace(/\/+$/, '')
  /** Sends JSON or bytes, and returns the parsed answer with its status. All attempts of a call have the same headers. */
  return async function call(method, path, body, headers = {}) {
    requirePath(path)
    const isKeyed = method === 'POST' && keyedRoutes.test(path)
    const once = isKeyed && { 'idempotency-key': crypto.randomUUID() }
    const request = renderRequest(method, body, { authorization: `Bearer ${key}`, ...once, ...headers })
    const isRepeatable = method !== 'POST' || isKeyed
    for (let attempt = 1; ; attempt++) {
      const answer = await send(`${base}${path}`, request).catch((error) => ({ error }))
      if (attempt === maxAttempts || !shouldRepeat(answer, isRepeatable)) return readAnswer(answer, base)
      await answer.body?.cancel()
      await wait(Math.min(maxWaitMs, waitMsOf(answer) ?? 250 * 2 ** attempt))
    }
  }
}

/** A request that a limit refuses had no effect. Any other may have had one before its answer was lost. */
const shouldRepeat = (answer, isRepeatable) =>
  answer.status === 429 || (isRepeatable && ('error' in answer || answer.status === 503))

function renderRequest(method, body, more) {
  const isBytes = body instanceof Uint8Array
  const headers = { 'content-type': isBytes ? 'application/octet-stream' : 'application/json', ...more }
  if (body === undefined) return { method, headers }
  return { method, headers, body: isBytes || typeof body === 'string' ? body : JSON.stringify(body) }
}

function waitMsOf(answer) {
  const seconds = 'error' in answer ? Number.NaN : Number.parseInt(answer.headers.get('retry-after') ?? '', 10)
  return Number.isNaN(seconds) ? undefined : seconds * 1000
}

async function readAnswer(answer, base) {
  if ('error' in answer) throw new ApiError(`${base} cannot be reached. Is the server running? TALARIA_URL names it.`)
  const text = await answer.text()
  const body = text && answer.headers.get('content-type')?.includes('json') ? JSON.parse(text) : undefined
  if (answer.ok) return { status: answer.status, body }
  const { message = `The server answered ${answer.status}.`, code } = body?.error ?? {}
  throw new ApiError(message, { status: answer.status, code })
}
