/** Opens an E2B sandbox, with its REST and Connect APIs. Tested against its documentation, not against the service. */

import { decodeBase64Bytes } from '#agent/core/base64.ts'
import { BackendError } from '#agent/core/backend.ts'
import type { HostPort, ScriptResult } from '../host/host-port.ts'
import { requireSandboxId } from '../host/vendor-host.ts'
import { openVendorSandbox, type HostVendorOptions } from '../host/vendor-sandbox.ts'
import { discardBody, type RequestContent, requireFound, vendorApi, type VendorApi } from '../host/vendor-api.ts'
import { encodeEnvelope, decodeEnvelopes } from './envelopes.ts'

export type E2bOptions = HostVendorOptions & {
  /** URL of the daemon inside a sandbox; `{id}` is replaced by the sandbox id. */
  readonly envd?: string
  readonly template?: string
}

const vendor = 'E2B'
const defaultApi = 'https://api.e2b.app'
/** Idle time until a sandbox is paused. */
const pauseAfterSeconds = 900
const graceMs = 20_000
const user = 'user'

type E2bSandbox = { readonly sandboxID: string; readonly envdAccessToken?: string }
type EnvdConnection = { readonly url: string; readonly headers: Readonly<Record<string, string>> }

/** The connection is the URL and the access token of the daemon inside the sandbox. */
function e2bSandbox({ memory, template = 'base', network, ...options }: E2bOptions, { request: ask }: VendorApi) {
  const { api = defaultApi, envd = 'https://49983-{id}.e2b.app' } = options
  const connectionOf = ({ sandboxID, envdAccessToken }: E2bSandbox): EnvdConnection => ({
    // The answer names a part of the host, so it must not be able to name another one.
    url: envd.replace('{id}', requireSandboxId(sandboxID, vendor)),
    headers: {
      authorization: `Basic ${btoa(`${user}:`)}`,
      ...(envdAccessToken !== undefined && { 'x-access-token': envdAccessToken }),
    },
  })
  return openVendorSandbox<EnvdConnection>({
    memory,
    async create() {
      const metadata = { by: 'talaria' }
      const closed = network === 'none' && { allow_internet_access: false }
      const json = {
        templateID: template,
        timeout: pauseAfterSeconds,
        autoPause: true,
        secure: true,
        metadata,
        ...closed,
      }
      const created = requireFound(await ask('POST', `${api}/sandboxes`, { json, timeoutMs: 120_000 }), vendor)
      const sandbox = await created.json<E2bSandbox>()
      return { id: sandbox.sandboxID, connection: connectionOf(sandbox) }
    },
    async wake(id) {
      const json = { timeout: pauseAfterSeconds }
      const found = await ask('POST', `${api}/sandboxes/${id}/connect`, { json, timeoutMs: 120_000 })
      return found && connectionOf(await found.json<E2bSandbox>())
    },
  })
}

export function openE2b(options: E2bOptions): HostPort {
  const { key, memory, api = defaultApi, fetch: send = (input, init) => fetch(input, init) } = options
  const shared = { vendor: vendor, keyName: 'E2B_API_KEY', fetch: send }
  const account = vendorApi({ ...shared, headers: { 'x-api-key': key } })
  // The account's key is never sent to a sandbox, which has an access token of its own.
  const envdApi = vendorApi({ ...shared, headers: {} })
  const sandbox = e2bSandbox(options, account)
  async function requestEnvd(method: string, path: string, content: RequestContent = {}): Promise<Response> {
    const { url, headers } = await sandbox.get()
    return requireFound(
      await envdApi.request(method, url + path, { ...content, headers: { ...headers, ...content.headers } }),
      vendor,
    )
  }
  const file = (path: string) => `/files?username=${user}&path=${encodeURIComponent(path)}`
  return {
    async run(script, timeoutMs) {
      const headers = {
        'content-type': 'application/connect+json',
        'connect-protocol-version': '1',
        'connect-timeout-ms': String(timeoutMs),
      }
      const body = encodeEnvelope({ process: { cmd: '/bin/bash', args: ['--norc', '-c', script], envs: {} } })
      return readProcess(
        await requestEnvd('POST', '/process.Process/Start', { body, headers, timeoutMs: timeoutMs + graceMs }),
      )
    },
    read: async (path) =>
      new Uint8Array(await (await requestEnvd('GET', file(path), { timeoutMs: 120_000 })).arrayBuffer()),
    async write(path, bytes) {
      const body = new FormData()
      body.append('file', new Blob([bytes as Uint8Array<ArrayBuffer>]), 'file')
      await discardBody(await requestEnvd('POST', file(path), { body, timeoutMs: 120_000 }))
    },
    async destroy() {
      const { id } = memory.read()
      sandbox.forget()
      if (id !== undefined) await discardBody(await account.request('DELETE', `${api}/sandboxes/${id}`))
    },
  }
}

type ProcessEnd = { readonly exitCode?: number; readonly exited?: boolean }
type ProcessMessage = {
  readonly event?: {
    readonly data?: { readonly stdout?: string }
    /** Connect's JSON omits a zero. */
    readonly end?: ProcessEnd
  }
  readonly error?: { readonly message?: string }
}

/** Collects the output of a process. The exit code is null when the stream has no end event. */
async function readProcess({ body }: Response): Promise<ScriptResult> {
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let code: number | null = null
  try {
    for await (const { message } of decodeEnvelopes(body ?? new ReadableStream())) {
      const { event, error } = message as ProcessMessage
      if (error) throw new Error(error.message)
      chunks.push(decodeBase64Bytes(event?.data?.stdout ?? ''))
      if (event?.end) code = codeOf(event.end)
    }
  } catch (error) {
    throw unknownOutcome(error)
  }
  return { code, output: await new Blob(chunks).text() }
}

const codeOf = ({ exited, exitCode = 0 }: ProcessEnd): number | null => (exited === false ? null : exitCode)

function unknownOutcome(error: unknown): BackendError {
  const message = error instanceof Error ? error.message : String(error)
  return new BackendError(
    'unavailable',
    `${message} It is unknown whether the command ran, and how far.`,
    'Look at the files it should change before you run it again.',
  )
}
