/** Reads and changes workspace files for the API. */

import { BackendError, type FileStat } from '../../agent/model/backend.ts'
import type { Session } from './session.ts'

export type FileResult =
  | { readonly kind: 'file'; readonly bytes: Uint8Array; readonly stat: FileStat }
  | { readonly kind: 'directory'; readonly entries: readonly FileStat[] }
  | { readonly kind: 'written'; readonly created: boolean; readonly stat: FileStat | undefined }
  | { readonly kind: 'removed' | 'missing' }
  | { readonly kind: 'refused'; readonly message: string; readonly code: BackendError['code'] }

export function workspaceFiles({ toolRuntime: { backend }, billing: account }: Session) {
  const { userFiles: files } = backend
  const root = backend.resolve('.')
  const at = (path: string): string => {
    const resolved = backend.resolve(path)
    if (resolved === root || resolved.startsWith(`${root}/`)) return resolved
    throw new BackendError('invalid', 'This path is not in the workspace.', 'Paths are relative to it.')
  }
  const inside = (path: string): string => {
    const resolved = at(path)
    if (resolved !== root) return resolved
    throw new BackendError('invalid', 'The workspace itself cannot be deleted.', 'Name what is in it.')
  }
  return {
    read: (path: string) =>
      orRefused(async () => {
        const stat = await files.stat(at(path))
        if (!stat) return { kind: 'missing' }
        if (stat.type === 'directory') return { kind: 'directory', entries: await files.list(at(path)) }
        const bytes = await files.read(at(path))
        return bytes ? { kind: 'file', bytes, stat } : { kind: 'missing' }
      }),

    write: (path: string, bytes: Uint8Array) =>
      orRefused(async () => {
        const { created } = await files.write(at(path), bytes)
        await account.reportStorage()
        return { kind: 'written', created, stat: await files.stat(at(path)) }
      }),

    remove: (path: string) =>
      orRefused(async () => {
        const kind = (await files.remove(inside(path))) ? 'removed' : 'missing'
        await account.reportStorage()
        return { kind }
      }),
  }
}

/** Turns the refusal of a backend into a result. */
async function orRefused(work: () => Promise<FileResult>): Promise<FileResult> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof BackendError)) throw error
    return { kind: 'refused', message: `${error.message} ${error.hint}`.trim(), code: error.code }
  }
}
