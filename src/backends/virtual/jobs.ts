/**
 * Commands that go on when the call that started them has ended. They live in the memory of the object; what they
 * print and how they end is in its rows. A row that says `running` after the object was gone is `lost`: nobody
 * knows how it ended, and no exit code is made up.
 */

import { BackendError, type JobOptions, type Jobs, type JobState } from '../../agent/model/backend.ts'
import { type JobRow, jobRows, maxOutputBytes } from './job-rows.ts'
import { resolvePath, workspaceRoot } from './paths.ts'
import type { Shell } from './shell.ts'

/** Running at a time in one session: a command, and code, need an isolate too. */
const MOST = 8
/** Printed bytes held back before they are written, and for how long at most while more comes. */
const HELD_BYTES = 32_768
const HELD_MS = 500
const KILLED = 137

type Running = { readonly stop: () => void; readonly gone: Promise<void>; readonly flush: () => void }

export type JobWorld = { readonly sql: SqlStorage; readonly shell: Shell; readonly now: () => number }

const encoder = new TextEncoder()

export function openJobs({ sql, shell, now }: JobWorld): Jobs {
  const rows = jobRows(sql)
  const running = new Map<string, Running>()

  /** The row as it is now: what is still held back is written first, and what nobody runs any more is lost. */
  const rowOf = (id: string): JobRow => {
    running.get(id)?.flush()
    const row = rows.get(id)
    if (!row) throw new BackendError('invalid', `There is no job ${id}`, 'List the jobs that were started.')
    if (row.state !== 'running' || running.has(id)) return row
    rows.end(id, 'lost', null)
    return { ...row, state: 'lost' }
  }

  const begin = (id: string, command: string, { cwd = workspaceRoot, env = {}, timeoutMs }: JobOptions): Running => {
    const abort = new AbortController()
    const printer = holdingBack(now, (bytes) => rows.append(id, bytes))
    const request = { command, cwd: resolvePath(cwd), env, timeoutMs, maxOutput: maxOutputBytes, streams: true }
    const ended = shell(request, abort.signal, printer.print).then(({ stdout, stderr, exitCode, killed }) => {
      printer.print(stdout + stderr)
      return killed || abort.signal.aborted ? KILLED : exitCode
    })
    const gone = ended
      .catch((error: unknown) => {
        printer.print(`bash: ${error instanceof Error ? error.message : String(error)}\n`)
        return KILLED
      })
      .then((exitCode) => {
        running.delete(id)
        printer.flush()
        rows.end(id, 'exited', exitCode)
      })
      // Gone with their session, for one; nobody may be waiting for it.
      .catch((error: unknown) => console.warn('The end of a background job cannot be written.', error))
    return { stop: () => abort.abort(), gone, flush: printer.flush }
  }

  return {
    async start(id, command, options) {
      if (rows.get(id)) return undefined
      if (running.size >= MOST)
        throw new BackendError('quota', `${MOST} jobs are running`, 'Wait for one to end, or kill one.')
      rows.begin(id)
      running.set(id, begin(id, command, options))
      return undefined
    },
    state: async (id) => stateOf(rowOf(id)),
    output: async (id, from, max) => pageOf(rowOf(id), from, max),
    async kill(id) {
      rowOf(id)
      const job = running.get(id)
      job?.stop()
      await job?.gone
    },
  }
}

const stateOf = ({ state, exitCode }: JobRow): JobState =>
  state === 'exited' ? { at: 'exited', exitCode: exitCode ?? KILLED } : { at: state }

/** Writes what is printed in fewer, larger pieces; without a timer: the next print, a reader or the end writes the rest. */
function holdingBack(now: () => number, write: (bytes: Uint8Array) => void) {
  let held = ''
  let written = Number.NEGATIVE_INFINITY
  const flush = (): void => {
    if (held === '') return
    write(encoder.encode(held))
    held = ''
    written = now()
  }
  const print = (text: string): void => {
    held += text
    if (held.length >= HELD_BYTES || now() - written >= HELD_MS) flush()
  }
  return { print, flush }
}

const isInside = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** At most `max` bytes from `from` on, cut between characters. What is no longer kept is counted, not shown. */
function pageOf({ total, output }: JobRow, from: number, max: number): { text: string; next: number } {
  const base = total - output.byteLength
  let start = Math.max(0, Math.min(from, total) - base)
  while (start < output.byteLength && isInside(output[start])) start++
  let end = Math.min(output.byteLength, start + Math.max(max, 4))
  while (end > start && isInside(output[end])) end--
  const missing = from < base ? `[... ${base - from} bytes are no longer kept ...]\n` : ''
  return { text: missing + new TextDecoder().decode(output.subarray(start, end)), next: base + end }
}
