/**
 * Runs background jobs of the virtual backend. They run in the memory of the Durable Object; their output and exit code
 * are stored in rows. A row that is `running` after an eviction becomes `lost`, without an exit code.
 */

import { log } from '#agent/core/log.ts'
import { BackendError, type CommandState, type EndReason, type JobOptions, type Jobs } from '#agent/core/backend.ts'
import { resolvePath, workspaceRoot } from './paths.ts'
import type { ShellRunner } from './shell.ts'

/** Running jobs of one session: foreground commands and code need isolates as well. */
const maxRunning = 8
/** Output is buffered up to this size and, while more comes, for this time. */
const maxBufferedChars = 32_768
const maxBufferedMs = 500
const killedCode = 137

type Running = { readonly stop: () => void; readonly ended: Promise<void>; readonly flush: () => void }

export type ShellJobsOptions = { readonly sql: SqlStorage; readonly shell: ShellRunner; readonly now: () => number }

const encoder = new TextEncoder()

export function openJobs({ sql, shell, now }: ShellJobsOptions): Jobs {
  const rows = jobRows(sql)
  const running = new Map<string, Running>()

  /** Reads the current row, after flushing buffered output. A running row without a job in memory becomes lost. */
  const rowOf = (id: string): ShellJobRow => {
    running.get(id)?.flush()
    const row = rows.get(id)
    if (!row) throw new BackendError('invalid', `There is no job ${id}`, 'List the jobs that were started.')
    if (row.state !== 'running' || running.has(id)) return row
    rows.end(id, { state: 'lost', exitCode: null })
    return { ...row, state: 'lost' }
  }

  const begin = (id: string, command: string, { cwd = workspaceRoot, env = {}, timeoutMs }: JobOptions): Running => {
    const abort = new AbortController()
    const printer = bufferOutput(now, (bytes) => rows.append(id, bytes))
    const shared = { env, timeoutMs, maxOutput: maxOutputBytes, streams: 'moved' } as const
    const request = { ...shared, command, cwd: resolvePath(cwd) }
    const exit = shell(request, abort.signal, printer.print).then(({ stdout, stderr, exitCode, killed, timedOut }) => {
      printer.print(stdout + stderr)
      const reason: EndReason | undefined = abort.signal.aborted ? 'stopped' : timedOut ? 'timeout' : undefined
      return { exitCode: killed || abort.signal.aborted ? killedCode : exitCode, reason }
    })
    const ended = exit
      .catch((error: unknown) => {
        printer.print(`bash: ${error instanceof Error ? error.message : String(error)}\n`)
        return { exitCode: killedCode, reason: undefined }
      })
      .then((end) => {
        running.delete(id)
        printer.flush()
        rows.end(id, { state: 'exited', ...end, endedAt: now() })
      })
      // The session may have been deleted meanwhile. Nothing may await this promise, so it must not reject.
      .catch((error: unknown) =>
        log.warn('job.unstored', 'The exit code of a background job cannot be stored.', { error }),
      )
    return { stop: () => abort.abort(), ended, flush: printer.flush }
  }

  return {
    async start(id, command, options) {
      if (rows.get(id)) return undefined
      if (running.size >= maxRunning)
        throw new BackendError('quota', `${maxRunning} jobs are running`, 'Wait for one to end, or kill one.')
      rows.begin(id)
      running.set(id, begin(id, command, options))
      return undefined
    },
    state: async (id) => stateOf(rowOf(id), now()),
    output: async (id, from, max) => createPage(rowOf(id), from, max),
    async kill(id) {
      rowOf(id)
      const job = running.get(id)
      job?.stop()
      await job?.ended
    },
  }
}

function stateOf({ state, exitCode, reason, endedAt }: ShellJobRow, now: number): CommandState {
  if (state === 'running') return { at: state }
  if (state === 'lost') return { at: state, reason: 'restarted' }
  return {
    at: state,
    exitCode: exitCode ?? killedCode,
    ...(reason && { reason }),
    ...(endedAt !== undefined && { endedMsAgo: Math.max(0, now - endedAt) }),
  }
}

/** Writes output in fewer, larger chunks, without a timer: the next print, a reader or the end flushes the rest. */
function bufferOutput(now: () => number, write: (bytes: Uint8Array) => void) {
  let buffer = ''
  let written = Number.NEGATIVE_INFINITY
  const flush = (): void => {
    if (buffer === '') return
    write(encoder.encode(buffer))
    buffer = ''
    written = now()
  }
  const print = (text: string): void => {
    buffer += text
    if (buffer.length >= maxBufferedChars || now() - written >= maxBufferedMs) flush()
  }
  return { print, flush }
}

const isInside = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** Returns at most `max` bytes after `from`, cut between characters, with a note about bytes that are deleted. */
function createPage({ total, output }: ShellJobRow, from: number, max: number): { text: string; next: number } {
  const base = total - output.byteLength
  let start = Math.max(0, Math.min(from, total) - base)
  while (start < output.byteLength && isInside(output[start])) start++
  let end = Math.min(output.byteLength, start + Math.max(max, 4))
  while (end > start && isInside(output[end])) end--
  const missing = from < base ? `[... ${base - from} bytes are no longer stored ...]\n` : ''
  return { text: missing + new TextDecoder().decode(output.subarray(start, end)), next: base + end }
}

// Stores the state and the last output of background jobs. The table is created with the first job.

type JobEnd = {
  readonly state: 'exited' | 'lost'
  readonly exitCode: number | null
  readonly reason?: EndReason | undefined
  /** Milliseconds since 1970. */
  readonly endedAt?: number | undefined
}

type ShellJobRow = Omit<JobEnd, 'state'> & {
  readonly id: string
  readonly state: 'running' | JobEnd['state']
  /** Bytes printed in total; only the last ones are stored. */
  readonly total: number
  readonly output: Uint8Array
}

type ShellJobRows = {
  readonly get: (id: string) => ShellJobRow | undefined
  readonly begin: (id: string) => void
  readonly append: (id: string, bytes: Uint8Array) => void
  readonly end: (id: string, end: JobEnd) => void
}

/** Bytes of output that are stored of each job. */
const maxOutputBytes = 200_000
/** Maximum of rows; the oldest ended jobs are deleted. */
const maxRows = 64

const tableExists = `SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'jobs'`
const createTable = `CREATE TABLE jobs (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, state TEXT NOT NULL,
  exit_code INTEGER, total INTEGER NOT NULL DEFAULT 0, output BLOB NOT NULL DEFAULT x'')`
const deleteOld = `DELETE FROM jobs WHERE state <> 'running' AND number <= (SELECT max(number) - ${maxRows} FROM jobs)`
const appendOutput = `UPDATE jobs SET output = substr(CAST(output || ?1 AS BLOB), -${maxOutputBytes}), total = total + ?2 WHERE id = ?3`

/** A table of its own: jobs of before have no such row, and an older release does not read it. */
const createEnds = `CREATE TABLE IF NOT EXISTS job_end (id TEXT PRIMARY KEY, ended_at INTEGER, reason TEXT) WITHOUT ROWID`
const deleteOldEnds = 'DELETE FROM job_end WHERE id NOT IN (SELECT id FROM jobs)'

type StoredJobRow = Omit<ShellJobRow, 'output' | 'reason' | 'endedAt'> & {
  readonly output: ArrayBuffer
  readonly endedAt: number | null
  readonly reason: EndReason | null
}

function jobRows(sql: SqlStorage): ShellJobRows {
  let exists = false
  const present = (): boolean => {
    if (!exists && sql.exec(tableExists).toArray().length > 0) {
      sql.exec(createEnds)
      exists = true
    }
    return exists
  }
  return {
    get(id) {
      if (!present()) return undefined
      const query = `SELECT jobs.id, state, exit_code AS exitCode, total, output, ended_at AS endedAt, reason
        FROM jobs LEFT JOIN job_end ON job_end.id = jobs.id WHERE jobs.id = ?`
      const [row] = sql.exec<StoredJobRow>(query, id).toArray()
      if (!row) return undefined
      const { endedAt, reason, output } = row
      return { ...row, endedAt: endedAt ?? undefined, reason: reason ?? undefined, output: new Uint8Array(output) }
    },
    begin(id) {
      if (!present()) sql.exec(createTable)
      sql.exec(createEnds)
      sql.exec(deleteOld)
      sql.exec(deleteOldEnds)
      sql.exec(`INSERT INTO jobs (id, state) VALUES (?, 'running')`, id)
    },
    append(id, bytes) {
      sql.exec(appendOutput, bytes, bytes.byteLength, id)
    },
    end(id, { state, exitCode, endedAt = null, reason = null }) {
      sql.exec('UPDATE jobs SET state = ?, exit_code = ? WHERE id = ?', state, exitCode, id)
      sql.exec('INSERT OR REPLACE INTO job_end VALUES (?, ?, ?)', id, endedAt, reason)
    },
  }
}
