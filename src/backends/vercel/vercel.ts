/**
 * A sandbox of Vercel, by its REST API. Not verified against the service itself, only against what it documents.
 * The sandbox has a name and lasts; what runs is a session of it, which ends after its time and is begun anew from
 * the files as they were.
 */

import { BackendError } from '../../agent/model/backend.ts'
import { hostBackend } from '../host/host-backend.ts'
import type { HostPort } from '../host/host-port.ts'
import { openVendorSandbox, pollUntil, type VendorOptions } from '../host/vendor-sandbox.ts'
import { type RequestContent, requireFound, vendorApi, type VendorApi } from '../host/vendor-api.ts'
import type { PortableBackend } from '../portable-backend.ts'
import { pack, toStream } from '../tar.ts'
import { readCommandLog } from './follow.ts'

export type VercelOptions = VendorOptions & {
  readonly project: string
  readonly team?: string | undefined
  readonly runtime?: string
}

const VENDOR = 'Vercel'
const API = 'https://api.vercel.com'
/** What a session should have before it: longer than any command. */
const LIFETIME_MS = 15 * 60_000
const GRACE_MS = 20_000

type Sandbox = { readonly name: string; readonly currentSessionId?: string }
type Session = {
  readonly id: string
  readonly status?: string
  readonly startedAt?: number
  /** Milliseconds from the start. */
  readonly timeout?: number
}
type Answer = { readonly sandbox: Sandbox; readonly session?: Session }

export function vercelBackend(options: VercelOptions): PortableBackend {
  const { root = '/vercel/sandbox/workspace', languages = ['bash', 'node'], network = 'full', memory, state } = options
  return hostBackend({
    kind: 'vercel',
    port: portOf(options),
    root,
    ...(state !== undefined && { state }),
    network,
    languages,
    describe: `A Linux machine of your own at Vercel with ${languages.join(', ')}; the workspace is ${root}. It stops when it is not used; files stay, background jobs end.`,
    memory,
  })
}

/** Addresses of the service. */
function placesOf({ api = API, team, project }: VercelOptions) {
  const at = (path: string, more: Readonly<Record<string, string>> = {}) =>
    `${api}/v2/sandboxes${path}?${new URLSearchParams({ ...(team && { teamId: team }), ...more }).toString()}`
  return {
    all: at(''),
    named: (name: string, more = {}) => at(`/${encodeURIComponent(name)}`, { projectId: project, ...more }),
    session: (id: string, path = '') => at(`/sessions/${encodeURIComponent(id)}${path}`),
  }
}

/** The life of a sandbox; a machine is the id of the session that runs. */
function rental(options: VercelOptions, { request: ask }: VendorApi) {
  const { memory, project, runtime = 'node24', network } = options
  const places = placesOf(options)

  async function ready({ sandbox, session }: Answer): Promise<string> {
    const id = requireFound(session?.id ?? sandbox.currentSessionId, VENDOR)
    let last: Session | undefined
    await pollUntil(async () => {
      last = (await requireFound(await ask('GET', places.session(id)), VENDOR).json<{ session: Session }>()).session
      if (last.status === 'failed' || last.status === 'aborted')
        throw new BackendError('unavailable', `The machine at ${VENDOR} did not start.`, 'Try again later.')
      return last.status === 'running'
    }, VENDOR)
    await prolong(requireFound(last, VENDOR))
    return id
  }

  async function prolong({ id, startedAt, timeout }: Session): Promise<void> {
    const left = startedAt === undefined || timeout === undefined ? 0 : startedAt + timeout - Date.now()
    const duration = Math.ceil(LIFETIME_MS - left)
    if (duration < 60_000) return
    // Plans have a longest time. A session at its end goes on until then, and the next one begins with its files.
    await ask('POST', places.session(id, '/extend-timeout'), { json: { duration } }).catch((error: unknown) =>
      console.warn('A session at Vercel was not prolonged.', error),
    )
  }

  return openVendorSandbox<string>({
    memory,
    async create() {
      const json = {
        projectId: project,
        name: `talaria-${crypto.randomUUID()}`,
        runtime,
        timeout: LIFETIME_MS,
        ...(network === 'none' && { networkPolicy: { mode: 'deny-all' } }),
      }
      const made = requireFound(await ask('POST', places.all, { json, timeoutMs: 120_000 }), VENDOR)
      const answer = await made.json<Answer>()
      return { id: answer.sandbox.name, machine: await ready(answer) }
    },
    async wake(name) {
      const found = await ask('GET', places.named(name, { resume: 'true' }), { timeoutMs: 120_000 })
      return found && ready(await found.json<Answer>())
    },
  })
}

function portOf(options: VercelOptions): HostPort {
  const { key, memory, fetch: send = (input, init) => fetch(input, init) } = options
  const client = vendorApi({
    vendor: VENDOR,
    headers: { authorization: `Bearer ${key}` },
    keyName: 'VERCEL_TOKEN, VERCEL_TEAM_ID and VERCEL_PROJECT_ID',
    fetch: send,
  })
  const places = placesOf(options)
  const machine = rental(options, client)

  async function within(path: string, content: RequestContent): Promise<Response> {
    const id = await machine.get()
    try {
      return requireFound(await client.request('POST', places.session(id, path), content), VENDOR)
    } catch (error) {
      // It may have come to its end: the next one asks whether it is still there.
      machine.forget()
      throw error
    }
  }

  return {
    async run(script, timeoutMs) {
      const json = { command: '/bin/bash', args: ['-c', script], env: {}, wait: true, logs: true }
      return readCommandLog(await within('/cmd', { json, timeoutMs: timeoutMs + GRACE_MS }))
    },
    read: async (path) =>
      new Uint8Array(await (await within('/fs/read', { json: { path }, timeoutMs: 120_000 })).arrayBuffer()),
    async write(path, bytes) {
      const headers = { 'content-type': 'application/gzip', 'x-cwd': '/' }
      const body = await zipped(path.replace(/^\/+/, ''), bytes)
      await within('/fs/write', { body, headers, timeoutMs: 120_000 })
    },
    async destroy() {
      const { id } = memory.read()
      machine.forget()
      if (id !== undefined) await client.request('DELETE', places.named(id))
    },
  }
}

/** Whole, because the service wants to know how long it is. */
function zipped(path: string, bytes: Uint8Array): Promise<ArrayBuffer> {
  const archive = pack([{ path, kind: 'file', mode: 0o644, modified: Date.now(), bytes }])
  return new Response(toStream(archive).pipeThrough(new CompressionStream('gzip'))).arrayBuffer()
}
