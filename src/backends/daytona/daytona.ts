/** A sandbox of Daytona, by its REST API. Not verified against the service itself, only against what it documents. */

import { hostBackend } from '../host/host-backend.ts'
import type { HostPort } from '../host/host-port.ts'
import { openVendorSandbox, pollUntil, type VendorOptions } from '../host/vendor-sandbox.ts'
import { requireFound, vendorApi, type VendorApi } from '../host/vendor-api.ts'
import type { PortableBackend } from '../portable-backend.ts'

export type DaytonaOptions = VendorOptions & {
  readonly toolbox?: string
  readonly snapshot?: string
}

const VENDOR = 'Daytona'
const API = 'https://app.daytona.io/api'
/** Minutes without use until it stops, and until one that is stopped is deleted. */
const STOP_AFTER = 15
const DELETE_AFTER = 30 * 24 * 60
const GRACE_MS = 20_000

type Sandbox = { readonly id: string; readonly state?: string; readonly toolboxProxyUrl?: string }

export function daytonaBackend(options: DaytonaOptions): PortableBackend {
  const {
    root = '/home/daytona/workspace',
    languages = ['bash', 'python', 'node'],
    network = 'full',
    memory,
    state,
  } = options
  return hostBackend({
    kind: 'daytona',
    port: portOf(options),
    root,
    ...(state !== undefined && { state }),
    network,
    languages,
    describe: `A Linux machine of your own at Daytona with ${languages.join(', ')}; the workspace is ${root}. It stops when it is not used; files stay, background jobs end.`,
    memory,
  })
}

/** The life of a sandbox; a machine is the address of the toolbox inside. */
function rental({ memory, snapshot, network, ...options }: DaytonaOptions, { request: ask }: VendorApi) {
  const { api = API, toolbox = 'https://proxy.app.daytona.io/toolbox' } = options
  const look = async (id: string) => (await ask('GET', `${api}/sandbox/${id}`))?.json<Sandbox>()
  const at = ({ id, toolboxProxyUrl = toolbox }: Sandbox) => `${toolboxProxyUrl.replace(/\/$/, '')}/${id}`

  async function ready(id: string): Promise<string> {
    let last: Sandbox | undefined
    await pollUntil(async () => (last = requireFound(await look(id), VENDOR)).state === 'started', VENDOR)
    return at(requireFound(last, VENDOR))
  }
  return openVendorSandbox<string>({
    memory,
    async create() {
      const json = {
        autoStopInterval: STOP_AFTER,
        autoDeleteInterval: DELETE_AFTER,
        labels: { by: 'talaria' },
        ...(network === 'none' && { networkBlockAll: true }),
        ...(snapshot && { snapshot }),
      }
      const made = requireFound(await ask('POST', `${api}/sandbox`, { json, timeoutMs: 120_000 }), VENDOR)
      const { id } = await made.json<Sandbox>()
      return { id, machine: await ready(id) }
    },
    async wake(id) {
      const found = await look(id)
      if (!found || found.state === 'destroyed' || found.state === 'destroying') return undefined
      if (found.state === 'stopped' || found.state === 'archived')
        await ask('POST', `${api}/sandbox/${id}/start`, { timeoutMs: 120_000 })
      return ready(id)
    },
  })
}

function portOf(options: DaytonaOptions): HostPort {
  const { key, memory, api = API, fetch: send = (input, init) => fetch(input, init) } = options
  const headers = { authorization: `Bearer ${key}` }
  const client = vendorApi({ vendor: VENDOR, headers, keyName: 'DAYTONA_API_KEY', fetch: send })
  const { request: ask } = client
  const machine = rental(options, client)
  const file = (base: string, what: string, path: string) => `${base}/files/${what}?path=${encodeURIComponent(path)}`
  return {
    async run(script, timeoutMs) {
      const json = { command: wrapped(script), timeout: Math.ceil(timeoutMs / 1000) }
      const url = `${await machine.get()}/process/execute`
      const answer = requireFound(await ask('POST', url, { json, timeoutMs: timeoutMs + GRACE_MS }), VENDOR)
      const { exitCode, code, result = '' } = await answer.json<{ exitCode?: number; code?: number; result?: string }>()
      return { code: exitCode ?? code ?? null, output: result }
    },
    async read(path) {
      const response = requireFound(
        await ask('GET', file(await machine.get(), 'download', path), { timeoutMs: 120_000 }),
        VENDOR,
      )
      return new Uint8Array(await response.arrayBuffer())
    },
    async write(path, bytes) {
      const body = new FormData()
      body.append('file', new Blob([bytes as Uint8Array<ArrayBuffer>]), 'file')
      requireFound(await ask('POST', file(await machine.get(), 'upload', path), { body, timeoutMs: 120_000 }), VENDOR)
    },
    async destroy() {
      const { id } = memory.read()
      machine.forget()
      if (id !== undefined) await ask('DELETE', `${api}/sandbox/${id}`)
    },
  }
}

/** Whether a shell takes it apart or only quotes are understood: no sign in it means anything. What is said on stderr
 * would come mixed with the answer. */
function wrapped(script: string): string {
  const bytes = new TextEncoder().encode(script)
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return `bash -c 'exec 2>/dev/null; eval "$(echo ${btoa(text)} | base64 -d)"'`
}
