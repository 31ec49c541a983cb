/** Reads and changes workspace files for the API. */

import { BackendError, type Files, type FileStat } from '#agent/core/backend.ts'
import { allMarks } from '#agent/core/marks.ts'
import { etagOf } from '#durable/platform/etag.ts'
import type { Session } from '../session.ts'

export type FileResult =
  | { readonly kind: 'file'; readonly bytes: Uint8Array; readonly stat: FileStat }
  | { readonly kind: 'directory'; readonly entries: readonly FileStat[] }
  | { readonly kind: 'written'; readonly created: boolean; readonly stat: FileStat | undefined }
  /** `changed`: the file is not the version that the caller knows. `exists`: there is something at the new path. */
  | { readonly kind: 'removed' | 'missing' | 'changed' | 'exists' }
  | { readonly kind: 'moved'; readonly stat: FileStat | undefined }
  | { readonly kind: 'refused'; readonly message: string; readonly code: BackendError['code'] }

/** The version of a file that the caller knows, or that there must be none. */
export type Precondition = { readonly match?: string | undefined; readonly noneMatch?: string | undefined }

/** `by`: who asks, as `holderOf` names them. A file that another one than the owner of the session writes is foreign. */
export function workspaceFiles(
  { toolRuntime: { backend, fileMarks }, billing: account, meta: { owner } }: Session,
  by = owner,
) {
  const { userFiles: files, known } = backend
  const root = backend.resolve('.')
  const at = (path: string): string => {
    const resolved = backend.resolve(path)
    if (resolved === root || resolved.startsWith(`${root}/`)) return resolved
    throw new BackendError('invalid', 'This path is not in the workspace.', 'Paths are relative to it.')
  }
  const inside = (path: string): string => {
    const resolved = at(path)
    if (resolved !== root) return resolved
    throw new BackendError('invalid', 'The workspace itself cannot be deleted or moved.', 'Name what is in it.')
  }
  return {
    read: (path: string, isRecursive = false) =>
      orRefused(async () => {
        const stat = await files.stat(at(path))
        if (!stat) return { kind: 'missing' }
        if (stat.type === 'directory')
          return { kind: 'directory', entries: await (isRecursive ? listAll(files, at(path)) : files.list(at(path))) }
        const bytes = await files.read(at(path))
        return bytes ? { kind: 'file', bytes, stat } : { kind: 'missing' }
      }),

    write: (path: string, bytes: Uint8Array, precondition: Precondition = {}) =>
      orRefused(async () => {
        if (!(await isMet(files, at(path), precondition))) return { kind: 'changed' }
        if (by === owner) fileMarks.setPrivate(at(path))
        else fileMarks.set(at(path), allMarks)
        const before = await files.read(at(path))
        const { created } = await files.write(at(path), bytes)
        if (!hasSameBytes(before, bytes)) known?.recordChange(at(path), created ? 'created' : 'changed')
        await account.reportStorage()
        return { kind: 'written', created, stat: await files.stat(at(path)) }
      }),

    move: (from: string, to: string) =>
      orRefused(async () => {
        if (!(await files.stat(inside(from)))) return { kind: 'missing' }
        if (await files.stat(inside(to))) return { kind: 'exists' }
        await createParent(files, inside(to))
        fileMarks.copy(inside(from), inside(to))
        await files.move(inside(from), inside(to))
        known?.recordChange(inside(from), 'deleted')
        known?.recordChange(inside(to), 'created')
        return { kind: 'moved', stat: await files.stat(inside(to)) }
      }),

    remove: (path: string) =>
      orRefused(async () => {
        const kind = (await files.remove(inside(path))) ? 'removed' : 'missing'
        if (kind === 'removed') known?.recordChange(inside(path), 'deleted')
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

/** Above this a tree is not listed any further. */
const maxListed = 20_000

/** Everything below a directory, parents before their children. Links are not followed. */
async function listAll(files: Files, directory: string): Promise<FileStat[]> {
  const found: FileStat[] = []
  const open = [directory]
  for (let next = open.shift(); next !== undefined && found.length < maxListed; next = open.shift()) {
    const entries = await files.list(next)
    found.push(...entries)
    open.push(...entries.flatMap(({ type, path }) => (type === 'directory' ? [path] : [])))
  }
  return found.slice(0, maxListed).toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

/** Backends create folders with the files in them alone. */
async function createParent(files: Files, path: string): Promise<void> {
  if (await files.stat(path.slice(0, path.lastIndexOf('/')))) return
  await files.write(path, new Uint8Array())
  await files.remove(path)
}

/** `*` is any version. */
async function isMet(files: Files, path: string, { match, noneMatch }: Precondition): Promise<boolean> {
  if (match === undefined && noneMatch === undefined) return true
  const bytes = await files.read(path)
  const etag = bytes && (await etagOf(bytes))
  if (match !== undefined) return etag !== undefined && (match === '*' || listTags(match).includes(etag))
  return etag === undefined || !(noneMatch === '*' || listTags(noneMatch ?? '').includes(etag))
}

const hasSameBytes = (one: Uint8Array | undefined, other: Uint8Array): boolean =>
  one?.byteLength === other.byteLength && one.every((byte, at) => byte === other[at])

const listTags = (header: string): readonly string[] => header.split(',').map((tag) => tag.trim())
