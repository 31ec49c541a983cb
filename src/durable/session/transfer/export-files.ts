/** Reads the files of a workspace for an export, and writes those of an import. */

import { decodeBase64Bytes, encodeBase64Bytes } from '#agent/core/base64.ts'
import type { Files, FileStat } from '#agent/core/backend.ts'
import type { ExportedFile } from '#agent/public-api/export-source.ts'
import { workspaceFiles } from '../files.ts'
import type { Session } from '../session.ts'

const maxFiles = 2_000
const maxFolders = 500
/** One file is in memory at a time, as bytes and as base64. */
const maxFileBytes = 8 * 2 ** 20
const maxTotalBytes = 64 * 2 ** 20

/** Yields files in the order of their folders. What exceeds a limit is named without content. */
export async function* exportFiles({ toolRuntime: { backend } }: Session): AsyncGenerator<ExportedFile> {
  const { userFiles } = backend
  const root = backend.resolve('.')
  let [count, total] = [0, 0]
  for await (const { path, size } of listFiles(userFiles, root)) {
    if (++count > maxFiles) return
    const named = { path: path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path, bytes: size }
    const isFitting = size <= maxFileBytes && total + size <= maxTotalBytes
    const bytes = isFitting ? await userFiles.read(path) : undefined
    total += bytes?.byteLength ?? 0
    yield bytes ? { ...named, content: encodeBase64Bytes(bytes) } : { ...named, omitted: 'too large' }
  }
}

/** Links are not followed. */
async function* listFiles(files: Files, root: string): AsyncGenerator<FileStat> {
  const folders = [root]
  for (const folder of folders) {
    for (const stat of await files.list(folder)) {
      if (stat.type === 'directory' && folders.length < maxFolders) folders.push(stat.path)
      if (stat.type === 'file') yield stat
    }
  }
}

/** Files that the workspace refuses are skipped: a path outside of it, or more than the backend can store. */
export async function importFiles(session: Session, files: readonly ExportedFile[]): Promise<void> {
  const workspace = workspaceFiles(session)
  for (const { path, content } of files)
    if (content !== undefined) await workspace.write(path, decodeBase64Bytes(content))
}
