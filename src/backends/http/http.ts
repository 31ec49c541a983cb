/**
 * A machine behind the sandbox protocol (docs/sandbox-protocol.md): real processes, real files, jobs that outlive us.
 * One server serves many; a session's workspace is named by what cannot be guessed from outside.
 */

import {
  BackendError,
  type Capabilities,
  type Files,
  type FileStat,
  type Jobs,
  type JobState,
  type SearchResult,
} from '../../agent/model/backend.ts'
import type { PortableBackend } from '../portable-backend.ts'
import { resolvePath } from '../virtual/paths.ts'
import { archive } from './archive.ts'
import { exec } from './exec.ts'
import { sendRequest, type RequestOptions, readBytes, readJson, type SandboxServer } from './request.ts'

export type HttpOptions = {
  readonly url: string
  readonly token: string
  /** 8 to 80 of a-z, 0-9, _ and -. */
  readonly workspace: string | Promise<string>
  readonly network?: Capabilities['network']
  readonly languages?: readonly string[]
  readonly fetch?: typeof fetch
}

/** It goes from object to object in one message, which holds 32 MiB. */
const MAX_FILE = 30 * 1024 * 1024
/** Sending or fetching a file may take longer than a word. */
const TRANSFER_MS = 120_000
const SEARCH_MS = 30_000

/** Asks whether a workspace answers, and about the machine. */
export type Health = {
  readonly isolation: string
  readonly limiting: string
  readonly boot: string
  /** Commands reach other machines. */
  readonly network?: boolean
}

export function httpBackend(options: HttpOptions): PortableBackend & { readonly health: () => Promise<Health> } {
  const { url, token, workspace, languages = ['bash'] } = options
  const server: SandboxServer = { url, token, fetch: options.fetch ?? ((input, init) => fetch(input, init)) }
  const at = async (path: string) => `/v1/w/${await workspace}${path}`
  const call = async (path: string, request?: RequestOptions) => sendRequest(server, await at(path), request)
  const files = filesOf(call)
  const health = async (request?: RequestOptions) => readJson<Health>(await sendRequest(server, '/v1/health', request))
  const network = () => options.network ?? (nature(url)?.network ? 'full' : 'none')
  return {
    kind: 'http',
    get capabilities(): Capabilities {
      const isolated = nature(url)?.isolated ?? false
      return {
        streaming: true,
        background: true,
        pty: true,
        network: network(),
        languages,
        root: '/workspace',
        isolated,
      }
    },
    learn: () => (isFresh(url) ? undefined : learn(url, () => health({ timeoutMs: NATURE_MS }))),
    describe: () => descriptionOf(network(), languages),
    exec: async (command, how) =>
      exec(server, await at('/exec'), command, { ...how, ...(how.cwd !== undefined && { cwd: resolvePath(how.cwd) }) }),
    files,
    jobs: jobsOf(call),
    resolve: resolvePath,
    ...archive(call),
    tree: async () => (await readJson<{ entries: FileStat[] }>(await call('/tree'))).entries,
    clear: async () => void (await call('/clear', { method: 'POST', json: {} })),
    destroy: async () => void (await call('', { method: 'DELETE', timeoutMs: TRANSFER_MS })),
    health: () => health(),
  }
}

/** What kind of machine a server is, as it said itself; every session of the isolate knows. */
type ServerFacts = { readonly at: number; readonly isolated: boolean; readonly network: boolean }
const natures = new Map<string, ServerFacts>()
/** A server that is started anew may be another kind of machine. */
const KNOWN_MS = 60_000
/** A command waits for this word. */
const NATURE_MS = 3_000

const nature = (url: string): ServerFacts | undefined => natures.get(url)
const isFresh = (url: string): boolean => Date.now() - (nature(url)?.at ?? -Infinity) < KNOWN_MS

/** A server that does not answer is no closed machine. */
async function learn(url: string, health: () => Promise<Health>): Promise<void> {
  const said = await health().catch((): Partial<Health> => ({}))
  const isolated = typeof said.isolation === 'string' && said.isolation !== '' && said.isolation !== 'none'
  natures.set(url, { at: Date.now(), isolated, network: said.network ?? false })
}

function descriptionOf(network: Capabilities['network'], languages: readonly string[]): string {
  const reach = { none: 'It has no network', allowlist: 'It reaches a few hosts only', full: 'It has a network' }[
    network
  ]
  const known = languages.length > 1 ? ` It has ${languages.join(', ')}.` : ''
  return `A private Linux machine with bash; the workspace is /workspace, and only it and /tmp can be written. ${reach}, no root and no package manager.${known} Ask \`command -v NAME\` for what else is installed. Long commands can run in the background.`
}

type Call = (path: string, request?: RequestOptions) => Promise<Response>

/** Undefined for a 404, whose words nobody needs. */
async function found(response: Response): Promise<Response | undefined> {
  if (response.status !== 404) return response
  await response.body?.cancel()
  return undefined
}

function filesOf(call: Call): Files {
  return {
    async read(path) {
      const response = await found(await call('/files', { query: { path: resolvePath(path) }, timeoutMs: TRANSFER_MS }))
      if (!response) return undefined
      const size = Number(response.headers.get('x-file-size') ?? 0)
      if (size <= MAX_FILE) return readBytes(response)
      await response.body?.cancel()
      throw new BackendError(
        'unsupported',
        `The file has ${size} bytes; ${MAX_FILE} can be read at once.`,
        'Use head, tail or split in the terminal.',
      )
    },
    async write(path, bytes) {
      const body = bytes as Uint8Array<ArrayBuffer>
      const request = { method: 'PUT', query: { path: resolvePath(path) }, body, patienceMs: TRANSFER_MS } as const
      return readJson(await good(call('/files', request)))
    },
    async stat(path) {
      const { stat } = await readJson<{ stat: FileStat | null }>(
        await good(call('/stat', { query: { path: resolvePath(path) } })),
      )
      return stat ?? undefined
    },
    async list(path) {
      return (await readJson<{ entries: FileStat[] }>(await good(call('/list', { query: { path: resolvePath(path) } }))))
        .entries
    },
    async remove(path) {
      const response = await good(call('/files', { method: 'DELETE', query: { path: resolvePath(path) } }))
      return (await readJson<{ removed: boolean }>(response)).removed
    },
    async move(from, to) {
      await good(call('/move', { method: 'POST', json: { from: resolvePath(from), to: resolvePath(to) } }))
    },
    async search(query) {
      const json = { ...query, path: resolvePath(query.path ?? '.') }
      return readJson<SearchResult>(await good(call('/search', { method: 'POST', json, timeoutMs: SEARCH_MS })))
    },
  }
}

/** Where a 404 is no answer but an error. */
async function good(asked: Promise<Response>): Promise<Response> {
  const response = await asked
  if (response.status !== 404) return response
  const { error } = await readJson<{ error?: { message?: string } }>(response)
  throw new BackendError('invalid', error?.message ?? 'There is no such file or directory.')
}

function jobsOf(call: Call): Jobs {
  const at = (id: string) => `/jobs/${encodeURIComponent(id)}`
  const lost: JobState = { at: 'lost' }
  return {
    async start(id, command, options) {
      const response = await good(call(at(id), { method: 'PUT', json: { command, ...options } }))
      return (await readJson<{ pid?: number | null }>(response)).pid ?? undefined
    },
    async state(id) {
      const response = await found(await call(at(id)))
      return response ? (await readJson<{ state: JobState }>(response)).state : lost
    },
    async output(id, from, max) {
      const response = await found(await call(`${at(id)}/output`, { query: { from, max } }))
      if (!response) return { text: '', next: from }
      const { text, next } = await readJson<{ text: string; next: number }>(response)
      return { text, next }
    },
    async write(id, text, close) {
      await good(call(`${at(id)}/input`, { method: 'POST', json: { text, close } }))
    },
    async kill(id) {
      await found(await call(at(id), { method: 'DELETE' }))
    },
  }
}
