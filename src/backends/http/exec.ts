/** A command on a sandbox server: lines of JSON until `exit`. Without that word nobody knows how it ended. */

import { BackendError, type ExecOptions, type ExecResult } from '../../agent/model/backend.ts'
import { sendRequest, toBackendError, isRefusal, type ErrorBody, type SandboxServer } from './request.ts'

/** What the server may take beyond the command's own time. */
const GRACE_MS = 15_000
/** The server says something every five seconds. */
const SILENCE_MS = 30_000
const MAX_OUTPUT = 256 * 1024
/** Of one line: a piece of output is at most 64 KiB, in JSON at most six times that. */
const MAX_LINE = 4 * 1024 * 1024

type Event =
  | { readonly t: 'start' | 'beat' }
  | { readonly t: 'out' | 'err'; readonly d: string }
  | { readonly t: 'gap'; readonly s: 'out' | 'err'; readonly bytes: number }
  | ({ readonly t: 'error' } & ErrorBody)
  | ({ readonly t: 'exit'; readonly code: number | null; readonly reason?: string } & Pick<
      ExecResult,
      'timedOut' | 'truncated' | 'cwd' | 'env' | 'unset' | 'ms'
    >)
type Exit = Extract<Event, { t: 'exit' }>

type Heard = { out: string; err: string }

export async function exec(server: SandboxServer, path: string, command: string, options: ExecOptions): Promise<ExecResult> {
  const { cwd, env, stdin, timeoutMs, maxOutput = MAX_OUTPUT, signal } = options
  const heard: Heard = { out: '', err: '' }
  const started = performance.now()
  const given = () => ({
    exitCode: null,
    stdout: heard.out,
    stderr: heard.err,
    truncated: false,
    timedOut: false,
    cwd: cwd ?? '/workspace',
    env: {},
    ms: Math.round(performance.now() - started),
  })
  if (signal?.aborted) return given()
  const wall = new AbortController()
  const timer = setTimeout(() => wall.abort(), timeoutMs + GRACE_MS)
  const either = signal ? AbortSignal.any([signal, wall.signal]) : wall.signal
  try {
    const json = { command, cwd, env, stdin, timeoutMs, maxOutput }
    const response = await sendRequest(server, path, { method: 'POST', json, timeoutMs: timeoutMs + GRACE_MS, signal: either })
    const exit = await follow(response, { heard, options, signal: either })
    if (exit.reason === 'disk') throw full()
    return ended(exit, heard)
  } catch (error) {
    if (signal?.aborted) return given()
    throw isRefusal(error) || (error instanceof BackendError && error.code !== 'unavailable') ? error : unknown(error)
  } finally {
    clearTimeout(timer)
  }
}

const ended = ({ code, timedOut, truncated, cwd, env, unset = [], ms }: Exit, { out, err }: Heard): ExecResult => ({
  exitCode: code,
  stdout: out,
  stderr: err,
  truncated,
  timedOut,
  cwd,
  env,
  unset,
  ms,
})

const full = (): BackendError =>
  new BackendError('quota', 'The command was stopped: the disk of the workspace is full.', 'Remove files, then go on.')

function unknown(error: unknown): BackendError {
  const message = error instanceof Error ? error.message : String(error)
  return new BackendError(
    'unavailable',
    `${message} It is unknown whether the command ran, and how far.`,
    'Look at what it was to change before running it again.',
  )
}

type Following = { readonly heard: Heard; readonly options: ExecOptions; readonly signal: AbortSignal }

async function follow(response: Response, { heard, options, signal }: Following): Promise<Exit> {
  if (!response.body) throw new Error('The sandbox server gave no answer.')
  const input = response.body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { value, done } = await nextPiece(input, signal)
      rest += decoder.decode(value, { stream: !done })
      const lines = rest.split('\n')
      rest = lines.pop() ?? ''
      const exit = lines.map((line) => take(parse(line), heard, options)).find(Boolean)
      if (exit) return exit
      if (done) throw new Error('The connection to the sandbox server broke.')
      if (rest.length > MAX_LINE) throw new Error('The sandbox server sends what cannot be understood.')
    }
  } finally {
    input.cancel().catch(() => undefined)
  }
}

type Piece = { readonly value?: Uint8Array | undefined; readonly done: boolean }

/** Ends when the signal does or when nothing comes, even where the runtime would go on waiting. */
async function nextPiece(input: ReadableStreamDefaultReader<Uint8Array>, signal: AbortSignal): Promise<Piece> {
  let timer: ReturnType<typeof setTimeout> | null = null
  let stop: (() => void) | undefined
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('The sandbox server has fallen silent.')), SILENCE_MS)
    stop = () => reject(new Error('The command took too long.'))
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
  })
  try {
    return await Promise.race([input.read(), silence])
  } finally {
    clearTimeout(timer)
    if (stop) signal.removeEventListener('abort', stop)
  }
}

function parse(line: string): Event {
  try {
    return JSON.parse(line) as Event
  } catch {
    throw new Error('The sandbox server sends what cannot be understood.')
  }
}

function take(event: Event, heard: Heard, { onOutput }: ExecOptions): Exit | undefined {
  if (event.t === 'exit') return event
  if (event.t === 'error') throw toBackendError(event)
  if (event.t === 'out' || event.t === 'err') {
    heard[event.t] += event.d
    onOutput?.(event.t, event.d)
  }
  if (event.t === 'gap') heard[event.s] += `\n[… ${event.bytes} bytes left out …]\n`
  return undefined
}
