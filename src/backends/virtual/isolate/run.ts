/**
 * Runs one command line in a new just-bash and returns its output and final state. Counters limit loops, recursion and
 * output; a timeout limits everything that waits.
 */

import { Bash, type BashExecResult, type BashOptions, type Command } from 'just-bash/browser'
import { workspaceRoot } from '../paths.ts'
import type { NetworkAnswer, RunShell, ShellAnswer, ShellHost, ShellRequest } from '../protocol.ts'
import { commands } from './commands/index.ts'
import { exitTrap } from './commands/trap.ts'
import { wget } from './commands/wget.ts'
import { shellFiles } from './files.ts'
import { addOmitted, countLineEnds, describeOmitted } from '../../omitted-output.ts'
import type { OmittedOutput } from '#agent/core/backend.ts'

const executionLimits = {
  maxCommandCount: 50_000,
  maxLoopIterations: 100_000,
  maxAwkIterations: 250_000,
  maxWorkUnits: 1_000_000,
}

/** Statements after which the shell yields to other sessions and to its own timeout. */
const yieldEveryStatements = 100

/** Time for an aborted script to return its output so far. */
const graceMs = 200

const baseVariables = {
  HOME: workspaceRoot,
  USER: 'user',
  LOGNAME: 'user',
  SHELL: '/bin/bash',
  TERM: 'dumb',
  LANG: 'C.UTF-8',
  TMPDIR: '/tmp',
}

export const runShell: RunShell = async (host, request) => {
  const trap = exitTrap()
  const bash = openBash(host, request, trap.command)
  const withoutSent = request.streams ? streamOutput(bash, host) : undefined
  const { result: whole, timedOut } = await runWithTimeout(bash, host, { ...request, atExit: trap.handler })
  const unsent = withoutSent ? await withoutSent(whole) : whole
  const result = request.streams === 'moved' ? unsent : whole
  const stdout = clip(describeBinary(result.stdout), request.maxOutput)
  const stderr = clip(result.stderr, request.maxOutput)
  const omitted = addOmitted(stdout.omitted, stderr.omitted)
  return {
    exitCode: timedOut ? 124 : result.exitCode,
    stdout: stdout.text,
    stderr: stderr.text.replaceAll(unavailableCommand, 'command not found').replace(abortedMessage, ''),
    truncated: omitted !== undefined,
    omitted,
    timedOut,
    cwd: result.env['PWD'] ?? request.cwd,
    env: exportedVariables(bash, result.env, request.env),
    // Without PWD the shell did not come to its end.
    unset: result.env['PWD'] === undefined ? [] : unsetVariables(bash, result.env, request.env),
  }
}

/** Loaded on first use, because it is larger than all other commands together. */
const git = { name: 'git', load: async () => (await import('./git/git.ts')).git }

/** Messages of just-bash that are replaced. */
const abortedMessage = /bash: execution aborted\n$/
const unavailableCommand = /command not available in browser environments\..*/g

/** Internal state of just-bash that its types do not declare. */
type ShellVariables = {
  readonly exportedVars: ReadonlySet<string>
  readonly functions: unknown
  readonly arrays: unknown
}
/** All fields but `state` are added by scripts/lib/just-bash.mjs. */
type Internals = {
  state: ShellVariables
  readonly finalState?: ShellVariables
  pulse?: () => Promise<void> | undefined
  onStatement?: (result: Pick<BashExecResult, 'stdout' | 'stderr'>) => void
}

/** Sends requests of curl, wget and git through the session, which checks their addresses. A body is text, or bytes of git. */
const fetchThrough =
  (host: ShellHost): NonNullable<BashOptions['fetch']> =>
  async (url, options = {}) => {
    const { method = 'GET', headers = {}, followRedirects = true, timeoutMs } = options
    const rawBody = options.body as string | Uint8Array<ArrayBuffer> | undefined
    const body = typeof rawBody === 'string' ? new Uint8Array(new TextEncoder().encode(rawBody)) : rawBody
    const plain = Object.fromEntries(new Headers(headers))
    const answer = await host.fetch({ url, method, headers: plain, body, follow: followRedirects, timeoutMs })
    if ('error' in answer) throw new Error(answer.error)
    return answer.ok as NetworkAnswer
  }

function openBash(host: ShellHost, { cwd, env, network }: ShellRequest, trap: Command): Bash {
  const bash = new Bash({
    fs: shellFiles(host),
    cwd,
    env: { ...baseVariables, ...env },
    customCommands: [...commands, trap, git, ...(network ? [wget] : [])],
    executionLimitProfile: 'hardened',
    executionLimits: executionLimits,
    defenseInDepth: false,
    ...(network && { fetch: fetchThrough(host) }),
  })
  let statements = 0
  const internals = bash as unknown as Internals
  internals.pulse = () =>
    ++statements % yieldEveryStatements === 0 ? new Promise((resolve) => setTimeout(resolve)) : undefined
  return bash
}

/** Sends the output of each statement to the session; the returned function removes it from the result. */
function streamOutput(bash: Bash, host: ShellHost): (result: BashExecResult) => Promise<BashExecResult> {
  const sent = { stdout: '', stderr: '' }
  let printed: Promise<unknown> = Promise.resolve()
  const internals = bash as unknown as Internals
  internals.onStatement = (result) => {
    const [stdout, stderr] = [decodeOutput(result.stdout), decodeOutput(result.stderr)]
    sent.stdout += stdout
    sent.stderr += stderr
    if (stdout + stderr !== '') printed = Promise.all([printed, host.print(describeBinary(stdout) + stderr)])
  }
  return async (result) => {
    await printed
    const rest = (stream: 'stdout' | 'stderr'): string =>
      result[stream].startsWith(sent[stream]) ? result[stream].slice(sent[stream].length) : ''
    return { ...result, stdout: rest('stdout'), stderr: rest('stderr') }
  }
}

type TimedResult = { readonly result: BashExecResult; readonly timedOut: boolean }

type ShellScript = ShellRequest & { readonly atExit: () => string }

async function runWithTimeout(bash: Bash, host: ShellHost, request: ShellScript): Promise<TimedResult> {
  const abort = new AbortController()
  const killed: BashExecResult = { stdout: '', stderr: '', exitCode: 137, env: {} }
  let timedOut = false
  let timer: ReturnType<typeof setTimeout> | null = null
  const stopped = new Promise<BashExecResult>((resolve) => {
    const stop = () => {
      abort.abort()
      setTimeout(() => resolve(killed), graceMs)
    }
    timer = setTimeout(() => {
      timedOut = true
      stop()
    }, request.timeoutMs)
    void host.stopped().then(stop, stop)
  })
  const result = await Promise.race([runScript(bash, request, abort.signal).catch(crash), stopped])
  clearTimeout(timer)
  return { result, timedOut }
}

async function runScript(bash: Bash, request: ShellScript, signal: AbortSignal): Promise<BashExecResult> {
  const stdin = request.stdin === undefined ? {} : { stdin: request.stdin }
  const result = await bash.exec(request.command, { rawScript: true, signal, ...stdin })
  const handler = request.atExit()
  if (handler === '' || signal.aborted) return result
  const internals = bash as unknown as Internals
  const { functions, arrays } = internals.finalState ?? internals.state
  internals.state = { ...internals.state, functions, arrays }
  const last = await bash.exec(handler, {
    rawScript: true,
    signal,
    env: result.env,
    cwd: result.env['PWD'] ?? request.cwd,
  })
  return { ...result, stdout: result.stdout + last.stdout, stderr: result.stderr + last.stderr }
}

const crash = (error: unknown): BashExecResult => ({
  stdout: '',
  exitCode: 1,
  env: {},
  stderr: `bash: ${error instanceof Error ? error.message : String(error)}\n`,
})

/** Variables that the shell itself maintains. */
const shellVariables = new Set(['PWD', 'OLDPWD', 'SHLVL', '_', 'OPTIND', 'SHELLOPTS', 'BASHOPTS'])

/** Returns the exported variables that the script changed, for the next command. */
function exportedVariables(bash: Bash, env: ShellAnswer['env'], before: ShellAnswer['env']): ShellAnswer['env'] {
  const { exportedVars } = (bash as unknown as Internals).state
  const start: Readonly<Record<string, string>> = { ...baseVariables, PATH: '/usr/bin:/bin', ...before }
  const changed = Object.entries(env).filter(([name, value]) => value !== start[name])
  return Object.fromEntries(changed.filter(([name]) => exportedVars.has(name) && !shellVariables.has(name)))
}

function unsetVariables(bash: Bash, env: ShellAnswer['env'], before: ShellAnswer['env']): readonly string[] {
  const { exportedVars } = (bash as unknown as Internals).state
  return Object.keys(before).filter((name) => !shellVariables.has(name) && !(name in env && exportedVars.has(name)))
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Decodes the output of a statement, which is either text or bytes with one character each. */
function decodeOutput(output: string): string {
  // oxlint-disable-next-line no-control-regex -- everything that is a byte
  if (!/[\x80-\xFF]/.test(output) || /[^\0-\xFF]/.test(output)) return output
  try {
    return strict.decode(Buffer.from(output, 'latin1'))
  } catch {
    return output
  }
}

// oxlint-disable-next-line no-control-regex -- these are what text does not contain
const controlCharacters = /[\0-\x08\x0E-\x1A\x1C-\x1F]/g

/** Replaces binary output with a note. */
function describeBinary(output: string): string {
  const sample = output.slice(0, 8192)
  const odd = sample.match(controlCharacters)?.length ?? 0
  if (!sample.includes('\0') && odd * 20 <= sample.length) return output
  return `[binary output, ${output.length} bytes, not shown: write it to a file, or look at it with xxd, od or file]\n`
}

type ClippedText = { readonly text: string; readonly omitted?: OmittedOutput }

function clip(text: string, maxBytes: number): ClippedText {
  // A character is at least a byte and at most three per UTF-16 unit.
  if (text.length * 3 <= maxBytes) return { text }
  const bytes = encoder.encode(text)
  if (bytes.byteLength <= maxBytes) return { text }
  const head = nextCharacter(bytes, Math.floor(maxBytes * 0.4))
  const tail = nextCharacter(bytes, bytes.byteLength - (maxBytes - head))
  const start = decoder.decode(bytes.subarray(0, head))
  const end = decoder.decode(bytes.subarray(tail))
  const omitted = { bytes: tail - head, lines: countLineEnds(bytes.subarray(head, tail)) }
  return { text: `${start}\n${describeOmitted(omitted)}\n${end}`, omitted }
}

/** Returns the first index at or after `at` where a character begins. */
function nextCharacter(bytes: Uint8Array, at: number): number {
  let end = at
  while (end < bytes.byteLength && ((bytes[end] ?? 0) & 0xc0) === 0x80) end++
  return end
}
