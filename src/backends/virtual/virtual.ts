/**
 * The backend that needs no set-up: files are rows of the session's object, commands run in just-bash over
 * them. No network, no processes, no compilers; everything else says so in words.
 */

import {
  BackendError,
  type Capabilities,
  type ExecOptions,
  type ExecResult,
  type ExecutionBackend,
  type Files,
  type FileStat,
} from '../../agent/model/backend.ts'
import type { CheckpointLimits } from '../checkpoints.ts'
import { agentBit, type Author, openCheckpointRows, userBit } from './checkpoint-rows.ts'
import { virtualCheckpoints, type VirtualCheckpoints } from './checkpoints.ts'
import { FileError } from './file-error.ts'
import { openJobs } from './jobs.ts'
import type { Network } from './network.ts'
import { resolvePath, workspaceRoot } from './paths.ts'
import { search } from './search.ts'
import { openShell, type Shell } from './shell.ts'
import { restore, snapshot, type SnapshotEntry } from './snapshot.ts'
import { type Entry, openSqlFiles, type SqlFiles } from './sql-files.ts'
import { openTable } from './table.ts'

export type VirtualOptions = {
  readonly sql: SqlStorage
  /** Without it a file is limited to what fits into a row, 1.9 MB. */
  readonly blobs?: R2Bucket | undefined
  /** Where this session's large files live, e.g. `t/<tenant>/s/<session>/files/`. Unique per session. */
  readonly prefix: string
  /** Without it the shell runs in the object itself. */
  readonly loader?: WorkerLoader | undefined
  /** Asked with every write. */
  readonly quotaBytes?: () => number
  /** Asked with every command. Without it curl, wget and git reach nothing. What is reached is public in any case. */
  readonly network?: (() => Network | undefined) | undefined
  readonly now: () => number
  readonly checkpointLimits?: CheckpointLimits | undefined
}

export type VirtualBackend = ExecutionBackend & {
  /** The same files, for what a person does: going back to a checkpoint leaves that alone. */
  readonly userFiles: Files
  readonly checkpoints: VirtualCheckpoints
  /** Before the workspace is replaced as a whole: what was kept of it means nothing any more. */
  readonly forgetCheckpoints: () => void
  readonly snapshot: () => AsyncIterable<SnapshotEntry>
  /** Writes entries over what is there; the blobs are copied, so the source may go away. */
  readonly restore: (entries: AsyncIterable<SnapshotEntry> | Iterable<SnapshotEntry>) => Promise<void>
  readonly usedBytes: () => number
}

export const defaultQuotaBytes = 512 * 1024 * 1024
const MAX_OUTPUT = 256 * 1024

const describe = (reach: string): string =>
  `A private Linux-like workspace at ${workspaceRoot}: bash, git and the usual text utilities (grep, sed, awk, jq, find, diff,
patch, tar, ...). It has ${reach}, no package manager, no compilers or interpreters (python, node). Pipes run one
after the other, loops end after 50 000 commands, sed knows no \\U.`.replaceAll('\n', ' ')

const OFFLINE: Capabilities = {
  streaming: false,
  background: true,
  pty: false,
  network: 'none',
  languages: ['bash'],
  root: workspaceRoot,
}
const ONLINE: Capabilities = { ...OFFLINE, network: 'full' }

/** One per object: it keeps running totals of what it stores. */
export function virtualBackend(options: VirtualOptions): VirtualBackend {
  const { sql, blobs, prefix, now, loader, network, quotaBytes = () => defaultQuotaBytes } = options
  const table = openTable(sql)
  const { checkpointLimits } = options
  const old = openCheckpointRows({ sql, table, now, ...(checkpointLimits && { limits: checkpointLimits }) })
  const filesOf = (author?: Author) =>
    openSqlFiles({ sql, blobs, prefix, now, quotaBytes, table, checkpoints: old, recorder: author && old.recorder(author) })
  const [files, unrecorded] = [filesOf(agentBit), filesOf()]
  const shell = openShell({ files, prefix, loader, network })
  return {
    kind: 'virtual',
    get capabilities() {
      return network?.() ? ONLINE : OFFLINE
    },
    describe: () => (network?.() ? describe('curl, wget and git for public addresses') : describe('no network')),
    exec: (command, how) => exec(shell, files, command, how),
    files: portOf(files),
    jobs: openJobs({ sql, shell, now }),
    resolve: resolvePath,
    userFiles: portOf(filesOf(userBit)),
    checkpoints: virtualCheckpoints({ rows: old, table, blobs, prefix, now }),
    forgetCheckpoints: old.clear,
    snapshot: () => snapshot(files),
    restore: (entries) => translated(() => restore(unrecorded, entries)),
    usedBytes: files.usedBytes,
  }
}

async function exec(shell: Shell, files: SqlFiles, command: string, options: ExecOptions): Promise<ExecResult> {
  const cwd = resolvePath(options.cwd ?? workspaceRoot)
  const directory = await translated(() => files.stat(cwd))
  if (directory?.kind !== 'directory')
    throw new BackendError('invalid', `No such directory: ${cwd}`, 'Create it first, or leave the directory out.')
  const start = performance.now()
  const { env = {}, stdin, timeoutMs, maxOutput = MAX_OUTPUT } = options
  const { killed, ...answer } = await shell({ command, cwd, env, stdin, timeoutMs, maxOutput }, options.signal)
  hand(options.onOutput, answer)
  const aborted = killed || options.signal?.aborted
  return { ...answer, exitCode: aborted ? null : answer.exitCode, ms: Math.round(performance.now() - start) }
}

/** There is nothing to stream: a listener gets everything at the end. */
function hand(listener: ExecOptions['onOutput'], { stdout, stderr }: { stdout: string; stderr: string }): void {
  if (stdout) listener?.('out', stdout)
  if (stderr) listener?.('err', stderr)
}

const statOf = ({ path, kind, size, modified }: Entry): FileStat => ({ path, type: kind, size, modified })

function portOf(files: SqlFiles): Files {
  return {
    read: (path) => translated(async () => (files.stat(resolvePath(path)) ? await files.read(resolvePath(path)) : undefined)),
    write: (path, bytes) => translated(async () => ({ created: await files.write(resolvePath(path), bytes) })),
    stat: (path) =>
      translated(() => {
        const entry = files.stat(resolvePath(path))
        return entry && statOf(entry)
      }),
    list: (path) => translated(() => files.list(resolvePath(path)).map(statOf)),
    remove: (path) => translated(() => files.remove(resolvePath(path), { recursive: true, force: true })),
    move: (from, to) => translated(() => files.move(resolvePath(from), resolvePath(to))),
    search: (query) => translated(() => search(files, resolvePath(query.path ?? workspaceRoot), query)),
  }
}

/** Errors of files in the words of the port. */
async function translated<T>(work: () => T | Promise<T>): Promise<T> {
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
