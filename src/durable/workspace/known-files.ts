/**
 * Remembers which files the agent has read or written, and which of them somebody else has changed since. Changes through
 * the API are recorded when they are made. On a host, files change without that, so their content is compared as well.
 */

import type { BackendKind, FileComparison, KnownFiles } from '#agent/core/backend.ts'
import { hash53 } from '#agent/core/hash53.ts'
import { log } from '#agent/core/log.ts'
import type { CommandPeriod, ForeignChange, KnownFile, KnownFilesRecord } from '#durable/storage/session-metadata.ts'
import type { KnownWorkspace } from './session-backend.ts'

export type KnownFilesOfSession = KnownFiles & {
  readonly recordChange: (path: string, change: ForeignChange) => void
  /** A subagent has changed the file, and its report says so. */
  readonly recordReported: (path: string, change: ForeignChange) => void
  /** Forgets all files. */
  readonly forget: () => void
  /** Returns a note about changes that no turn has been told of. Undefined: there are none. */
  readonly takeNews: () => string | undefined
  /** Searches a host for changes of the files that the agent has seen last. Undefined: there is nothing to look for. */
  readonly check: () => Promise<void> | undefined
  /** Returns the function that ends the command. `timeoutMs`: of a background job, whose end is not reported. */
  readonly beginCommand: (timeoutMs?: number) => () => void
}

/** The record is a part of the session's metadata, so it stays small. The oldest are dropped. */
const maxFiles = 200
const maxCommands = 20
/** More than the clocks of the host and of the object may differ. */
const toleranceMs = 2_000
const maxCheckedFiles = 20
const checkTimeoutMs = 3_000
const maxNamedFiles = 20
const maxNameChars = 200

type KnownFilesOptions = {
  readonly meta: () => { readonly knownFiles?: KnownFilesRecord | undefined }
  readonly updateMeta: (change: { readonly knownFiles: KnownFilesRecord | undefined }) => void
  readonly workspace: KnownWorkspace
  readonly now: () => number
}

export function openKnownFiles(options: KnownFilesOptions): KnownFilesOfSession {
  const { workspace, now } = options
  const rows = openRecord(options)
  const isOnHost = () => isHost(workspace.kind())
  const lookAt = async (path: string, { hash, modified }: KnownFile) => {
    const stat = await workspace.stat(path)
    if (!stat) return rows.recordChange(path, 'deleted')
    if (stat.modified === modified || rows.isDuringCommand(stat.modified)) return
    const bytes = await workspace.read(path)
    if (bytes && hashOf(bytes) !== hash) rows.recordChange(path, 'changed')
  }
  return {
    recordChange: rows.recordChange,
    recordReported(path, change) {
      const before = rows.at(path)
      if (before.isSeen) rows.set(path, { ...before, change, isTold: true })
    },
    forget: rows.forget,
    takeNews: rows.takeNews,
    async see(path, bytes) {
      if (!isOnHost()) return rows.set(path, { isSeen: true })
      const stat = await workspace.stat(path)
      rows.set(path, { isSeen: true, hash: hashOf(bytes), modified: stat?.modified })
    },
    async compare(path, bytes): Promise<FileComparison> {
      const { isSeen, hash, change } = rows.at(path)
      if (!isSeen || !bytes) return 'same'
      if (change !== undefined) return 'changed'
      if (!isOnHost() || hash === undefined || hash === hashOf(bytes)) return 'same'
      const stat = await workspace.stat(path)
      return stat && rows.isDuringCommand(stat.modified) ? 'unclear' : 'changed'
    },
    check() {
      // A rented host would have to be woken up for it, and nobody else works there.
      if (workspace.kind() !== 'http') return undefined
      const seen = Object.entries(rows.files()).filter(([, { hash, change }]) => hash !== undefined && !change)
      if (!seen.length) return undefined
      return within(checkTimeoutMs, Promise.all(seen.slice(-maxCheckedFiles).map((file) => lookAt(...file))))
    },
    beginCommand(timeoutMs) {
      if (!isOnHost()) return () => undefined
      const from = now()
      if (timeoutMs !== undefined) rows.addCommand({ from, to: from + timeoutMs })
      return () => rows.addCommand({ from, to: now() })
    },
  }
}

/** Reads and changes the stored record. */
function openRecord({ meta, updateMeta }: Pick<KnownFilesOptions, 'meta' | 'updateMeta'>) {
  const record = (): KnownFilesRecord => withExactNames(meta().knownFiles ?? { files: {} })
  const at = (path: string): KnownFile => record().files[keyOf(record(), path)] ?? {}
  const set = (path: string, file: KnownFile) => {
    const key = keyOf(record(), path)
    const { [key]: before, ...others } = record().files
    if (before && JSON.stringify(before) === JSON.stringify(file)) return
    const files = Object.entries({ ...others, [key]: file }).slice(-maxFiles)
    updateMeta({ knownFiles: { ...record(), files: Object.fromEntries(files) } })
  }
  return {
    files: () => record().files,
    at,
    set,
    recordChange(path: string, change: ForeignChange) {
      const before = at(path)
      // Below a folder that was deleted or moved, the files that the agent has seen are gone too.
      const inside = Object.keys(record().files).filter((name) => name.startsWith(`${path}/`))
      if (change === 'deleted') for (const name of inside) set(name, withChange(at(name), change))
      const isReplaced = change === 'created' && before.change === 'deleted' && before.isSeen
      set(path, withChange(before, isReplaced ? 'changed' : change))
    },
    forget() {
      if (meta().knownFiles) updateMeta({ knownFiles: undefined })
    },
    takeNews() {
      const news = Object.entries(record().files).filter(([, { change, isTold }]) => change && !isTold)
      if (!news.length) return undefined
      const told = news.map(([path, file]) => [path, { ...file, isTold: true as const }] as const)
      updateMeta({ knownFiles: { ...record(), files: { ...record().files, ...Object.fromEntries(told) } } })
      return renderNews(news)
    },
    isDuringCommand: (modified: number) =>
      (record().commands ?? []).some(({ from, to }) => modified >= from - toleranceMs && modified <= to + toleranceMs),
    addCommand(period: CommandPeriod) {
      updateMeta({ knownFiles: { ...record(), commands: [...(record().commands ?? []), period].slice(-maxCommands) } })
    },
  }
}

const isHost = (kind: BackendKind): boolean => kind !== 'virtual'

const withChange = ({ isTold: _told, ...file }: KnownFile, change: ForeignChange): KnownFile => ({ ...file, change })

/**
 * The key of a path: the path itself, because two files may have names that differ only in their Unicode form. A file that was
 * deleted may come back under another form of its name.
 */
function keyOf({ files }: KnownFilesRecord, path: string): string {
  if (files[path]) return path
  const form = normalize(path)
  return Object.keys(files).find((key) => files[key]?.change === 'deleted' && normalize(key) === form) ?? path
}

/** Older records have composed names as keys, and the real name beside it. */
function withExactNames(record: KnownFilesRecord): KnownFilesRecord {
  if (!Object.values(record.files).some(({ name }) => name !== undefined)) return record
  const files = Object.entries(record.files).map(([key, { name = key, ...file }]) => [name, file] as const)
  return { ...record, files: Object.fromEntries(files) }
}

const normalize = (path: string): string => path.normalize('NFC')

const hashOf = (bytes: Uint8Array): number => hash53(new TextDecoder('latin1').decode(bytes))

/** A host that does not answer keeps nobody waiting: files are compared again before they are overwritten. */
async function within(timeoutMs: number, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, timeoutMs)
  try {
    await Promise.race([work, promise])
  } catch (error) {
    log.warn('workspace.unchecked', 'Files on a host could not be checked for changes.', { error })
  } finally {
    clearTimeout(timer)
  }
}

function renderNews(news: readonly (readonly [path: string, file: KnownFile])[]): string {
  const sorted = news.toSorted(([a], [b]) => (a < b ? -1 : 1))
  const names = sorted.slice(0, maxNamedFiles).map(([path, { change }]) => `${quote(path)} (${change})`)
  const more = news.length > names.length ? ` and ${news.length - names.length} more` : ''
  return `[Somebody else changed files of the workspace since your last turn: ${names.join(', ')}${more}. Read them again before you rely on them.]`
}

/** A name is text that somebody else has chosen. */
const quote = (path: string): string => JSON.stringify(path.length > maxNameChars ? path.slice(-maxNameChars) : path)
