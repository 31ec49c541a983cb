/** Sends requests to a server with a fixed address and key. */

import { setTimeout as delay } from 'node:timers/promises'

export type Answer = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // oxlint-disable-next-line no-explicit-any -- what the server says is what the tests look into
  readonly json: any
}

export type Send = { readonly body?: unknown; readonly raw?: BodyInit; readonly headers?: Record<string, string> }

export type Client = ReturnType<typeof createClient>

export function createClient(url: string, key: string | undefined) {
  const send = async (method: string, path: string, { body, raw, headers = {} }: Send = {}): Promise<Answer> => {
    const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(key && { authorization: `Bearer ${key}` }),
        ...(payload !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(payload !== undefined && { body: payload }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, json: parseJson(text) }
  }
  const get = (path: string, headers?: Record<string, string>) => send('GET', path, headers ? { headers } : {})
  const post = (path: string, body: unknown = {}, headers?: Record<string, string>) =>
    send('POST', path, { body, ...(headers && { headers }) })
  return {
    url,
    key,
    send,
    get,
    post,
    newSession: async (fields: object = {}): Promise<string> => {
      const made = await post('/api/sessions', fields)
      if (made.status !== 201) throw new Error(`no session: ${made.status} ${made.text}`)
      return made.json.id
    },
    chat: (session: string, input: string, headers?: Record<string, string>) =>
      post(`/api/sessions/${session}/chat`, { input }, headers),
    messages: async (session: string): Promise<readonly Message[]> => {
      const answer = await get(`/api/sessions/${session}/messages?limit=200`)
      if (answer.status !== 200) throw new Error(`no messages: ${answer.status} ${answer.text}`)
      return answer.json.data
    },
    as: (other: string | undefined) => createClient(url, other),
  }
}

export type Message = {
  readonly id: string
  readonly run_id?: string
  readonly seq: number
  readonly role: string
  readonly content: string | null
  readonly name?: string
  readonly source?: string
  readonly tool_call_id?: string
  readonly tool_calls?: readonly { readonly id: string; readonly function: { name: string; arguments: string } }[]
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Not every response is JSON.
    return undefined
  }
}

/** Creates a tenant with one key. `owner` is a client with the admin key. */
export async function newTenant(
  owner: Client,
  scopes: readonly string[] = ['chat', 'read', 'write', 'jobs', 'approve'],
): Promise<{ readonly id: string; readonly key: string; readonly client: Client }> {
  const tenant = await owner.post('/api/admin/tenants', { name: 'Tenant of a test' })
  if (tenant.status !== 201) throw new Error(`no tenant: ${tenant.status} ${tenant.text}`)
  const key = await owner.post('/api/admin/keys', { tenant_id: tenant.json.id, scopes })
  if (key.status !== 201) throw new Error(`no key: ${key.status} ${key.text}`)
  return { id: tenant.json.id, key: key.json.key, client: owner.as(key.json.key) }
}

const longestPauseMs = 300

/** Polls until the value is right, ever less often: a look may be a request. The error of a timeout shows the last value. */
export async function eventually<T>(
  ask: () => Promise<T> | T,
  right: (value: T) => boolean,
  timeoutMs = 10_000,
): Promise<T> {
  const deadline = Date.now() + timeoutMs
  for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 1.5, longestPauseMs)) {
    const value = await ask()
    if (right(value)) return value
    if (Date.now() > deadline) throw new Error(`not in ${timeoutMs} ms; last: ${JSON.stringify(value)?.slice(0, 2000)}`)
    await delay(pauseMs)
  }
}
