/** Does what the tool `process` asks for. Loaded with its first call. */

import { explainEnd, type ProcessView } from '#agent/core/process.ts'
import { failOnBackendError } from '../fail-on-backend-error.ts'
import { fail, type ToolAnswer } from '../tool-result.ts'
import { cleanOutput, truncateOutput } from './format-output.ts'
import { defaultWaitSeconds, maxWaitSeconds, type ProcessContext, type ProcessRequest } from './process.tool.ts'

const defaultLogLines = 200
const maxPollChars = 4_000

export const runProcessAction = (request: ProcessRequest, context: ProcessContext): Promise<ToolAnswer> =>
  failOnBackendError(async () => {
    const { action, session_id: id } = request
    if (action === 'list') return listProcesses(context)
    if (!id) return fail(`session_id is needed for ${action}. See the list.`)
    const found = context.processes.find(id)
    return 'process' in found
      ? actions[action](request, context, found.process)
      : failForUnknownId(id, found.candidates)
  })

const actions: Readonly<
  Record<
    Exclude<ProcessRequest['action'], 'list'>,
    (request: ProcessRequest, context: ProcessContext, process: ProcessView) => Promise<ToolAnswer> | ToolAnswer
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

async function listProcesses({ processes, clock }: ProcessContext): Promise<ToolAnswer> {
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
  { timeout = defaultWaitSeconds }: ProcessRequest,
  context: ProcessContext,
  { id }: ProcessView,
): Promise<ToolAnswer> {
  const seconds = Math.min(timeout, maxWaitSeconds)
  const { state } = await context.processes.wait(id, seconds * 1_000, context.signal)
  const answer = await pollProcess(context, id)
  if (state.at !== 'running' || answer['status'] !== 'running') return answer
  const status = context.signal.aborted ? 'interrupted' : 'timeout'
  return { ...answer, status, note: `It is still running${status === 'timeout' ? ` after ${seconds} seconds` : ''}.` }
}

async function readLog(
  { offset, limit = defaultLogLines }: ProcessRequest,
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
  _request: ProcessRequest,
  { processes, clock }: ProcessContext,
  { id, state }: ProcessView,
): Promise<ToolAnswer> {
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
): Promise<ToolAnswer> {
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
