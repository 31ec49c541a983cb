/** A sandbox of E2B, by its REST API and Connect. Not verified against the service itself, only against what it documents. */

import { BackendError } from '../../agent/model/backend.ts'
import { hostBackend } from '../host/host-backend.ts'
import type { HostPort, ScriptResult } from '../host/host-port.ts'
import { openVendorSandbox, type VendorOptions } from '../host/vendor-sandbox.ts'
import { type RequestContent, requireFound, vendorApi, type VendorApi } from '../host/vendor-api.ts'
import type { PortableBackend } from '../portable-backend.ts'
import { encodeEnvelope, decodeEnvelopes } from './envelopes.ts'

export type E2bOptions = VendorOptions & {
  /** Where the agent inside a sandbox is reached; `{id}` is its id. */
  readonly envd?: string
  readonly template?: string
}

const VENDOR = 'E2B'
const API = 'https://api.e2b.app'
/** Seconds without use until it is paused. */
const PAUSE_AFTER = 900
const GRACE_MS = 20_000
const USER = 'user'

type Sandbox = { readonly sandboxID: string; readonly envdAccessToken?: string; readonly domain?: string | null }
type Inside = { readonly url: string; readonly headers: Readonly<Record<string, string>> }

export function e2bBackend(options: E2bOptions): PortableBackend {
  const {
    root = '/home/user/workspace',
    languages = ['bash', 'python', 'node'],
    network = 'full',
    memory,
    state,
  } = options
  return hostBackend({
    kind: 'e2b',
    port: portOf(options),
    root,
    ...(state !== undefined && { state }),
    network,
    languages,
    describe: `A Linux machine of your own at E2B with ${languages.join(', ')}; the workspace is ${root}. It is paused when it is not used and goes on where it was.`,
    memory,
  })
}

/** The life of a sandbox; a machine is the address and the key of the agent inside. */
function rental({ memory, template = 'base', network, ...options }: E2bOptions, { request: ask }: VendorApi) {
  const { api = API, envd = 'https://49983-{id}.e2b.app' } = options
  const insideOf = ({ sandboxID, envdAccessToken }: Sandbox): Inside => ({
    url: envd.replace('{id}', sandboxID),
    headers: {
      authorization: `Basic ${btoa(`${USER}:`)}`,
      ...(envdAccessToken !== undefined && { 'x-access-token': envdAccessToken }),
    },
  })
  return openVendorSandbox<Inside>({
    memory,
    async create() {
      const metadata = { by: 'talaria' }
      const closed = network === 'none' && { allow_internet_access: false }
      const json = { templateID: template, timeout: PAUSE_AFTER, autoPause: true, secure: true, metadata, ...closed }
      const made = requireFound(await ask('POST', `${api}/sandboxes`, { json, timeoutMs: 120_000 }), VENDOR)
      const sandbox = await made.json<Sandbox>()
      return { id: sandbox.sandboxID, machine: insideOf(sandbox) }
    },
    async wake(id) {
      const json = { timeout: PAUSE_AFTER }
      const found = await ask('POST', `${api}/sandboxes/${id}/connect`, { json, timeoutMs: 120_000 })
      return found && insideOf(await found.json<Sandbox>())
    },
  })
}

function portOf(options: E2bOptions): HostPort {
  const { key, memory, api = API, fetch: send = (input, init) => fetch(input, init) } = options
  const shared = { vendor: VENDOR, keyName: 'E2B_API_KEY', fetch: send }
  const account = vendorApi({ ...shared, headers: { 'x-api-key': key } })
  // The key of the account never goes into a sandbox: inside counts the sandbox's own.
  const inside = vendorApi({ ...shared, headers: {} })
  const machine = rental(options, account)
  async function within(method: string, path: string, content: RequestContent = {}): Promise<Response> {
    const { url, headers } = await machine.get()
    return requireFound(
      await inside.request(method, url + path, { ...content, headers: { ...headers, ...content.headers } }),
      VENDOR,
    )
  }
  const file = (path: string) => `/files?username=${USER}&path=${encodeURIComponent(path)}`
  return {
    async run(script, timeoutMs) {
      const headers = {
        'content-type': 'application/connect+json',
        'connect-protocol-version': '1',
        'connect-timeout-ms': String(timeoutMs),
      }
      const body = encodeEnvelope({ process: { cmd: '/bin/bash', args: ['-c', script], envs: {} } })
      return follow(await within('POST', '/process.Process/Start', { body, headers, timeoutMs: timeoutMs + GRACE_MS }))
    },
    read: async (path) =>
      new Uint8Array(await (await within('GET', file(path), { timeoutMs: 120_000 })).arrayBuffer()),
    async write(path, bytes) {
      const body = new FormData()
      body.append('file', new Blob([bytes as Uint8Array<ArrayBuffer>]), 'file')
      await within('POST', file(path), { body, timeoutMs: 120_000 })
    },
    async destroy() {
      const { id } = memory.read()
      machine.forget()
      if (id !== undefined) await account.request('DELETE', `${api}/sandboxes/${id}`)
    },
  }
}

type End = { readonly exitCode?: number; readonly exited?: boolean }
type ProcessMessage = {
  readonly event?: {
    readonly data?: { readonly stdout?: string }
    /** Zero is left out in this JSON. */
    readonly end?: End
  }
  readonly error?: { readonly message?: string }
}

/** Without an end nobody knows the code, whatever came before. */
async function follow({ body }: Response): Promise<ScriptResult> {
  const pieces: Uint8Array<ArrayBuffer>[] = []
  let code: number | null = null
  try {
    for await (const { message } of decodeEnvelopes(body ?? new ReadableStream())) {
      const { event, error } = message as ProcessMessage
      if (error) throw new Error(error.message)
      pieces.push(bytesOf(event?.data?.stdout ?? ''))
      if (event?.end) code = codeOf(event.end)
    }
  } catch (error) {
    throw unknown(error)
  }
  return { code, output: await new Blob(pieces).text() }
}

const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
const codeOf = ({ exited, exitCode = 0 }: End): number | null => (exited === false ? null : exitCode)

function unknown(error: unknown): BackendError {
  const message = error instanceof Error ? error.message : String(error)
  return new BackendError(
    'unavailable',
    `${message} It is unknown whether the command ran, and how far.`,
    'Look at what it was to change before running it again.',
  )
}
