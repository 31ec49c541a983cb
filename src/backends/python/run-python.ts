/**
 * Runs a Python program on the host of a session. A bridge beside it listens on a local socket, on which the program and
 * its children call tools. Each call becomes a file that is read here, and so does its answer: hosts need no address.
 */

import type { ExecutionBackend } from '#agent/core/backend.ts'
import { maxStateChars, type Program, type ProgramAnswer, type ProgramEnd } from '#agent/core/program.ts'
import { renderPython, renderSome } from '../program-signatures.ts'
import { bridgeSource } from './bridge-source.ts'

type Host = Pick<ExecutionBackend, 'capabilities' | 'exec' | 'files' | 'kind'>

/** Of each stream. */
const maxOutputBytes = 1024 * 1024
const maxErrorChars = 10_000
const maxCallBytes = 1024 * 1024
const firstPauseMs = 20
const maxPauseMs = 400
const maxTries = 4

export async function runPython(host: Host, program: Program): Promise<ProgramEnd> {
  if (!host.capabilities.languages.includes('python'))
    return failed(
      `There is no Python on the ${host.kind} backend. Write it in JavaScript, or ask the user for a backend with Python.`,
    )
  const folder = `/tmp/programs/${crypto.randomUUID()}`
  const end = new AbortController()
  try {
    await writeFiles(host, folder, program)
    const calls = serveCalls(host, folder, { call: program.call, end })
    const result = await execute(host, folder, { ...program, signal: AbortSignal.any([program.signal, end.signal]) })
    const lost: unknown = end.signal.reason
    end.abort()
    await calls
    if (lost instanceof Error) return { ...result, status: 'error', error: lost.message }
    return { ...result, ...(await readState(host, folder, program.state)) }
  } finally {
    await host.files.remove(folder)
  }
}

const failed = (error: string): ProgramEnd => ({ status: 'error', output: '', error })
const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

async function writeFiles({ files }: Host, folder: string, { source, tools, state = '{}' }: Program): Promise<void> {
  const stubs = renderSome(tools, renderPython).filter((stub) => stub !== undefined)
  await files.write(`${folder}/talaria_tools.py`, encode(`${bridgeSource}\n${stubs.join('\n')}\n_main()\n`))
  await files.write(`${folder}/program.py`, encode(source))
  await files.write(`${folder}/state.json`, encode(state))
}

/** Without isolation /tmp has another place for commands. */
const commandIn = (folder: string): string =>
  `d=${folder}; [ -d "$d" ] || d="$TMPDIR/\${d#/tmp/}"; python3 "$d/talaria_tools.py" bridge`

async function execute(host: Host, folder: string, program: Program): Promise<ProgramEnd> {
  const { timeoutMs, signal, onOutput } = program
  const show = onOutput && { onOutput: (_: string, text: string) => onOutput(text) }
  const options = { cwd: host.capabilities.root, timeoutMs, signal, maxOutput: maxOutputBytes, ...show }
  const { exitCode, stdout, stderr, timedOut, omitted } = await host.exec(commandIn(folder), options)
  const shown = { output: stdout, omitted }
  if (timedOut) return { ...shown, status: 'timeout', error: `Stopped after ${timeoutMs / 1000} s.` }
  if (signal.aborted) return { ...shown, status: 'interrupted', error: 'Stopped by the user.' }
  const error = describeError(exitCode, stderr)
  return { ...shown, status: exitCode === 0 ? 'success' : 'error', ...(error && { error }) }
}

/** Exit code 1 with a traceback says nothing more. Every other code may be one that the program chose. */
function describeError(exitCode: number | null, stderr: string): string {
  const text = stderr.slice(-maxErrorChars)
  const hasCode = exitCode !== 0 && (exitCode !== 1 || text === '')
  return [text.trimEnd(), hasCode && `The program ended with exit code ${exitCode}.`].filter(Boolean).join('\n')
}

type Serving = { readonly call: Program['call']; readonly end: AbortController }

/** Answers calls until the program ends. When an answer cannot be handed over, the program ends too. */
async function serveCalls(host: Host, folder: string, { call, end }: Serving): Promise<void> {
  const { files } = host
  const writing = new Set<Promise<void>>()
  const answer = async (n: number, bytes: Uint8Array): Promise<void> => {
    const text = `${JSON.stringify(await answerCall(bytes, call))}\n`
    if (end.signal.aborted) return
    const work = repeat(() => files.write(`${folder}/${n}.reply`, encode(text)), end.signal)
      .catch((error: unknown) => end.abort(new Error(`The answer of a call did not reach the program: ${error}`)))
      .finally(() => writing.delete(work))
    writing.add(work)
  }
  let pauseMs = firstPauseMs
  for (let n = 1; !end.signal.aborted;) {
    // A host that is away now may be back before the time of the program ends.
    const bytes = await files.read(`${folder}/${n}.call`).catch(() => undefined)
    if (bytes) void answer(n++, bytes)
    else await pause(pauseMs, end.signal)
    pauseMs = bytes ? firstPauseMs : Math.min(pauseMs * 1.5, maxPauseMs)
  }
  await Promise.all(writing)
}

async function answerCall(bytes: Uint8Array, call: Program['call']): Promise<ProgramAnswer> {
  if (bytes.byteLength > maxCallBytes) return { error: `the input has more than ${maxCallBytes} bytes` }
  let asked: unknown
  try {
    asked = JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return { error: 'the call is no JSON' }
  }
  if (!Array.isArray(asked) || typeof asked[0] !== 'string') return { error: 'the call is no list of name and input' }
  return call(asked[0], asked[1] ?? {})
}

async function repeat(work: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await work()
      return
    } catch (error) {
      if (tries >= maxTries || signal.aborted) throw error
      await pause(maxPauseMs * tries, signal)
    }
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
    if (signal.aborted) resolve()
  })

/** The program writes its state at its end; what it writes there itself is only kept when it is an object. */
async function readState({ files }: Host, folder: string, before = '{}'): Promise<Pick<ProgramEnd, 'state'>> {
  const text = new TextDecoder().decode((await files.read(`${folder}/state.json`)) ?? new Uint8Array())
  if (text === before || text.length > maxStateChars) return {}
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { state: text } : {}
  } catch {
    return {}
  }
}
