/** Opens a Daytona sandbox, with its REST API. Tested against its documentation, not against the service. */

import type { HostPort } from './host-port.ts'
import { requireSandboxId, requireVendorUrl } from './vendor-host.ts'
import { openVendorSandbox, pollUntil, type HostVendorOptions } from './vendor-sandbox.ts'
import { discardBody, requireFound, vendorApi, type VendorApi } from './vendor-api.ts'

export type DaytonaOptions = HostVendorOptions & {
  readonly toolbox?: string
  readonly snapshot?: string
}

const vendor = 'Daytona'
const defaultApi = 'https://app.daytona.io/api'
const defaultDomain = 'daytona.io'
/** Idle time until a sandbox stops, and time until a stopped one is deleted. */
const stopAfterMinutes = 15
const deleteAfterMinutes = 30 * 24 * 60
const graceMs = 20_000

type DaytonaSandbox = { readonly id: string; readonly state?: string; readonly toolboxProxyUrl?: string }

/** The connection is the URL of the toolbox inside the sandbox. */
function daytonaSandbox({ memory, snapshot, network, ...options }: DaytonaOptions, { request }: VendorApi) {
  const { api = defaultApi, toolbox = 'https://proxy.app.daytona.io/toolbox' } = options
  const fetchSandbox = async (id: string) => (await request('GET', `${api}/sandbox/${id}`))?.json<DaytonaSandbox>()
  // The key is sent to this address, so the answer may name only a host of the vendor.
  const own = { api, domain: api === defaultApi ? defaultDomain : new URL(api).hostname, vendor }
  const at = ({ id, toolboxProxyUrl }: DaytonaSandbox) => {
    const base = toolboxProxyUrl === undefined ? toolbox : requireVendorUrl(toolboxProxyUrl, own)
    return `${base.replace(/\/$/, '')}/${requireSandboxId(id, vendor)}`
  }

  async function waitUntilStarted(id: string): Promise<string> {
    let last: DaytonaSandbox | undefined
    await pollUntil(async () => (last = requireFound(await fetchSandbox(id), vendor)).state === 'started', vendor)
    return at(requireFound(last, vendor))
  }
  return openVendorSandbox<string>({
    memory,
    async create() {
      const json = {
        autoStopInterval: stopAfterMinutes,
        autoDeleteInterval: deleteAfterMinutes,
        labels: { by: 'talaria' },
        ...(network === 'none' && { networkBlockAll: true }),
        ...(snapshot && { snapshot }),
      }
      const created = requireFound(await request('POST', `${api}/sandbox`, { json, timeoutMs: 120_000 }), vendor)
      const id = requireSandboxId((await created.json<DaytonaSandbox>()).id, vendor)
      return { id, connection: await waitUntilStarted(id) }
    },
    async wake(id) {
      const found = await fetchSandbox(id)
      if (!found || found.state === 'destroyed' || found.state === 'destroying') return undefined
      if (found.state === 'stopped' || found.state === 'archived')
        await discardBody(await request('POST', `${api}/sandbox/${id}/start`, { timeoutMs: 120_000 }))
      return waitUntilStarted(id)
    },
  })
}

export function openDaytona(options: DaytonaOptions): HostPort {
  const { key, memory, api = defaultApi, fetch: send = (input, init) => fetch(input, init) } = options
  const headers = { authorization: `Bearer ${key}` }
  const client = vendorApi({ vendor: vendor, headers, keyName: 'DAYTONA_API_KEY', fetch: send })
  const { request } = client
  const sandbox = daytonaSandbox(options, client)
  const file = (base: string, action: string, path: string) =>
    `${base}/files/${action}?path=${encodeURIComponent(path)}`
  return {
    async run(script, timeoutMs) {
      const json = { command: wrapScript(script), timeout: Math.ceil(timeoutMs / 1000) }
      const url = `${await sandbox.get()}/process/execute`
      const answer = requireFound(await request('POST', url, { json, timeoutMs: timeoutMs + graceMs }), vendor)
      const { exitCode, code, result = '' } = await answer.json<{ exitCode?: number; code?: number; result?: string }>()
      return { code: exitCode ?? code ?? null, output: result }
    },
    async read(path) {
      const response = requireFound(
        await request('GET', file(await sandbox.get(), 'download', path), { timeoutMs: 120_000 }),
        vendor,
      )
      return new Uint8Array(await response.arrayBuffer())
    },
    async write(path, bytes) {
      const body = new FormData()
      body.append('file', new Blob([bytes as Uint8Array<ArrayBuffer>]), 'file')
      const url = file(await sandbox.get(), 'upload', path)
      await discardBody(requireFound(await request('POST', url, { body, timeoutMs: 120_000 }), vendor))
    },
    async destroy() {
      const { id } = memory.read()
      sandbox.forget()
      if (id !== undefined) await discardBody(await request('DELETE', `${api}/sandbox/${id}`))
    },
  }
}

/**
 * Encodes the script in base64, so that it works with any quoting rules of the API. Standard error is discarded, because
 * the API would mix it with the output. Without `--norc` bash runs `.bashrc` when its input is a socket.
 */
function wrapScript(script: string): string {
  const bytes = new TextEncoder().encode(script)
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return `bash --norc -c 'exec 2>/dev/null; eval "$(echo ${btoa(text)} | base64 -d)"'`
}
