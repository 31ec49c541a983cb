import * as z from 'zod'
import { type Assessment, type Risk } from '../../agent/model/approval.ts'
import type { ProcessView } from '../../agent/model/process.ts'
import type { CallContext, Services, ToolResult } from '../../agent/model/tool.ts'
import { defineTool } from '../define-tool.ts'
import { fail } from '../tool-result.ts'
import { failOnBackendError } from '../file/read-text-file.ts'
import { assessCommand } from './assess-command.ts'
import { cleanOutput, truncateOutput } from './format-output.ts'

const DEFAULT_WAIT = 180
const MAX_WAIT = 600
const LOG_LINES = 200
/** Characters of output that come with how a process stands. */
const POLL_LENGTH = 4_000

const input = z.object({
  action: z.enum(['list', 'poll', 'log', 'wait', 'kill', 'write', 'submit', 'close']),
  session_id: z.string().optional().describe('Of terminal; its beginning is enough. For all but list.'),
  data: z.string().optional().describe('For write, and submit, which adds a line end.'),
  timeout: z.int().min(1).optional().describe('Seconds to wait, at most 600.'),
  offset: z.int().min(0).optional().describe('First line of the log, from 0. Without it: the last lines.'),
  limit: z.int().min(1).max(2_000).optional().describe('Lines of the log, 200 if not given.'),
})
type Input = z.infer<typeof input>
type Action = Input['action']
type Context = CallContext & Pick<Services, 'backend' | 'shell' | 'processes'>
type Answer = ToolResult | Readonly<Record<string, unknown>>

/** Input that was sent once is not sent again by a repeat of its call; everything else may be done twice. */
export default defineTool({
  name: 'process',
  toolset: 'terminal',
  description:
    'Look after background commands that terminal has started: list them, poll one, read its log, wait for its end, kill it, write to its input (where the machine gives it one).',
  input,
  needs: ['backend', 'shell', 'processes'],
  effect: 'keyed',
  risk: ({ action }): Risk => (isInput(action) ? 'exec' : 'read'),
  assess,
  touches: () => 'alone',
  run: (wanted, context) =>
    failOnBackendError(async () => {
      const { action, session_id: id } = wanted
      if (action === 'list') return list(context)
      if (!id) return fail(`session_id is needed for ${action}. See the list.`)
      const found = context.processes.find(id)
      return 'process' in found ? actions[action](wanted, context, found.process) : unknown(id, found.candidates)
    }),
})

const isInput = (action: Action) => action === 'write' || action === 'submit'

/**
 * A command that may run unasked takes its input for data. One that had to be asked about may take it for commands:
 * a shell, an interpreter, a client of a database. Then what is sent is judged as a command line would be. So is
 * what is typed at a terminal, where even a pager runs commands.
 */
function assess(
  { action, session_id: id = '', data = '' }: Input,
  services: Omit<Context, keyof CallContext>,
): Assessment {
  const free = { verdict: 'allow', reasons: [], subjects: [data || action], summary: data || action } as const
  if (!isInput(action)) return free
  const found = services.processes.find(id)
  if (!('process' in found)) return free
  const { command, cwd, pty } = found.process
  if (!pty && assessCommand(command, cwd, services).verdict === 'allow') return free
  const { verdict, reasons } = assessCommand(data, cwd, services)
  const why = reasons.map((reason) => `As input of a program that may run it: ${reason}`)
  return { verdict, reasons: why, summary: `${command} <- ${data}`, subjects: [data] }
}

const actions: Readonly<
  Record<Exclude<Action, 'list'>, (wanted: Input, context: Context, process: ProcessView) => Promise<Answer> | Answer>
> = {
  poll: (_wanted, context, { id }) => standing(context, id),
  log,
  wait,
  kill,
  write: (wanted, context, { id }) => send(context, id, wanted.data ?? '', false),
  submit: (wanted, context, { id }) => send(context, id, `${wanted.data ?? ''}\n`, false),
  close: (_wanted, context, { id }) => send(context, id, '', true),
}

const unknown = (id: string, candidates: readonly string[]) =>
  candidates.length
    ? fail(`${id} is the beginning of several processes. Give more of it.`, { status: 'ambiguous', candidates })
    : fail(`There is no process ${id}. Ended ones are forgotten after 30 minutes; see the list.`, {
        status: 'not_found',
      })

async function list({ processes, clock }: Context): Promise<Answer> {
  const running = processes.list().filter(({ state }) => state.at === 'running')
  // What a machine that cannot be asked has is listed as it was.
  await Promise.allSettled(running.map(({ id }) => processes.look(id)))
  const all = processes
    .list()
    .map((process) => ({ ...about(process, clock.now()), cwd: process.cwd, ...news(process) }))
  return { processes: all, count: all.length }
}

async function standing({ processes, clock }: Context, id: string): Promise<Record<string, unknown>> {
  const process = await processes.look(id)
  const printed = await printedBy(processes, process)
  processes.told(id)
  const output = truncateOutput(printed).text
  const isCut = output.length > POLL_LENGTH
  return {
    ...about(process, clock.now()),
    output: isCut ? output.slice(-POLL_LENGTH) : output,
    ...(isCut && { truncated: true }),
  }
}

/** Of a lost one, what its machine has left. */
async function printedBy(processes: Context['processes'], { id, state }: ProcessView): Promise<string> {
  const output = processes.output(id)
  return cleanOutput(await (state.at === 'lost' ? output.catch(() => '') : output))
}

async function wait({ timeout = DEFAULT_WAIT }: Input, context: Context, { id }: ProcessView): Promise<Answer> {
  const seconds = Math.min(timeout, MAX_WAIT)
  const { state } = await context.processes.wait(id, seconds * 1_000, context.signal)
  const answer = await standing(context, id)
  if (state.at !== 'running' || answer['status'] !== 'running') return answer
  const status = context.signal.aborted ? 'interrupted' : 'timeout'
  return { ...answer, status, note: `It still runs${status === 'timeout' ? ` after ${seconds} seconds` : ''}.` }
}

async function log({ offset, limit = LOG_LINES }: Input, { processes, clock }: Context, { id }: ProcessView) {
  const process = await processes.look(id)
  const text = await printedBy(processes, process)
  processes.told(id)
  const lines = text === '' ? [] : text.split('\n')
  const from = offset ?? Math.max(0, lines.length - limit)
  const page = lines.slice(from, from + limit)
  const { text: output, truncated } = truncateOutput(page.join('\n'))
  return {
    ...about(process, clock.now()),
    output,
    total_lines: lines.length,
    showing: page.length ? `${from}-${from + page.length - 1}` : 'none',
    ...(truncated && { truncated }),
  }
}

async function kill(_wanted: Input, { processes, clock }: Context, { id, state }: ProcessView): Promise<Answer> {
  const process = await processes.kill(id)
  processes.told(id)
  const status = state.at === 'running' || wasKilled(process) ? statusOf(process) : 'already_exited'
  return { ...about(process, clock.now()), status }
}

async function send({ processes, callId }: Context, id: string, text: string, close: boolean): Promise<Answer> {
  const process = await processes.look(id)
  if (process.state.at !== 'running')
    return fail(`${id} does not run any more: nothing was sent. Read its log.`, { status: statusOf(process) })
  const sent = await processes.write(id, { callId, text, close })
  if (sent === 'unsure')
    return fail(
      'The system restarted while this was sent: it may have arrived. Look at the log before you send it again.',
    )
  return { session_id: id, status: 'ok', bytes_written: new TextEncoder().encode(text).byteLength }
}

const wasKilled = ({ state }: ProcessView) => state.at === 'exited' && state.killed === true
const statusOf = (process: ProcessView) => (wasKilled(process) ? 'killed' : process.state.at)

function about(process: ProcessView, now: number) {
  const { id, pid, command, startedAt, state } = process
  const end = state.at === 'running' ? now : state.endedAt
  return {
    session_id: id,
    ...(pid !== undefined && { pid }),
    command: cleanOutput(command).slice(0, 200),
    status: statusOf(process),
    uptime_seconds: Math.max(0, Math.round((end - startedAt) / 1_000)),
    ...(state.at === 'exited' && { exit_code: state.exitCode }),
    ...(state.at === 'lost' && { exit_code: null, note: 'Its machine is gone: how it ended is unknown.' }),
  }
}

const news = ({ startedAt, notify, watching }: ProcessView) => ({
  started_at: new Date(startedAt).toISOString(),
  ...(notify && { notify_on_complete: true }),
  ...(watching.length > 0 && { watch_patterns: watching }),
})
