/** Implements the operations of a sandbox server, each a request of its protocol. */

import {
  BackendError,
  type CommandState,
  type Files,
  type FileSearchResult,
  type FileStat,
  type Jobs,
} from '#agent/core/backend.ts'
import { regeneratedFolders, type TreeEntry } from '../portable-backend.ts'
import type { HostOperations } from '../host/host-operations.ts'
import { changingError, isReadable, tooLarge } from '../host/read-changing-file.ts'
import { listLinks, parseLinks } from '../host/scripts.ts'
import { resolvePath } from '../virtual/paths.ts'
import { archive } from './archive.ts'
import { exec } from './exec.ts'
import type { Health } from './http.ts'
import { readBytes, readJson, type RequestOptions, type SandboxServer, sendRequest } from './request.ts'

export type HttpOperations = HostOperations & {
  readonly destroy: () => Promise<void>
  readonly health: (request?: RequestOptions) => Promise<Health>
}

type Send = (path: string, request?: RequestOptions) => Promise<Response>

/** Attempts to read a file that becomes shorter meanwhile. */
const maxReads = 3
/** Timeout for sending and fetching files. */
const transferTimeoutMs = 120_000
const searchTimeoutMs = 30_000
/** More hits in one request are refused. */
const maxSearchHits = 1_000
const maxLinkBytes = 8 * 1024 * 1024

export function openHttpOperations(server: SandboxServer, workspace: string | Promise<string>): HttpOperations {
  const workspacePath = async (path: string) => `/v1/w/${await workspace}${path}`
  const call = async (path: string, request?: RequestOptions) => sendRequest(server, await workspacePath(path), request)
  return {
    exec: async (command, execOptions) =>
      exec(server, await workspacePath('/exec'), command, {
        ...execOptions,
        ...(execOptions.cwd !== undefined && { cwd: resolvePath(execOptions.cwd) }),
      }),
    files: {
      ...createFiles(call),
      async links(isDeep) {
        const command = listLinks(['/workspace', '/tmp'], isDeep)
        const limits = { timeoutMs: searchTimeoutMs, maxOutput: maxLinkBytes }
        return parseLinks((await exec(server, await workspacePath('/exec'), command, limits)).stdout)
      },
    },
    jobs: createJobs(call),
    ...archive(call),
    tree: async () => readTree(await call('/tree', { query: { shallow: [...regeneratedFolders] } })),
    clear: async () => void (await call('/clear', { method: 'POST', json: {} })),
    destroy: async () => void (await call('', { method: 'DELETE', timeoutMs: transferTimeoutMs })),
    health: async (request) => readJson<Health>(await sendRequest(server, '/v1/health', request)),
  }
}

async function readTree(response: Response): Promise<readonly TreeEntry[]> {
  const { entries, truncated } = await readJson<{ entries: FileStat[]; truncated?: boolean }>(response)
  const workspace = { path: '/workspace', type: 'directory', size: 0, modified: 0, isPartial: true } as const
  return truncated ? [workspace, ...entries] : entries
}

/** Returns undefined for a 404. */
async function orMissing(response: Response): Promise<Response | undefined> {
  if (response.status !== 404) return response
  await response.body?.cancel()
  return undefined
}

function createFiles(call: Send): Files {
  const stat = async (path: string) => {
    const answer = await readJson<{ stat: FileStat | null }>(
      await requireFound(call('/stat', { query: { path: resolvePath(path) } })),
    )
    return answer.stat ?? undefined
  }
  return {
    async read(path) {
      let hasChanged = false
      for (let attempt = 1; ; attempt++) {
        const response = await orMissing(
          await call('/files', { query: { path: resolvePath(path) }, timeoutMs: transferTimeoutMs }),
        )
        if (!response) return undefined
        const size = Number(response.headers.get('x-file-size') ?? 0)
        if (!isReadable(size)) {
          await response.body?.cancel()
          throw tooLarge(size)
        }
        const bytes = await readBytes(response).catch((error: unknown) => ({ error }))
        if (!('error' in bytes)) return bytes
        // The server breaks off when the file has become shorter. It may have grown again since.
        hasChanged ||= (await stat(path))?.size !== size
        if (attempt === maxReads) throw hasChanged ? changingError(path) : bytes.error
      }
    },
    async write(path, bytes) {
      const body = bytes as Uint8Array<ArrayBuffer>
      const query = { path: resolvePath(path) }
      const request = { method: 'PUT', query, body, timeoutMs: transferTimeoutMs } as const
      return readJson(await requireFound(call('/files', request)))
    },
    stat,
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
      const limit = Math.min(query.limit, maxSearchHits)
      const json = { ...query, limit, path: resolvePath(query.path ?? '.') }
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
  const lost: CommandState = { at: 'lost', reason: 'replaced' }
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
