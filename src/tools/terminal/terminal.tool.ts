/** Runs a command line. The working directory and exported variables carry over to the next command. */

import * as z from 'zod'
import type { Assessment } from '#agent/core/permission/approval.ts'
import { BackendError, type ExecResult, type ExecutionBackend } from '#agent/core/backend.ts'
import type { CallContext, Services, ShellState } from '#agent/core/tool.ts'
import { defineTool } from '../define-tool.ts'
import { fail, failWith } from '../tool-result.ts'
import { failOnBackendError } from '../fail-on-backend-error.ts'
import { keepOutput, maxKeptBytes } from '../kept-output.ts'
import { assessWithFiles, describeVerdict } from './assess-command.ts'
import { cleanOutput, replaceBinary } from './format-output.ts'
import { renderScreen, withPty } from './pty-command.ts'
import type { ShellPolicy } from '#agent/core/permission/shell-policy.ts'

const defaultTimeoutSeconds = 180
const maxTimeoutSeconds = 600
/** For starting a host, and for reporting the timeout of the command itself. */
const marginMs = 120_000

const input = z.object({
  command: z.string().min(1),
  background: z.boolean().default(false).describe('For servers, watchers and long jobs: returns at once.'),
  timeout: z.int().min(1).optional().describe('Seconds, at most 600; 180 if not given. In the background: a day.'),
  workdir: z.string().optional().describe('Directory for this command only.'),
  pty: z.boolean().default(false).describe('A terminal device, where the host has one; cd and exports do not stay.'),
  notify_on_complete: z.boolean().default(false).describe('Background: a message reports its end.'),
  watch_patterns: z
    .array(z.string().min(1).max(200))
    .max(20)
    .default([])
    .describe('Background: a message reports output lines that contain one of these texts.'),
})
type Input = z.infer<typeof input>

export default defineTool({
  name: 'terminal',
  toolset: 'terminal',
  description:
    'Run a bash command in the workspace. cd and exported variables stay for the next call. A workspace that is virtual differs from bash: pipes run one after the other, & waits, a script ends after 50000 commands, trap knows EXIT only, sed has no \\U, awk no system(), and there are no packages, compilers, python or node.',
  input,
  needs: ['backend', 'shell', 'processes'],
  effect: 'effect',
  // A background process is named after its call, so a call that runs again finds it.
  effectOf: ({ background }) => (background ? 'keyed' : 'effect'),
  risk: () => 'exec',
  timeoutMs: ({ background, timeout = defaultTimeoutSeconds }) =>
    (background ? 0 : Math.min(timeout, maxTimeoutSeconds) * 1_000) + marginMs,
  assess: assessCall,
  touches: () => 'alone',
  run: (request, context) =>
    failOnBackendError(async () => {
      const refusal = await findRefusal(request, context)
      return refusal === undefined ? runCommand(request, context) : fail(refusal)
    }),
})

async function findRefusal(
  request: Input,
  { backend: { jobs, capabilities }, shell }: Pick<Services, 'backend' | 'shell'>,
): Promise<string | undefined> {
  const {
    background,
    timeout = defaultTimeoutSeconds,
    command,
    pty,
    notify_on_complete: notify,
    watch_patterns,
  } = request
  if (pty && !capabilities.pty)
    return 'There is no terminal device here. Use options that ask nothing and use no pager: -y, --no-pager, --batch.'
  if (background)
    return timeout > maxBackgroundSeconds ? `timeout is at most ${maxBackgroundSeconds} seconds.` : undefined
  if (notify || watch_patterns.length)
    return 'notify_on_complete and watch_patterns are for commands with background: true. A command in the foreground is waited for.'
  if (timeout > maxTimeoutSeconds)
    return `timeout is at most ${maxTimeoutSeconds} seconds. ${jobs ? 'For longer commands use background: true.' : 'Split the work into shorter commands.'}`
  return getForegroundRefusal(command, jobs !== undefined, await shell.policy())
}

/** Background commands are assessed like foreground ones. */
async function assessCall(
  { command, workdir }: Input,
  services: Pick<Services, 'backend' | 'shell'>,
): Promise<Assessment> {
  const { backend, shell } = services
  const { cwd } = shell.read()
  const cwdOfCall = workdir === undefined ? cwd : backend.resolve(workdir, cwd)
  return describeVerdict(command, await assessWithFiles(command, cwdOfCall, services))
}

type TerminalContext = CallContext & Pick<Services, 'backend' | 'shell' | 'processes'>

async function runCommand(request: Input, context: TerminalContext) {
  const { backend, shell, signal, reportProgress } = context
  const { command, timeout = defaultTimeoutSeconds, workdir } = request
  const state = shell.read()
  const directory = await existingDirectory(backend, state.cwd, signal)
  const cwd = workdir === undefined ? directory : backend.resolve(workdir, directory)
  if (request.background) return startInBackground(toBackgroundRequest(request, cwd), context)
  const options = {
    cwd,
    env: state.env,
    timeoutMs: timeout * 1000,
    signal,
    maxOutput: maxKeptBytes,
    ...(reportProgress && { onOutput: (_: string, text: string) => reportProgress(text) }),
  }
  const result = await backend.exec(request.pty ? withPty(command) : command, options)
  // A call that was stopped may return late, after other calls.
  if (!signal.aborted)
    shell.write({ cwd: workdir === undefined ? result.cwd : directory, env: mergeEnvironment(state.env, result) })
  return renderAnswer(request.pty ? { ...result, stdout: renderScreen(result.stdout) } : result, request, context)
}

const toBackgroundRequest = (request: Input, cwd: string) => {
  const { command, pty, timeout: timeoutSeconds, notify_on_complete: notify, watch_patterns: watch } = request
  return { command, pty, cwd, timeoutSeconds, notify, watch }
}

const mergeEnvironment = (before: ShellState['env'], { env, unset = [] }: ExecResult): ShellState['env'] => ({
  ...Object.fromEntries(Object.entries(before).filter(([name]) => !unset.includes(name))),
  ...env,
})

/** The directory of the last command may have been removed since. A host shows no files outside of the workspace. */
async function existingDirectory(backend: ExecutionBackend, cwd: string, signal: AbortSignal): Promise<string> {
  const { root } = backend.capabilities
  const orRoot = (error: unknown) => {
    if (error instanceof BackendError && error.code === 'invalid') return root
    throw error
  }
  try {
    const stat = await backend.files.stat(cwd)
    return stat?.type === 'directory' ? cwd : root
  } catch (error) {
    orRoot(error)
    return backend.exec(':', { cwd, env: {}, timeoutMs: 30_000, signal }).then(() => cwd, orRoot)
  }
}

async function renderAnswer(
  result: ExecResult,
  { command, timeout = defaultTimeoutSeconds }: Input,
  context: TerminalContext,
) {
  const { stdout, stderr, cwd, timedOut } = result
  const { languages } = context.backend.capabilities
  const exitCode = result.exitCode ?? 137
  const meaning = explainExitCode({ command, exitCode, stderr, languages })
  const fullOutput = cleanOutput(joinOutput(replaceBinary(stdout), stderr), context.shell.redact)
  const { backend, callId } = context
  const kept = await keepOutput(fullOutput, { backend, callId, name: 'terminal', omitted: result.omitted })
  const answer = {
    ...kept,
    exit_code: exitCode,
    ...(timedOut && { error: `The command was stopped after ${timeout} seconds.` }),
    ...(meaning && { exit_code_meaning: meaning.text }),
    ...(result.truncated && { truncated: true }),
    cwd,
  }
  return exitCode === 0 || meaning?.isSuccess ? answer : failWith(answer)
}

const joinOutput = (stdout: string, stderr: string): string =>
  stdout === '' || stderr === '' || stdout.endsWith('\n') ? stdout + stderr : `${stdout}\n${stderr}`

type EndedCommand = {
  readonly command: string
  readonly exitCode: number
  readonly stderr: string
  readonly languages: readonly string[]
}

type ExitCodeMeaning = {
  readonly text: string
  /** The code is an answer, not an error. */
  readonly isSuccess: boolean
}

const generalMeanings: Readonly<Record<number, string>> = {
  124: 'timed out',
  126: 'found but could not be run, or stopped at a limit of the shell (see stderr)',
  130: 'interrupted',
  137: 'killed',
  139: 'crashed',
  143: 'terminated',
}

const answerCodes: readonly (readonly [RegExp, number, string])[] = [
  [/^(e|f|z)?grep$|^rg$|^ag$/, 1, 'no lines matched (not an error)'],
  [/^diff$|^cmp$|^comm$/, 1, 'the files differ (not an error)'],
  [/^test$|^\[$|^\[\[$/, 1, 'the condition is false (not an error)'],
]

/** Explains an exit code whose meaning is not obvious. */
export function explainExitCode(command: EndedCommand): ExitCodeMeaning | undefined {
  if (command.exitCode === 0) return undefined
  if (command.exitCode === 127) return { text: explainMissingProgram(command), isSuccess: false }
  const program = findLastProgram(command)
  const answer = answerCodes.find(
    ([name, code]) => code === command.exitCode && program !== undefined && name.test(program),
  )
  if (answer) return { text: answer[2], isSuccess: true }
  const text = generalMeanings[command.exitCode]
  return text === undefined ? undefined : { text, isSuccess: false }
}

/**
 * Returns the program that set the exit code of a command line: the last one of its last pipeline. Returns undefined
 * when the code may come from an earlier program: with `&&` or `||`, and with `set -e` or `pipefail`.
 */
function findLastProgram({ command, stderr }: EndedCommand): string | undefined {
  const unquoted = command.replace(/'[^']*'|"[^"]*"/g, 'x').replace(/\\\n|(&&|\|)[^\S\n]*\n/g, '$1 ')
  if (/(^|\s)set\s+-/.test(unquoted)) return undefined
  const lastList = unquoted.split(/[;\n]/).findLast((part) => part.trim() !== '') ?? ''
  if (lastList.includes('||')) return undefined
  const pipelines = lastList.split('&&')
  const last = pipelines.pop() ?? ''
  // A failed `cd` writes an error message.
  if (pipelines.some((pipeline) => !/^\s*cd\s/.test(pipeline)) || (pipelines.length > 0 && stderr !== ''))
    return undefined
  const words = (last.split('|').at(-1) ?? '').trim().split(/\s+/)
  return (words.find((word) => !/^\w+=/.test(word)) ?? '').replace(/^.*\//, '')
}

const interpreters =
  /^(python[\d.]*|pip\d?|node|npm|npx|yarn|pnpm|bun|deno|ruby|perl|php|go|cargo|rustc|java|javac|gcc|g\+\+|cc|make)$/
const networkPrograms = /^(curl|wget|ssh|scp|git|ping|nc|docker|apt|apt-get|brew)$/

function explainMissingProgram({ stderr, languages }: EndedCommand): string {
  const name = /(?<!\S)(\S+): command not found/.exec(stderr)?.[1] ?? ''
  if (interpreters.test(name))
    return `${name} does not exist on this host (it has ${languages.join(', ')}). Use execute_code if you have it, or shell tools like awk, sed and jq.`
  if (networkPrograms.test(name))
    return `${name} does not exist on this host, which has no network. Use the web tools if you have them.`
  return 'command not found on this host'
}

/** Also the default time limit of a background command. */
const maxBackgroundSeconds = 86_400

const backgroundHint = 'To keep it running, call terminal with background: true and control it with process.'

/** Returns why a command may not run in the foreground, or undefined. */
function getForegroundRefusal(
  command: string,
  hasBackground: boolean,
  { findForegroundProblem }: ShellPolicy,
): string | undefined {
  const reason = findForegroundProblem(command)
  return reason === undefined || !hasBackground ? reason : `${reason} ${backgroundHint}`
}

type BackgroundRequest = {
  readonly command: string
  readonly pty: boolean
  readonly cwd: string
  readonly timeoutSeconds: number | undefined
  readonly notify: boolean
  readonly watch: readonly string[]
}

type BackgroundContext = CallContext & Pick<Services, 'backend' | 'shell' | 'processes'>

async function startInBackground(request: BackgroundRequest, context: BackgroundContext) {
  const { backend, shell, processes, callId, authority: by } = context
  const { command, pty, cwd, timeoutSeconds = maxBackgroundSeconds, notify, watch } = request
  if (!backend.jobs)
    return fail('This host cannot run commands in the background. Run it in the foreground, timeout up to 600.')
  const { leavesProcesses } = await shell.policy()
  if (leavesProcesses(command))
    return fail('With background: true the command itself runs in the background: leave out nohup, setsid and &.')
  const { env } = shell.read()
  const timeoutMs = timeoutSeconds * 1_000
  const { id, pid = null } = await processes.start({ callId, by, command, pty, cwd, env, timeoutMs, notify, watch })
  const notifications = [notify && 'its end', watch.length > 0 && 'lines that contain a watched text'].filter(Boolean)
  const note = notifications.length
    ? `A message will report ${notifications.join(' and ')}: there is no need to wait or to poll.`
    : 'Control it with process.'
  return { session_id: id, pid, exit_code: 0, output: 'Started in the background.', cwd, note }
}
