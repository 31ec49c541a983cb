/** The files of a session, as the API reads and writes them. */

import { BackendError, type FileStat } from '../agent/model/backend.ts'
import type { SessionCore } from './session-core.ts'

export type FileAnswer =
  | { readonly is: 'file'; readonly bytes: Uint8Array; readonly stat: FileStat }
  | { readonly is: 'directory'; readonly entries: readonly FileStat[] }
  | { readonly is: 'written'; readonly created: boolean; readonly stat: FileStat | undefined }
  | { readonly is: 'removed' | 'missing' }
  | { readonly is: 'refused'; readonly message: string; readonly quota: boolean }

export function workspace({ workbench: { backend } }: SessionCore) {
  const { files } = backend
  const at = (path: string) => backend.resolve(path)
  return {
    async read(path: string): Promise<FileAnswer> {
      const stat = await files.stat(at(path))
      if (!stat) return { is: 'missing' }
      if (stat.type === 'directory') return { is: 'directory', entries: await files.list(at(path)) }
      const bytes = await files.read(at(path))
      return bytes ? { is: 'file', bytes, stat } : { is: 'missing' }
    },

    async write(path: string, bytes: Uint8Array): Promise<FileAnswer> {
      try {
        const { created } = await files.write(at(path), bytes)
        return { is: 'written', created, stat: await files.stat(at(path)) }
      } catch (error) {
        if (!(error instanceof BackendError)) throw error
        return { is: 'refused', message: `${error.message} ${error.hint}`.trim(), quota: error.code === 'quota' }
      }
    },

    async remove(path: string): Promise<FileAnswer> {
      return { is: (await files.remove(at(path))) ? 'removed' : 'missing' }
    },
  }
}
