/**
 * Opens a Vercel sandbox, with its REST API. Tested against its documentation, not against the service. A
 * sandbox is permanent and has a name. It runs in Vercel sessions, which end after a time; the next session starts with
 * the same files.
 */

import { log } from '#agent/core/log.ts'
import { BackendError } from '#agent/core/backend.ts'
import type { HostPort } from '../host/host-port.ts'
import { openVendorSandbox, pollUntil, type HostVendorOptions } from '../host/vendor-sandbox.ts'
import { discardBody, type RequestContent, requireFound, vendorApi, type VendorApi } from '../host/vendor-api.ts'
import { pack, toStream } from '../tar.ts'
import { readCommandLog } from './follow.ts'

export type VercelOptions = HostVendorOptions & {
  readonly project: string
  readonly team?: string | undefined
  readonly runtime?: string
}

const vendor = 'Vercel'
const defaultApi = 'https://api.vercel.com'
/** Remaining time that a session must have: longer than any command. */
const sessionMs = 15 * 60_000
const graceMs = 20_000

type VercelSandbox = { readonly name: string; readonly currentSessionId?: string }
type VercelSession = {
  readonly id: string
  readonly status?: string
  readonly startedAt?: number
  /** Milliseconds after the start. */
  readonly timeout?: number
}
type VercelAnswer = { readonly sandbox: VercelSandbox; readonly session?: VercelSession }

/** URLs of the API. */
function createUrls({ api = defaultApi, team, project }: VercelOptions) {
  const at = (path: string, more: Readonly<Record<string, string>> = {}) =>
    `${api}/v2/sandboxes${path}?${new URLSearchParams({ ...(team && { teamId: team }), ...more }).toString()}`
  return {
    all: at(''),
    named: (name: string, more = {}) => at(`/${encodeURIComponent(name)}`, { projectId: project, ...more }),
    session: (id: string, path = '') => at(`/sessions/${encodeURIComponent(id)}${path}`),
  }
}

/** The connection is the id of the running Vercel session. */
function vercelSandbox(options: VercelOptions, { request: ask }: VendorApi) {
  const { memory, project, runtime = 'node24', network } = options
  const urls = createUrls(options)

  async function waitUntilRunning({ sandbox, session }: VercelAnswer): Promise<string> {
    const id = requireFound(session?.id ?? sandbox.currentSessionId, vendor)
    let last: VercelSession | undefined
    await pollUntil(async () => {
      last = (await requireFound(await ask('GET', urls.session(id)), vendor).json<{ session: VercelSession }>()).session
      if (last.status === 'failed' || last.status === 'aborted')
        throw new BackendError('unavailable', `The sandbox at ${vendor} did not start.`, 'Try again later.')
      return last.status === 'running'
    }, vendor)
    await extend(requireFound(last, vendor))
    return id
  }

  async function extend({ id, startedAt, timeout }: VercelSession): Promise<void> {
    const left = startedAt === undefined || timeout === undefined ? 0 : startedAt + timeout - Date.now()
    const duration = Math.ceil(sessionMs - left)
    if (duration < 60_000) return
    // Plans limit the time of a session. When it cannot be extended, the next session starts with the same files.
    await ask('POST', urls.session(id, '/extend-timeout'), { json: { duration } }).catch((error: unknown) =>
      log.warn('backend.unextended', 'A Vercel session could not be extended.', { error }),
    )
  }

  return openVendorSandbox<string>({
    memory,
    async create() {
      const json = {
        projectId: project,
        name: `talaria-${crypto.randomUUID()}`,
        runtime,
        timeout: sessionMs,
        ...(network === 'none' && { networkPolicy: { mode: 'deny-all' } }),
      }
      const created = requireFound(await ask('POST', urls.all, { json, timeoutMs: 120_000 }), vendor)
      const answer = await created.json<VercelAnswer>()
      return { id: answer.sandbox.name, connection: await waitUntilRunning(answer) }
    },
    async wake(name) {
      const found = await ask('GET', urls.named(name, { resume: 'true' }), { timeoutMs: 120_000 })
      return found && waitUntilRunning(await found.json<VercelAnswer>())
    },
  })
}

export function openVercel(options: VercelOptions): HostPort {
  const { key, memory, fetch: send = (input, init) => fetch(input, init) } = options
  const client = vendorApi({
    vendor: vendor,
    headers: { authorization: `Bearer ${key}` },
    keyName: 'VERCEL_TOKEN, VERCEL_TEAM_ID and VERCEL_PROJECT_ID',
    fetch: send,
  })
  const urls = createUrls(options)
  const sandbox = vercelSandbox(options, client)

  async function requestSession(path: string, content: RequestContent): Promise<Response> {
    const id = await sandbox.get()
    try {
      return requireFound(await client.request('POST', urls.session(id, path), content), vendor)
    } catch (error) {
      // The session may have ended: the next request checks whether it exists.
      sandbox.forget()
      throw error
    }
  }

  return {
    async run(script, timeoutMs) {
      const json = { command: '/bin/bash', args: ['--norc', '-c', script], env: {}, wait: true, logs: true }
      return readCommandLog(await requestSession('/cmd', { json, timeoutMs: timeoutMs + graceMs }))
    },
    read: async (path) =>
      new Uint8Array(await (await requestSession('/fs/read', { json: { path }, timeoutMs: 120_000 })).arrayBuffer()),
    async write(path, bytes) {
      const headers = { 'content-type': 'application/gzip', 'x-cwd': '/' }
      const body = await tarGz(path.replace(/^\/+/, ''), bytes)
      await discardBody(await requestSession('/fs/write', { body, headers, timeoutMs: 120_000 }))
    },
    async destroy() {
      const { id } = memory.read()
      sandbox.forget()
      if (id !== undefined) await discardBody(await client.request('DELETE', urls.named(id)))
    },
  }
}

/** Buffered, because the API requires a content length. */
function tarGz(path: string, bytes: Uint8Array): Promise<ArrayBuffer> {
  const archive = pack([{ path, kind: 'file', mode: 0o644, modified: Date.now(), bytes }])
  return new Response(toStream(archive).pipeThrough(new CompressionStream('gzip'))).arrayBuffer()
}
