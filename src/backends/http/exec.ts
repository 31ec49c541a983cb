/** Runs a command on a sandbox server and reads its events, lines of JSON. Without an `exit` event the outcome is unknown. */

import { BackendError, type ExecOptions, type ExecResult, type OmittedOutput } from '#agent/core/backend.ts'
import { addOmitted, describeOmitted } from '../omitted-output.ts'
import { sendRequest, toBackendError, isRefusal, type HostError, type SandboxServer } from './request.ts'

/** Additional time for the server beyond the command's timeout. */
const graceMs = 15_000
/** The server sends an event at least every five seconds. */
const silenceTimeoutMs = 30_000
const defaultMaxOutput = 256 * 1024
/** Limit of one line: a chunk of output has at most 64 KiB, in JSON at most six times that. */
const maxLineChars = 4 * 1024 * 1024

type ExecEvent =
  | { readonly t: 'start' | 'beat' }
  | { readonly t: 'out' | 'err'; readonly d: string }
  | { readonly t: 'gap'; readonly s: 'out' | 'err'; readonly bytes: number; readonly lines?: number }
  | ({ readonly t: 'error' } & HostError)
  | ({ readonly t: 'exit'; readonly code: number | null; readonly reason?: string } & Pick<
      ExecResult,
      'timedOut' | 'truncated' | 'cwd' | 'env' | 'unset' | 'ms'
    >)
type Exit = Extract<ExecEvent, { t: 'exit' }>

type CollectedOutput = { out: string; err: string; omitted: OmittedOutput | undefined }

export async function exec(
  server: SandboxServer,
  path: string,
  command: string,
  options: ExecOptions,
): Promise<ExecResult> {
  const { cwd, env, stdin, timeoutMs, maxOutput = defaultMaxOutput, signal } = options
  const output: CollectedOutput = { out: '', err: '', omitted: undefined }
  const started = performance.now()
  const stopped = () => ({
    exitCode: null,
    stdout: output.out,
    stderr: output.err,
    truncated: false,
    timedOut: false,
    cwd: cwd ?? '/workspace',
    env: {},
    ms: Math.round(performance.now() - started),
  })
  if (signal?.aborted) return stopped()
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(), timeoutMs + graceMs)
  const anySignal = signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal
  try {
    const json = { command, cwd, env, stdin, timeoutMs, maxOutput }
    const response = await sendRequest(server, path, {
      method: 'POST',
      json,
      timeoutMs: timeoutMs + graceMs,
      signal: anySignal,
    })
    const exit = await readEvents(response, { output, options, signal: anySignal })
    if (exit.reason === 'disk') throw diskFullError()
    return toResult(exit, output)
  } catch (error) {
    if (signal?.aborted) return stopped()
    throw isRefusal(error) || (error instanceof BackendError && error.code !== 'unavailable')
      ? error
      : unknownOutcome(error)
  } finally {
    clearTimeout(timer)
  }
}

const toResult = (
  { code, timedOut, truncated, cwd, env, unset = [], ms }: Exit,
  { out, err, omitted }: CollectedOutput,
): ExecResult => ({
  exitCode: code,
  stdout: out,
  stderr: err,
  truncated,
  omitted,
  timedOut,
  cwd,
  env,
  unset,
  ms,
})

const diskFullError = (): BackendError =>
  new BackendError(
    'full',
    'The command was stopped: the disk of the workspace is full.',
    'Remove files, then continue.',
  )

function unknownOutcome(error: unknown): BackendError {
  const message = error instanceof Error ? error.message : String(error)
  return new BackendError(
    'unavailable',
    `${message} It is unknown whether the command ran, and how far.`,
    'Look at the files it should change before you run it again.',
  )
}

type ExecReadOptions = { readonly output: CollectedOutput; readonly options: ExecOptions; readonly signal: AbortSignal }

async function readEvents(response: Response, { output, options, signal }: ExecReadOptions): Promise<Exit> {
  if (!response.body) throw new Error('The sandbox server sent no response.')
  const input = response.body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { value, done } = await readChunk(input, signal)
      rest += decoder.decode(value, { stream: !done })
      const lines = rest.split('\n')
      rest = lines.pop() ?? ''
      const exit = lines.map((line) => applyEvent(parse(line), output, options)).find(Boolean)
      if (exit) return exit
      if (done) throw new Error('The connection to the sandbox server broke.')
      if (rest.length > maxLineChars) throw new Error('The sandbox server sent an invalid response.')
    }
  } finally {
    input.cancel().catch(() => undefined)
  }
}

type OutputChunk = { readonly value?: Uint8Array | undefined; readonly done: boolean }

/** Rejects on abort or silence, even when the runtime does not end the read. */
async function readChunk(input: ReadableStreamDefaultReader<Uint8Array>, signal: AbortSignal): Promise<OutputChunk> {
  let timer: ReturnType<typeof setTimeout> | null = null
  let stop: (() => void) | undefined
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('The sandbox server sends nothing any more.')), silenceTimeoutMs)
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

function parse(line: string): ExecEvent {
  try {
    return JSON.parse(line) as ExecEvent
  } catch {
    throw new Error('The sandbox server sent an invalid response.')
  }
}

function applyEvent(event: ExecEvent, output: CollectedOutput, { onOutput }: ExecOptions): Exit | undefined {
  if (event.t === 'exit') return event
  if (event.t === 'error') throw toBackendError(event)
  if (event.t === 'out' || event.t === 'err') {
    output[event.t] += event.d
    onOutput?.(event.t, event.d)
  }
  if (event.t === 'gap') {
    const { bytes, lines = 0 } = event
    output[event.s] += `\n${describeOmitted({ bytes, lines })}\n`
    output.omitted = addOmitted(output.omitted, { bytes, lines })
  }
  return undefined
}
