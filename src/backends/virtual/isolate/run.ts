/**
 * Runs one command line in a fresh just-bash and reports where the shell stood at the end. Bounded in
 * every direction: counts stop loops, recursion and output, the wall clock stops everything that waits.
 */

import { Bash, type BashExecResult, type BashOptions, type Command } from 'just-bash/browser'
import { workspaceRoot } from '../paths.ts'
import type { NetworkAnswer, RunShell, ShellAnswer, ShellHost, ShellRequest } from '../protocol.ts'
import { commands } from './commands/index.ts'
import { exitTrap } from './commands/trap.ts'
import { wget } from './commands/wget.ts'
import { shellFiles } from './files.ts'
import { asText, clip, decoded } from './output.ts'

const LIMITS = {
  maxCommandCount: 50_000,
  maxLoopIterations: 100_000,
  maxAwkIterations: 250_000,
  maxWorkUnits: 1_000_000,
}

/** Statements after which everything else gets a turn: other sessions, and the clock that ends this one. */
const PULSE = 100

/** How long an aborted script may take to hand over the output it has so far. */
const GRACE_MS = 200

const BASE_ENV = {
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
  const told = request.streams ? tell(bash, host) : undefined
  const { result: whole, timedOut } = await settle(bash, host, { ...request, atExit: trap.handler })
  const result = told ? await told(whole) : whole
  const stdout = clip(asText(result.stdout), request.maxOutput)
  const stderr = clip(result.stderr, request.maxOutput)
  return {
    exitCode: timedOut ? 124 : result.exitCode,
    stdout: stdout.text,
    stderr: stderr.text.replaceAll(NOT_HERE, 'command not found').replace(ABORTED, ''),
    truncated: stdout.clipped || stderr.clipped,
    timedOut,
    cwd: result.env['PWD'] ?? request.cwd,
    env: exported(bash, result.env, request.env),
    // Without a directory the shell did not come to its end.
    unset: result.env['PWD'] === undefined ? [] : unsetIn(bash, result.env, request.env),
  }
}

/** Larger than all the other commands together: evaluated with its first use. */
const git = { name: 'git', load: async () => (await import('./git/git.ts')).git }

/** Its own words name builds of just-bash nobody here can choose. */
const ABORTED = /bash: execution aborted\n$/
const NOT_HERE = /command not available in browser environments\..*/g

/** What of just-bash is not in its types: which of the variables it reports are exported. */
type State = { readonly exportedVars: ReadonlySet<string>; readonly functions: unknown; readonly arrays: unknown }
/** All but `state` are added by scripts/lib/just-bash.mjs. */
type Internals = {
  state: State
  readonly finalState?: State
  pulse?: () => Promise<void> | undefined
  onStatement?: (result: Pick<BashExecResult, 'stdout' | 'stderr'>) => void
}

/** curl, wget and git ask the session, which judges where they go. A body is text, or git's bytes as they are. */
const fetchThrough =
  (host: ShellHost): NonNullable<BashOptions['fetch']> =>
  async (url, options = {}) => {
    const { method = 'GET', headers = {}, followRedirects = true, timeoutMs } = options
    const given = options.body as string | Uint8Array<ArrayBuffer> | undefined
    const body = typeof given === 'string' ? new Uint8Array(new TextEncoder().encode(given)) : given
    const plain = Object.fromEntries(new Headers(headers))
    const answer = await host.fetch({ url, method, headers: plain, body, follow: followRedirects, timeoutMs })
    if ('error' in answer) throw new Error(answer.error)
    return answer.ok as NetworkAnswer
  }

function openBash(host: ShellHost, { cwd, env, network }: ShellRequest, trap: Command): Bash {
  const bash = new Bash({
    fs: shellFiles(host),
    cwd,
    env: { ...BASE_ENV, ...env },
    customCommands: [...commands, trap, git, ...(network ? [wget] : [])],
    executionLimitProfile: 'hardened',
    executionLimits: LIMITS,
    defenseInDepth: false,
    ...(network && { fetch: fetchThrough(host) }),
  })
  let statements = 0
  const internals = bash as unknown as Internals
  internals.pulse = () => (++statements % PULSE === 0 ? new Promise((resolve) => setTimeout(resolve)) : undefined)
  return bash
}

/** Prints what the statements of the script print; what comes back is the result without that. */
function tell(bash: Bash, host: ShellHost): (result: BashExecResult) => Promise<BashExecResult> {
  const told = { stdout: '', stderr: '' }
  let printed: Promise<unknown> = Promise.resolve()
  const internals = bash as unknown as Internals
  internals.onStatement = (result) => {
    const [stdout, stderr] = [decoded(result.stdout), decoded(result.stderr)]
    told.stdout += stdout
    told.stderr += stderr
    if (stdout + stderr !== '') printed = Promise.all([printed, host.print(asText(stdout) + stderr)])
  }
  return async (result) => {
    await printed
    const rest = (stream: 'stdout' | 'stderr'): string =>
      result[stream].startsWith(told[stream]) ? result[stream].slice(told[stream].length) : ''
    return { ...result, stdout: rest('stdout'), stderr: rest('stderr') }
  }
}

type Settled = { readonly result: BashExecResult; readonly timedOut: boolean }

type Script = ShellRequest & { readonly atExit: () => string }

async function settle(bash: Bash, host: ShellHost, request: Script): Promise<Settled> {
  const abort = new AbortController()
  const killed: BashExecResult = { stdout: '', stderr: '', exitCode: 137, env: {} }
  let timedOut = false
  let timer: ReturnType<typeof setTimeout> | null = null
  const stopped = new Promise<BashExecResult>((resolve) => {
    const stop = () => {
      abort.abort()
      setTimeout(() => resolve(killed), GRACE_MS)
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

async function runScript(bash: Bash, request: Script, signal: AbortSignal): Promise<BashExecResult> {
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

/** Names the shell itself maintains. */
const INTERNAL = new Set(['PWD', 'OLDPWD', 'SHLVL', '_', 'OPTIND', 'SHELLOPTS', 'BASHOPTS'])

/** Only what the script exported or changed: that is what the next command starts with. */
function exported(bash: Bash, env: ShellAnswer['env'], before: ShellAnswer['env']): ShellAnswer['env'] {
  const { exportedVars } = (bash as unknown as Internals).state
  const start: Readonly<Record<string, string>> = { ...BASE_ENV, PATH: '/usr/bin:/bin', ...before }
  const changed = Object.entries(env).filter(([name, value]) => value !== start[name])
  return Object.fromEntries(changed.filter(([name]) => exportedVars.has(name) && !INTERNAL.has(name)))
}

function unsetIn(bash: Bash, env: ShellAnswer['env'], before: ShellAnswer['env']): readonly string[] {
  const { exportedVars } = (bash as unknown as Internals).state
  return Object.keys(before).filter((name) => !INTERNAL.has(name) && !(name in env && exportedVars.has(name)))
}
