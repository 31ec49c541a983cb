/**
 * Makes the virtual backend, which needs no set-up: files are rows of the session's Durable Object, and commands run in
 * just-bash. It has no processes and no compilers, and network only when it is given one.
 */

import {
  BackendError,
  type BackendCapabilities,
  type ExecOptions,
  type ExecResult,
  type ExecutionBackend,
  type Files,
  type FileStat,
} from '#agent/core/backend.ts'
import type { CheckpointLimits } from '../checkpoints.ts'
import { agentBit, type ChangeAuthor, openCheckpointRows, userBit } from './checkpoint-rows.ts'
import { virtualCheckpoints, type VirtualCheckpoints } from './checkpoints.ts'
import { FileError } from './file-error.ts'
import { openJobs } from './jobs.ts'
import type { Network } from './network.ts'
import { resolvePath, workspaceRoot } from './paths.ts'
import type { SearchIn } from './search.ts'
import { openLineMatcher } from '../search/line-matcher.ts'
import { openShell, type ShellRunner } from './shell.ts'
import { restore, snapshot, type SnapshotEntry } from './snapshot.ts'
import { type FileEntry, openSqlFiles, type SqlFiles } from './sql-files.ts'
import { openTable } from './table.ts'

export type VirtualOptions = {
  readonly sql: SqlStorage
  /** Without it a file must fit into a row: 1.9 MB. */
  readonly blobs?: R2Bucket | undefined
  /** R2 prefix of this session's large files, such as `t/<tenant>/s/<session>/files/`. Unique per session. */
  readonly prefix: string
  /** Without it the shell runs inside the Durable Object. */
  readonly loader?: WorkerLoader | undefined
  /** Evaluated for every write. */
  readonly quotaBytes?: () => number
  /** Evaluated for every command. Without it curl, wget and git have no network. Only public addresses are reachable. */
  readonly network?: (() => Network | undefined) | undefined
  readonly now: () => number
  readonly checkpointLimits?: CheckpointLimits | undefined
}

export type VirtualBackend = ExecutionBackend & {
  /** The same files, for changes by the user, which restoring a checkpoint leaves unchanged by default. */
  readonly userFiles: Files
  readonly checkpoints: VirtualCheckpoints
  /** Deletes all checkpoints, before the whole workspace is replaced. */
  readonly forgetCheckpoints: () => void
  readonly snapshot: () => AsyncIterable<SnapshotEntry>
  /** Writes entries over existing files. Blobs are copied, so the source may be deleted. */
  readonly restore: (entries: AsyncIterable<SnapshotEntry> | Iterable<SnapshotEntry>) => Promise<void>
  readonly usedBytes: () => number
}

export const defaultQuotaBytes = 512 * 1024 * 1024
const defaultMaxOutput = 256 * 1024
/** Of one search: without an isolate it shares the time of the Durable Object with everything else. */
const maxSearchedBytes = 64 * 1024 * 1024
const maxSearchedInlineBytes = 16 * 1024 * 1024

const describe = (network: string): string =>
  `A private Linux-like workspace at ${workspaceRoot}: bash, git and the usual text utilities (grep, sed, awk, jq, find, diff,
patch, tar, ...). It has ${network}, no package manager, no compilers or interpreters (python, node). Pipes run one
after the other, loops end after 50 000 commands, sed knows no \\U.`.replaceAll('\n', ' ')

const offlineCapabilities: BackendCapabilities = {
  streaming: true,
  background: true,
  pty: false,
  network: 'none',
  languages: ['bash'],
  root: workspaceRoot,
}
const onlineCapabilities: BackendCapabilities = { ...offlineCapabilities, network: 'full' }

/** Only one per storage: it caches totals of what it stores. */
export function virtualBackend(options: VirtualOptions): VirtualBackend {
  const { sql, blobs, prefix, now, loader, network, quotaBytes = () => defaultQuotaBytes } = options
  const match = openLineMatcher({ loader, name: prefix })
  const maxBytes = loader ? maxSearchedBytes : maxSearchedInlineBytes
  const portOf = (its: SqlFiles) => filesPort(its, { match, maxBytes })
  const table = openTable(sql)
  const { checkpointLimits } = options
  const checkpointRows = openCheckpointRows({ sql, table, now, ...(checkpointLimits && { limits: checkpointLimits }) })
  const filesOf = (author?: ChangeAuthor) =>
    openSqlFiles({
      sql,
      blobs,
      prefix,
      now,
      quotaBytes,
      table,
      checkpoints: checkpointRows,
      recorder: author && checkpointRows.recorder(author),
    })
  const [files, unrecorded] = [filesOf(agentBit), filesOf()]
  const shell = openShell({ files, prefix, loader, network })
  return {
    kind: 'virtual',
    get capabilities() {
      return network?.() ? onlineCapabilities : offlineCapabilities
    },
    describe: () => (network?.() ? describe('curl, wget and git for public addresses') : describe('no network')),
    exec: (command, execOptions) => exec(shell, files, command, execOptions),
    files: portOf(files),
    jobs: openJobs({ sql, shell, now }),
    resolve: resolvePath,
    userFiles: portOf(filesOf(userBit)),
    checkpoints: virtualCheckpoints({ rows: checkpointRows, table, blobs, prefix, now }),
    forgetCheckpoints: checkpointRows.clear,
    snapshot: () => snapshot(files),
    restore: (entries) => withBackendErrors(() => restore(unrecorded, entries)),
    usedBytes: files.usedBytes,
  }
}

async function exec(shell: ShellRunner, files: SqlFiles, command: string, options: ExecOptions): Promise<ExecResult> {
  const cwd = resolvePath(options.cwd ?? workspaceRoot)
  const directory = await withBackendErrors(() => files.stat(cwd))
  if (directory?.kind !== 'directory')
    throw new BackendError('invalid', `No such directory: ${cwd}`, 'Create it first, or omit the directory.')
  const start = performance.now()
  const { env = {}, stdin, timeoutMs, maxOutput = defaultMaxOutput } = options
  const { onOutput, signal } = options
  const request = { command, cwd, env, stdin, timeoutMs, maxOutput, streams: onOutput && ('copied' as const) }
  const { killed, ...answer } = await shell(request, signal, onOutput && ((text) => onOutput('out', text)))
  const aborted = killed || signal?.aborted
  return { ...answer, exitCode: aborted ? null : answer.exitCode, ms: Math.round(performance.now() - start) }
}

const statOf = ({ path, kind, size, modified }: FileEntry): FileStat => ({ path, type: kind, size, modified })

function filesPort(files: SqlFiles, searching: Omit<SearchIn, 'files'>): Files {
  return {
    read: (path) =>
      withBackendErrors(async () => (files.stat(resolvePath(path)) ? await files.read(resolvePath(path)) : undefined)),
    write: (path, bytes) => withBackendErrors(async () => ({ created: await files.write(resolvePath(path), bytes) })),
    stat: (path) =>
      withBackendErrors(() => {
        const entry = files.stat(resolvePath(path))
        return entry && statOf(entry)
      }),
    list: (path) => withBackendErrors(() => files.list(resolvePath(path)).map(statOf)),
    remove: (path) => withBackendErrors(() => files.remove(resolvePath(path), { recursive: true, force: true })),
    move: (from, to) => withBackendErrors(() => files.move(resolvePath(from), resolvePath(to))),
    links: () => withBackendErrors(() => files.links()),
    search: (query) =>
      withBackendErrors(async () => {
        const { search } = await import('./search.ts')
        return search({ files, ...searching }, resolvePath(query.path ?? workspaceRoot), query)
      }),
  }
}

/** Converts file errors into BackendError. */
async function withBackendErrors<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    if (error.code === 'ENOSPC') throw new BackendError('quota', error.message, 'Remove files that are not needed.')
    if (error.code === 'EFBIG')
      throw new BackendError(
        'unsupported',
        error.message,
        'A file has at most 30 MiB, 1.9 MB without object storage. Split it into parts.',
      )
    throw new BackendError(error.code === 'EIO' ? 'unavailable' : 'invalid', error.message)
  }
}
