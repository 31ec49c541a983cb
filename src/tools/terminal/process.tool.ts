/**
 * Lists and controls background processes. Input carries the call id, so a call that runs again does not send it twice.
 */

import * as z from 'zod'
import { type Assessment, type Risk } from '#agent/core/permission/approval.ts'
import type { CommandVerdict } from '#agent/core/permission/shell-policy.ts'
import { explainEnd, type ProcessView } from '#agent/core/process.ts'
import type { CallContext, Services, ToolResult } from '#agent/core/tool.ts'
import { defineTool } from '../define-tool.ts'
import { fail } from '../tool-result.ts'
import { failOnBackendError } from '../fail-on-backend-error.ts'
import { assessCommand } from './assess-command.ts'
import { cleanOutput, truncateOutput } from './format-output.ts'

const defaultWaitSeconds = 180
const maxWaitSeconds = 600
/** For the answers of a slow host. */
const marginMs = 120_000
const defaultLogLines = 200
const maxPollChars = 4_000

const input = z.object({
  action: z.enum(['list', 'poll', 'log', 'wait', 'kill', 'write', 'submit', 'close']),
  session_id: z.string().optional().describe('Of terminal; its beginning is enough. For all but list.'),
  data: z.string().optional().describe('For write, and submit, which adds a line end.'),
  timeout: z.int().min(1).optional().describe('Seconds to wait, at most 600.'),
  offset: z.int().min(0).optional().describe('First line of the log, from 0. Without it: the last lines.'),
  limit: z.int().min(1).max(2_000).optional().describe('Lines of the log, 200 if not given.'),
})
type Input = z.infer<typeof input>
type ProcessAction = Input['action']
type ProcessContext = CallContext & Pick<Services, 'backend' | 'shell' | 'processes'>
type ProcessAnswer = ToolResult | Readonly<Record<string, unknown>>

export default defineTool({
  name: 'process',
  toolset: 'terminal',
  description:
    'Control background commands that terminal has started: list them, poll one, read its log, wait for its end, kill it, write to its input (where the host supports it).',
  input,
  needs: ['backend', 'shell', 'processes'],
  effect: 'keyed',
  risk: ({ action }): Risk => (sendsInput(action) ? 'exec' : 'read'),
  assess,
  touches: () => 'alone',
  timeoutMs: ({ action, timeout = defaultWaitSeconds }) =>
    (action === 'wait' ? Math.min(timeout, maxWaitSeconds) * 1_000 : 0) + marginMs,
  run: (request, context) =>
    failOnBackendError(async () => {
      const { action, session_id: id } = request
      if (action === 'list') return listProcesses(context)
      if (!id) return fail(`session_id is needed for ${action}. See the list.`)
      const found = context.processes.find(id)
      return 'process' in found
        ? actions[action](request, context, found.process)
        : failForUnknownId(id, found.candidates)
    }),
})

const sendsInput = (action: ProcessAction) => action === 'write' || action === 'submit'

/**
 * A command that the shell policy allows reads its input as data. Any other command may execute its input: a shell, an
 * interpreter, a database client. Its input is assessed as a command line, and so is input for a terminal device, where
 * even a pager runs commands.
 */
async function assess(
  { action, session_id: id = '', data = '' }: Input,
  services: Omit<ProcessContext, keyof CallContext>,
): Promise<Assessment> {
  const allowed = { verdict: 'allow', reasons: [], subjects: [data || action], summary: data || action } as const
  if (!sendsInput(action)) return allowed
  const found = services.processes.find(id)
  if (!('process' in found)) return allowed
  const { command, cwd, pty } = found.process
  if (!pty && (await assessCommand(command, cwd, services)).verdict === 'allow') return allowed
  return assessInput(command, action, data, await assessCommand(data, cwd, services))
}

function assessInput(
  command: string,
  action: ProcessAction,
  data: string,
  { verdict, reasons, isUnjudged }: CommandVerdict,
): Assessment {
  const isShell = !isOtherLanguage.test(command)
  const gap = isShell ? findGap(action, data) : undefined
  const why = gap === undefined ? reasons : [...reasons, gap]
  return {
    verdict,
    reasons: why.map((reason) => `As input of a program that may run it: ${reason}`),
    summary: `${command} <- ${data}`,
    subjects: [data],
    ...(isShell && (gap !== undefined || isUnjudged) && { isUnjudged: true }),
  }
}

/** Programs whose input is code of another language, which is judged as little as that of a script. */
const isOtherLanguage =
  /^(\S*\/)?(python[\d.]*|ipython|node|deno|bun|ruby|irb|perl|php|lua|julia|ghci|R|psql|mysql|sqlite3|mongosh|redis-cli|bc)(\s|$)/

/** Why input for a shell cannot be judged by itself: what came before and what follows decide what runs. */
function findGap(action: ProcessAction, data: string): string | undefined {
  if (action === 'write' && !/[\r\n]$/.test(data))
    return 'The line goes on with later input; submit sends a whole line.'
  if (/[$`]|\b(alias|function|trap)\b|\(\s*\)/.test(data))
    return 'It depends on earlier input, or changes what later input means.'
  return undefined
}

const actions: Readonly<
  Record<
    Exclude<ProcessAction, 'list'>,
    (request: Input, context: ProcessContext, process: ProcessView) => Promise<ProcessAnswer> | ProcessAnswer
  >
> = {
  poll: (_request, context, { id }) => pollProcess(context, id),
  log: readLog,
  wait: waitForEnd,
  kill: killProcess,
  write: (request, context, { id }) => sendInput(context, id, request.data ?? '', false),
  submit: (request, context, { id }) => sendInput(context, id, `${request.data ?? ''}\n`, false),
  close: (_request, context, { id }) => sendInput(context, id, '', true),
}

const failForUnknownId = (id: string, candidates: readonly string[]) =>
  candidates.length
    ? fail(`Several process ids begin with ${id}. Give more of it.`, { status: 'ambiguous', candidates })
    : fail(`There is no process ${id}. Ended ones are removed after 30 minutes; see the list.`, {
        status: 'not_found',
      })

async function listProcesses({ processes, clock }: ProcessContext): Promise<ProcessAnswer> {
  const running = processes.list().filter(({ state }) => state.at === 'running')
  // A process whose host does not answer is listed with its last known state.
  await Promise.allSettled(running.map(({ id }) => processes.refresh(id)))
  const all = processes.list().map((process) => ({
    ...describeProcess(process, clock.now()),
    cwd: process.cwd,
    ...describeNotifications(process),
  }))
  return { processes: all, count: all.length }
}

async function pollProcess({ processes, shell, clock }: ProcessContext, id: string): Promise<Record<string, unknown>> {
  const process = await processes.refresh(id)
  const fullOutput = await readOutput({ processes, shell }, process)
  processes.markReported(id)
  const output = truncateOutput(fullOutput).text
  const isTooLong = output.length > maxPollChars
  return {
    ...describeProcess(process, clock.now()),
    output: isTooLong ? output.slice(-maxPollChars) : output,
    ...(isTooLong && { truncated: true }),
  }
}

type ReadContext = Pick<ProcessContext, 'processes' | 'shell'>

/** The output of a lost process may be gone with its host. */
async function readOutput({ processes, shell }: ReadContext, { id, state }: ProcessView): Promise<string> {
  const output = processes.output(id)
  return cleanOutput(await (state.at === 'lost' ? output.catch(() => '') : output), shell.redact)
}

async function waitForEnd(
  { timeout = defaultWaitSeconds }: Input,
  context: ProcessContext,
  { id }: ProcessView,
): Promise<ProcessAnswer> {
  const seconds = Math.min(timeout, maxWaitSeconds)
  const { state } = await context.processes.wait(id, seconds * 1_000, context.signal)
  const answer = await pollProcess(context, id)
  if (state.at !== 'running' || answer['status'] !== 'running') return answer
  const status = context.signal.aborted ? 'interrupted' : 'timeout'
  return { ...answer, status, note: `It is still running${status === 'timeout' ? ` after ${seconds} seconds` : ''}.` }
}

async function readLog(
  { offset, limit = defaultLogLines }: Input,
  { processes, shell, clock }: ProcessContext,
  { id }: ProcessView,
) {
  const process = await processes.refresh(id)
  const text = await readOutput({ processes, shell }, process)
  processes.markReported(id)
  const lines = text === '' ? [] : text.split('\n')
  const from = offset ?? Math.max(0, lines.length - limit)
  const page = lines.slice(from, from + limit)
  const { text: output, truncated } = truncateOutput(page.join('\n'))
  return {
    ...describeProcess(process, clock.now()),
    output,
    total_lines: lines.length,
    showing: page.length ? `${from}-${from + page.length - 1}` : 'none',
    ...(truncated && { truncated }),
  }
}

async function killProcess(
  _request: Input,
  { processes, clock }: ProcessContext,
  { id, state }: ProcessView,
): Promise<ProcessAnswer> {
  const process = await processes.kill(id)
  processes.markReported(id)
  const status = state.at === 'running' || wasKilled(process) ? statusOf(process) : 'already_exited'
  return { ...describeProcess(process, clock.now()), status }
}

async function sendInput(
  { processes, callId, authority: by }: ProcessContext,
  id: string,
  text: string,
  close: boolean,
): Promise<ProcessAnswer> {
  const process = await processes.refresh(id)
  if (process.state.at !== 'running')
    return fail(`${id} is not running any more: nothing was sent. Read its log.`, { status: statusOf(process) })
  const sent = await processes.write(id, { callId, by, text, close })
  if (sent === 'unsure')
    return fail('The system restarted while this was sent: it may have arrived. Read the log before you send it again.')
  return { session_id: id, status: 'ok', bytes_written: new TextEncoder().encode(text).byteLength }
}

const wasKilled = ({ state }: ProcessView) => state.at === 'exited' && state.killed === true
const statusOf = (process: ProcessView) => (wasKilled(process) ? 'killed' : process.state.at)

function describeProcess(process: ProcessView, now: number) {
  const { id, pid, command, startedAt, state } = process
  const end = state.at === 'running' ? now : state.endedAt
  const why = explainEnd(state)
  return {
    session_id: id,
    ...(pid !== undefined && { pid }),
    command: cleanOutput(command).slice(0, 200),
    status: statusOf(process),
    uptime_seconds: Math.max(0, Math.round((end - startedAt) / 1_000)),
    ...(state.at === 'exited' && { exit_code: state.exitCode }),
    ...(state.at === 'lost' && { exit_code: null }),
    ...(state.at !== 'running' && state.reason && { reason: state.reason }),
    ...(state.at !== 'running' && { ended_at: new Date(state.endedAt).toISOString() }),
    ...(why !== undefined && {
      note: state.at === 'lost' ? `How it ended is unknown: ${why}.` : `It did not end by itself: ${why}.`,
    }),
  }
}

const describeNotifications = ({ startedAt, notify, watching }: ProcessView) => ({
  started_at: new Date(startedAt).toISOString(),
  ...(notify && { notify_on_complete: true }),
  ...(watching.length > 0 && { watch_patterns: watching }),
})
