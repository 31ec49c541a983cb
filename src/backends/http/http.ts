/**
 * Makes a backend of a sandbox server (docs/sandbox-protocol.md): real processes and files, and jobs that survive an
 * eviction. One server has many workspaces, whose names cannot be guessed.
 */

import {
  BackendError,
  type BackendCapabilities,
  type Files,
  type FileStat,
  type Jobs,
  type CommandState,
  type FileSearchResult,
} from '#agent/core/backend.ts'
import type { PortableBackend } from '../portable-backend.ts'
import { listLinks, parseLinks } from '../host/scripts.ts'
import { resolvePath } from '../virtual/paths.ts'
import { archive } from './archive.ts'
import { exec } from './exec.ts'
import { sendRequest, type RequestOptions, readBytes, readJson, type SandboxServer } from './request.ts'

export type HttpOptions = {
  readonly url: string
  readonly token: string
  /** 8 to 80 of a-z, 0-9, _ and -. */
  readonly workspace: string | Promise<string>
  /** Written like a workspace. */
  readonly tenant?: string | Promise<string>
  readonly network?: BackendCapabilities['network']
  readonly languages?: readonly string[]
  readonly fetch?: typeof fetch
}

/** A file is sent between Durable Objects in one message of at most 32 MiB. */
const maxFileBytes = 30 * 1024 * 1024
/** Timeout for sending and fetching files. */
const transferTimeoutMs = 120_000
const searchTimeoutMs = 30_000
const maxLinkBytes = 8 * 1024 * 1024

/** The health response of a server. */
export type Health = {
  readonly isolation: string
  readonly limiting: string
  readonly boot: string
  /** Commands can reach other hosts. */
  readonly network?: boolean
}

export function httpBackend(options: HttpOptions): PortableBackend & { readonly health: () => Promise<Health> } {
  const { url, token, workspace, tenant, languages = ['bash'] } = options
  const server: SandboxServer = { url, token, tenant, fetch: options.fetch ?? ((input, init) => fetch(input, init)) }
  const workspacePath = async (path: string) => `/v1/w/${await workspace}${path}`
  const call = async (path: string, request?: RequestOptions) => sendRequest(server, await workspacePath(path), request)
  const files: Files = {
    ...createFiles(call),
    async links(isDeep) {
      const command = listLinks(['/workspace', '/tmp'], isDeep)
      const limits = { timeoutMs: searchTimeoutMs, maxOutput: maxLinkBytes }
      return parseLinks((await exec(server, await workspacePath('/exec'), command, limits)).stdout)
    },
  }
  const health = async (request?: RequestOptions) => readJson<Health>(await sendRequest(server, '/v1/health', request))
  const network = () => options.network ?? (getFacts(url)?.network ? 'full' : 'none')
  return {
    kind: 'http',
    get capabilities(): BackendCapabilities {
      const isolated = getFacts(url)?.isolated ?? false
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
    learn: () => (isFresh(url) ? undefined : loadFacts(url, () => health({ timeoutMs: factsTimeoutMs }))),
    describe: () => renderDescription(network(), languages),
    exec: async (command, execOptions) =>
      exec(server, await workspacePath('/exec'), command, {
        ...execOptions,
        ...(execOptions.cwd !== undefined && { cwd: resolvePath(execOptions.cwd) }),
      }),
    files,
    jobs: createJobs(call),
    resolve: resolvePath,
    ...archive(call),
    tree: async () => (await readJson<{ entries: FileStat[] }>(await call('/tree'))).entries,
    clear: async () => void (await call('/clear', { method: 'POST', json: {} })),
    destroy: async () => void (await call('', { method: 'DELETE', timeoutMs: transferTimeoutMs })),
    health: () => health(),
  }
}

/** Facts from the health response of a server, shared by all sessions of the isolate. */
type ServerFacts = { readonly at: number; readonly isolated: boolean; readonly network: boolean }
const factsByUrl = new Map<string, ServerFacts>()
/** A restarted server may have other facts. */
const factsMaxAgeMs = 60_000
/** Short, because the first command waits for the facts. */
const factsTimeoutMs = 3_000

const getFacts = (url: string): ServerFacts | undefined => factsByUrl.get(url)
const isFresh = (url: string): boolean => Date.now() - (getFacts(url)?.at ?? -Infinity) < factsMaxAgeMs

/** A server that does not respond is assumed not to be isolated. */
async function loadFacts(url: string, health: () => Promise<Health>): Promise<void> {
  const response = await health().catch((): Partial<Health> => ({}))
  const isolated = typeof response.isolation === 'string' && response.isolation !== '' && response.isolation !== 'none'
  factsByUrl.set(url, { at: Date.now(), isolated, network: response.network ?? false })
}

function renderDescription(network: BackendCapabilities['network'], languages: readonly string[]): string {
  const access = { none: 'It has no network', allowlist: 'It reaches only a few hosts', full: 'It has a network' }[
    network
  ]
  const extra = languages.length > 1 ? ` It has ${languages.join(', ')}.` : ''
  return `A private Linux host with bash; the workspace is /workspace, and only it and /tmp are writable. ${access}, no root and no package manager.${extra} Use \`command -v NAME\` to check what else is installed. Long commands can run in the background.`
}

type Send = (path: string, request?: RequestOptions) => Promise<Response>

/** Returns undefined for a 404. */
async function orMissing(response: Response): Promise<Response | undefined> {
  if (response.status !== 404) return response
  await response.body?.cancel()
  return undefined
}

function createFiles(call: Send): Files {
  return {
    async read(path) {
      const response = await orMissing(
        await call('/files', { query: { path: resolvePath(path) }, timeoutMs: transferTimeoutMs }),
      )
      if (!response) return undefined
      const size = Number(response.headers.get('x-file-size') ?? 0)
      if (size <= maxFileBytes) return readBytes(response)
      await response.body?.cancel()
      throw new BackendError(
        'unsupported',
        `The file has ${size} bytes; ${maxFileBytes} can be read at once.`,
        'Use head, tail or split in the terminal.',
      )
    },
    async write(path, bytes) {
      const body = bytes as Uint8Array<ArrayBuffer>
      const request = {
        method: 'PUT',
        query: { path: resolvePath(path) },
        body,
        timeoutMs: transferTimeoutMs,
      } as const
      return readJson(await requireFound(call('/files', request)))
    },
    async stat(path) {
      const { stat } = await readJson<{ stat: FileStat | null }>(
        await requireFound(call('/stat', { query: { path: resolvePath(path) } })),
      )
      return stat ?? undefined
    },
    async list(path) {
      return (
        await readJson<{ entries: FileStat[] }>(
          await requireFound(call('/list', { query: { path: resolvePath(path) } })),
        )
      ).entries
    },
    async remove(path) {
      const response = await requireFound(call('/files', { method: 'DELETE', query: { path: resolvePath(path) } }))
      return (await readJson<{ removed: boolean }>(response)).removed
    },
    async move(from, to) {
      await requireFound(call('/move', { method: 'POST', json: { from: resolvePath(from), to: resolvePath(to) } }))
    },
    async search(query) {
      const json = { ...query, path: resolvePath(query.path ?? '.') }
      return readJson<FileSearchResult>(
        await requireFound(call('/search', { method: 'POST', json, timeoutMs: searchTimeoutMs })),
      )
    },
  }
}

/** Throws on a 404. */
async function requireFound(request: Promise<Response>): Promise<Response> {
  const response = await request
  if (response.status !== 404) return response
  const { error } = await readJson<{ error?: { message?: string } }>(response)
  throw new BackendError('invalid', error?.message ?? 'There is no such file or directory.')
}

function createJobs(call: Send): Jobs {
  const at = (id: string) => `/jobs/${encodeURIComponent(id)}`
  const lost: CommandState = { at: 'lost' }
  return {
    async start(id, command, options) {
      const response = await requireFound(call(at(id), { method: 'PUT', json: { command, ...options } }))
      return (await readJson<{ pid?: number | null }>(response)).pid ?? undefined
    },
    async state(id) {
      const response = await orMissing(await call(at(id)))
      return response ? (await readJson<{ state: CommandState }>(response)).state : lost
    },
    async output(id, from, max) {
      const response = await orMissing(await call(`${at(id)}/output`, { query: { from, max } }))
      if (!response) return { text: '', next: from }
      const { text, next } = await readJson<{ text: string; next: number }>(response)
      return { text, next }
    },
    async write(id, text, close) {
      await requireFound(call(`${at(id)}/input`, { method: 'POST', json: { text, close } }))
    },
    async kill(id) {
      await orMissing(await call(at(id), { method: 'DELETE' }))
    },
  }
}
