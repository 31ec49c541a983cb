/** Runs a command on a host and parses its result. */

import { BackendError, type ExecOptions, type ExecResult, type OmittedOutput } from '#agent/core/backend.ts'
import { addOmitted, countLineEnds, describeOmitted } from '../omitted-output.ts'
import type { HostPort, ScriptResult } from './host-port.ts'
import { runCommand, exportStatements, noDirectoryCode, quote, scopeVariable, stopCommand } from './scripts.ts'
import { decodeBase64Bytes } from '#agent/core/base64.ts'
import type { ScriptRunner } from './script-runner.ts'
import { withTimeout } from '#durable/platform/timeout.ts'

const defaultMaxOutput = 256 * 1024
/** Time for reading the output and the response, beyond the command's own timeout. */
const graceMs = 30_000
/** Time for a host that starts with this command, after it was silent for a while. */
const maxStartMs = 120_000
/** Time within which a stopped command returns its output so far. */
const stopGraceMs = 5_000
/** Longer commands are sent as a file, because the arguments of a process are limited. */
const maxInlineChars = 30_000
/** Limit of the variables that are kept between commands: every process copies all of them. */
const maxVariablesBytes = 64 * 1024
/** Setting one is an error of bash. */
const readonlyVariables = ['UID', 'EUID', 'PPID', 'SHELLOPTS', 'BASHOPTS', 'BASH_VERSINFO']
/** Variables that every shell sets anew. */
const shellVariables = new Set(['PWD', 'OLDPWD', 'SHLVL', '_', scopeVariable, ...readonlyVariables])
const namePattern = /^[A-Za-z_][A-Za-z0-9_]*$/

export type ScriptHost = {
  readonly scripts: ScriptRunner
  readonly port: HostPort
  readonly root: string
  /** The second folder whose files belong to the session. */
  readonly temporary: string
}

export async function exec(host: ScriptHost, text: string, options: ExecOptions): Promise<ExecResult> {
  const { scripts } = host
  const { timeoutMs, signal, cwd = host.root, onOutput } = options
  const folder = `${scripts.state}/x-${crypto.randomUUID()}`
  const started = performance.now()
  if (signal?.aborted) return stopped(cwd, 0)
  const running = prepareScript(host, folder, text, { ...options, cwd }).then((script) =>
    scripts.run(script, timeoutMs + graceMs),
  )
  // After a timeout or an abort nothing waits for it, and its error is ignored.
  running.catch(() => undefined)
  const result = await withTimeout(Promise.race([running, aborted(signal)]), timeoutMs + graceMs + maxStartMs, () => {
    throw unknownOutcome()
  })
  if (result === 'stopped') return stopAndRead(host, { folder, running, started }, { ...options, cwd })
  const env = options.env ?? {}
  const parsed = limitVariables(parseOutput(result.output, { cwd, env, timeoutMs }), env)
  const note = scripts.takeNote()
  if (parsed.stdout) onOutput?.('out', parsed.stdout)
  if (parsed.stderr) onOutput?.('err', parsed.stderr)
  return note === undefined ? parsed : { ...parsed, stderr: `${note}\n${parsed.stderr}` }
}

type RunningScript = {
  readonly folder: string
  readonly running: Promise<ScriptResult>
  readonly started: number
}

/** Stops a command. Its script goes on, and prints the output so far. */
async function stopAndRead(
  { scripts }: ScriptHost,
  { folder, running, started }: RunningScript,
  { env = {}, cwd }: ExecOptions & { cwd: string },
): Promise<ExecResult> {
  await scripts.run(stopCommand(folder))
  const result = await withTimeout(
    running.catch(() => undefined),
    stopGraceMs,
    () => undefined,
  )
  const empty = stopped(cwd, performance.now() - started)
  if (result === undefined || !isComplete(result.output)) return empty
  const { stdout, stderr, omitted, truncated, ms } = parseOutput(result.output, { cwd, env, timeoutMs: 0 })
  return { ...empty, stdout, stderr, omitted, truncated, ms }
}

async function prepareScript(
  host: ScriptHost,
  at: string,
  text: string,
  options: ExecOptions & { cwd: string },
): Promise<string> {
  const { scripts, port } = host
  const { env = {}, stdin = '', timeoutMs, maxOutput = defaultMaxOutput, cwd } = options
  const exports = exportStatements(requireValidNames(env))
  const inline = { at, cwd, timeoutMs, maxOutput }
  if (text.length + stdin.length + exports.length <= maxInlineChars)
    return runCommand({ ...inline, command: text, stdin, exports })
  await scripts.run(`mkdir -p ${quote(at)}`)
  for (const [name, content] of Object.entries({ in: stdin, command: text, exports }))
    await port.write(`${at}/${name}`, new TextEncoder().encode(content))
  const from = (name: string) => `. ${quote(`${at}/${name}`)}`
  return runCommand({ ...inline, command: from('command'), stdin: '', exports: from('exports') })
}

function requireValidNames(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const invalid = Object.keys(env).find((name) => !namePattern.test(name))
  if (invalid !== undefined) throw new BackendError('invalid', `This is not a valid variable name: ${invalid}`)
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

function aborted(signal: AbortSignal | undefined): Promise<'stopped'> {
  return new Promise((resolve) => signal?.addEventListener('abort', () => resolve('stopped'), { once: true }))
}

const unknownOutcome = (): BackendError =>
  new BackendError(
    'unavailable',
    'The host does not respond. It is unknown whether the command ran, and how far.',
    'Look at the files it should change before you run it again.',
  )

/** Parses the lines of `runCommand`: four numbers, three lines for each stream, last directory and variables, those before. */
function parseOutput(
  output: string,
  { cwd, env, timeoutMs }: { readonly cwd: string; readonly env: ExecResult['env']; readonly timeoutMs: number },
): ExecResult {
  if (!isComplete(output)) throw unknownOutcome()
  const [head = '', ...rest] = output.split('\n')
  const [code, ms, outSize, errSize] = head.split(' ').map(Number) as [number, number, number, number]
  const [last, before] = rest.slice(6).map(decodeText) as [string, string]
  const [end, after] = splitFirstLine(last)
  if (code === noDirectoryCode && before === '')
    throw new BackendError('invalid', `No such directory: ${cwd}`, 'Create it first, or omit the directory.')
  // A command that exits, with any code, has written its directory; one whose shell was killed has not.
  const cause = code === 137 && end === '' ? causeOfKill(ms, timeoutMs) : 'exit'
  const [out, err] = [parseStream(rest, 0, outSize), parseStream(rest, 3, errSize)]
  const omitted = addOmitted(out.omitted, err.omitted)
  return {
    exitCode: cause === 'timeout' ? 124 : code,
    stdout: out.text,
    stderr: err.text + (cause === 'kill' ? killedNote : '') + (head.endsWith(' full') ? fullNote : ''),
    truncated: omitted !== undefined,
    omitted,
    timedOut: cause === 'timeout',
    cwd: end || cwd,
    env: changedVariables(parseVariables(before), parseVariables(after)),
    unset: hasAllVariables(end, after) ? unsetVariables(env, parseVariables(after)) : [],
    ms,
  }
}

/** Whether the script has printed all its lines. */
const isComplete = (output: string): boolean =>
  /^\d+ \d+ \d+ \d+( full)?\n/.test(output) && output.split('\n').length > 9

function splitFirstLine(text: string): readonly [first: string, rest: string] {
  const [first = '', ...lines] = text.split('\n')
  return [first, lines.join('\n')]
}

const causeOfKill = (ms: number, timeoutMs: number) => (ms >= timeoutMs ? 'timeout' : 'kill')

const killedNote = '[The command was killed before its time limit. The host may have run out of memory.]\n'

const fullNote =
  '[The disk of the host is full: output and files may be incomplete. Delete files that are not needed; until then nothing is saved.]\n'

const decodeText = (base64: string): string => new TextDecoder().decode(decodeBase64Bytes(base64))

type Stream = { readonly text: string; readonly omitted?: OmittedOutput }

function parseStream(lines: readonly string[], at: number, size: number): Stream {
  const [first, last] = [decodeBase64Bytes(lines[at] ?? ''), decodeBase64Bytes(lines[at + 1] ?? '')]
  const missing = size - first.length - last.length
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes)
  if (missing <= 0) return { text: decode(first) + decode(last) }
  const lineEnds = Number(lines[at + 2] ?? 0) - countLineEnds(first) - countLineEnds(last)
  const omitted = { bytes: missing, lines: Math.max(0, lineEnds) }
  return { text: `${decode(first)}\n${describeOmitted(omitted)}\n${decode(last)}`, omitted }
}

function parseVariables(listed: string): ReadonlyMap<string, string> {
  // Each ends with NUL; a truncated list ends with a partial one.
  const whole = listed.split('\0').slice(0, -1)
  const pairs = whole.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)])
  return new Map(pairs.filter(([name = '']) => namePattern.test(name)) as [string, string][])
}

/** The command came to its end, and the list of its variables is complete. */
const hasAllVariables = (end: string, after: string): boolean => end !== '' && after.endsWith('\0')

const unsetVariables = (before: ExecResult['env'], after: ReadonlyMap<string, string>): readonly string[] =>
  Object.keys(before).filter((name) => !shellVariables.has(name) && !after.has(name))

function changedVariables(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): Record<string, string> {
  return Object.fromEntries(
    [...after].filter(([name, value]) => !shellVariables.has(name) && before.get(name) !== value),
  )
}

const sizeOf = (name: string, value: string): number => new TextEncoder().encode(`${name}=${value}`).byteLength

/** Drops variables beyond the limit and adds a note. `current`: the variables of earlier commands. */
function limitVariables(result: ExecResult, current: Readonly<Record<string, string>>): ExecResult {
  const others = Object.entries(current).filter(([name]) => !(name in result.env))
  let available = maxVariablesBytes - others.reduce((sum, [name, value]) => sum + sizeOf(name, value), 0)
  const env: Record<string, string> = {}
  const dropped: string[] = []
  for (const [name, value] of Object.entries(result.env)) {
    const size = sizeOf(name, value)
    if (size > available) dropped.push(name)
    else {
      env[name] = value
      available -= size
    }
  }
  if (dropped.length === 0) return result
  const note = `[Not kept for later commands, variables may have ${maxVariablesBytes / 1024} KiB in all: ${dropped.join(', ')}]\n`
  return { ...result, env, stderr: result.stderr + note }
}
