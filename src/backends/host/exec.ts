/** A command on a machine, and what became of it. */

import { BackendError, type ExecOptions, type ExecResult } from '../../agent/model/backend.ts'
import type { HostPort } from './host-port.ts'
import { runCommand, exportStatements, noDirectoryCode, quote, stopCommand } from './scripts.ts'
import { decodeBase64, type ScriptRunner } from './script-runner.ts'

const MAX_OUTPUT = 256 * 1024
/** What starting, reading the output and the way back may take beyond the command's own time. */
const GRACE_MS = 30_000
/** Longer ones travel as a file: arguments of a process are limited. */
const INLINE = 30_000
/** Bytes of the variables that go from command to command: every process takes all of them along. */
const ENVIRONMENT = 64 * 1024
/** Change with every shell and mean nothing to the next one. */
const FLEETING = new Set(['PWD', 'OLDPWD', 'SHLVL', '_'])
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

export type Host = { readonly scripts: ScriptRunner; readonly port: HostPort; readonly root: string }

export async function exec(place: Host, text: string, options: ExecOptions): Promise<ExecResult> {
  const { scripts: session } = place
  const { timeoutMs, signal, cwd = place.root, onOutput } = options
  const at = `${session.state}/x-${crypto.randomUUID()}`
  const started = performance.now()
  if (signal?.aborted) return stopped(cwd, 0)
  const running = send(place, at, text, { ...options, cwd }).then((script) => session.run(script, timeoutMs + GRACE_MS))
  // Whoever gave up does not wait for it; that it may fail then is nobody's news.
  running.catch(() => undefined)
  const late = wall(timeoutMs + GRACE_MS + 10_000)
  const result = await Promise.race([running, given(signal), late.over]).finally(late.forget)
  if (result === 'stopped') {
    await session.run(stopCommand(at))
    return stopped(cwd, performance.now() - started)
  }
  if (result === 'late') throw unknown()
  const env = options.env ?? {}
  const answer = withinBounds(read(result.output, { cwd, env }), env)
  const note = session.takeNote()
  if (answer.stdout) onOutput?.('out', answer.stdout)
  if (answer.stderr) onOutput?.('err', answer.stderr)
  return note === undefined ? answer : { ...answer, stderr: `${note}\n${answer.stderr}` }
}

async function send(place: Host, at: string, text: string, options: ExecOptions & { cwd: string }): Promise<string> {
  const { scripts: session, port } = place
  const { env = {}, stdin = '', timeoutMs, maxOutput = MAX_OUTPUT, cwd } = options
  const exports = exportStatements(named(env))
  const inline = { at, cwd, timeoutMs, maxOutput }
  if (text.length + stdin.length + exports.length <= INLINE)
    return runCommand({ ...inline, command: text, stdin, exports })
  await session.run(`mkdir -p ${quote(at)}`)
  for (const [name, content] of Object.entries({ in: stdin, command: text, exports }))
    await port.write(`${at}/${name}`, new TextEncoder().encode(content))
  const from = (name: string) => `. ${quote(`${at}/${name}`)}`
  return runCommand({ ...inline, command: from('command'), stdin: '', exports: from('exports') })
}

function named(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const wrong = Object.keys(env).find((name) => !NAME.test(name))
  if (wrong !== undefined) throw new BackendError('invalid', `This is not a name of a variable: ${wrong}`)
  return env
}

const stopped = (cwd: string, ms: number): ExecResult => ({
  exitCode: null,
  stdout: '',
  stderr: '',
  truncated: false,
  timedOut: false,
  cwd,
  env: {},
  ms: Math.round(ms),
})

function given(signal: AbortSignal | undefined): Promise<'stopped'> {
  return new Promise((resolve) => signal?.addEventListener('abort', () => resolve('stopped'), { once: true }))
}

/** Beyond what the machine was told: it may never answer. Forgotten, it no longer keeps the object in memory. */
function wall(ms: number) {
  const { promise: over, resolve } = Promise.withResolvers<'late'>()
  const timer = setTimeout(() => resolve('late'), ms)
  return { over, forget: () => clearTimeout(timer) }
}

const unknown = (): BackendError =>
  new BackendError(
    'unavailable',
    'The machine does not answer. It is unknown whether the command ran, and how far.',
    'Look at what it was to change before running it again.',
  )

/** The lines that `command` prints: four numbers, head and tail of both streams, the end, the beginning. */
function read(output: string, { cwd, env }: { readonly cwd: string; readonly env: ExecResult['env'] }): ExecResult {
  const [head = '', ...rest] = output.split('\n')
  if (!/^\d+ \d+ \d+ \d+$/.test(head) || rest.length < 8) throw unknown()
  const [code, ms, outSize, errSize] = head.split(' ').map(Number) as [number, number, number, number]
  const [end, after, before] = rest.slice(4).map(text) as [string, string, string]
  if (code === noDirectoryCode && before === '')
    throw new BackendError('invalid', `No such directory: ${cwd}`, 'Create it first, or leave the directory out.')
  // `timeout` kills without a word; a command that ends by itself, with whatever code, has told where it stood.
  const timedOut = code === 137 && end === ''
  const [out, err] = [stream(rest, 0, outSize), stream(rest, 2, errSize)]
  return {
    exitCode: timedOut ? 124 : code,
    stdout: out.text,
    stderr: err.text,
    truncated: out.cut || err.cut,
    timedOut,
    cwd: end.replace(/\n$/, '') || cwd,
    env: changed(variables(before), variables(after)),
    unset: isWhole(end, after) ? missing(env, variables(after)) : [],
    ms,
  }
}

const text = (base64: string): string => new TextDecoder().decode(decodeBase64(base64))

function stream(lines: readonly string[], at: number, size: number): { readonly text: string; readonly cut: boolean } {
  const [first, last] = [decodeBase64(lines[at] ?? ''), decodeBase64(lines[at + 1] ?? '')]
  const missing = size - first.length - last.length
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes)
  if (missing <= 0) return { text: decode(first) + decode(last), cut: false }
  return { text: `${decode(first)}\n[… ${missing} bytes left out …]\n${decode(last)}`, cut: true }
}

function variables(listed: string): ReadonlyMap<string, string> {
  // Each ends with NUL; a list that was cut off ends with a part of one.
  const whole = listed.split('\0').slice(0, -1)
  const pairs = whole.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)])
  return new Map(pairs.filter(([name = '']) => NAME.test(name)) as [string, string][])
}

/** It came to its end and all of its variables are here. */
const isWhole = (end: string, after: string): boolean => end !== '' && after.endsWith('\0')

const missing = (before: ExecResult['env'], after: ReadonlyMap<string, string>): readonly string[] =>
  Object.keys(before).filter((name) => !FLEETING.has(name) && !after.has(name))

function changed(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries([...after].filter(([name, value]) => !FLEETING.has(name) && before.get(name) !== value))
}

const sizeOf = (name: string, value: string): number => new TextEncoder().encode(`${name}=${value}`).byteLength

/** What is exported beyond the bound is said and not kept. `known`: what is kept already. */
function withinBounds(result: ExecResult, known: Readonly<Record<string, string>>): ExecResult {
  const others = Object.entries(known).filter(([name]) => !(name in result.env))
  let room = ENVIRONMENT - others.reduce((sum, [name, value]) => sum + sizeOf(name, value), 0)
  const env: Record<string, string> = {}
  const left: string[] = []
  for (const [name, value] of Object.entries(result.env)) {
    const size = sizeOf(name, value)
    if (size > room) left.push(name)
    else {
      env[name] = value
      room -= size
    }
  }
  if (left.length === 0) return result
  const note = `[Not kept for later commands, variables may have ${ENVIRONMENT / 1024} KiB in all: ${left.join(', ')}]\n`
  return { ...result, env, stderr: result.stderr + note }
}
