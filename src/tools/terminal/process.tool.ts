/**
 * Lists and controls background processes. Input carries the call id, so a call that runs again does not send it twice.
 */

import * as z from 'zod'
import { type Assessment, type Risk } from '#agent/core/permission/approval.ts'
import type { CommandVerdict } from '#agent/core/permission/shell-policy.ts'
import type { CallContext, Services } from '#agent/core/tool.ts'
import { defineTool } from '../define-tool.ts'
import { assessCommand } from './assess-command.ts'

export const defaultWaitSeconds = 180
export const maxWaitSeconds = 600
/** For the answers of a slow host. */
const marginMs = 120_000

const input = z.object({
  action: z.enum(['list', 'poll', 'log', 'wait', 'kill', 'write', 'submit', 'close']),
  session_id: z.string().optional().describe('Of terminal; its beginning is enough. For all but list.'),
  data: z.string().optional().describe('For write, and submit, which adds a line end.'),
  timeout: z.int().min(1).optional().describe('Seconds to wait, at most 600.'),
  offset: z.int().min(0).optional().describe('First line of the log, from 0. Without it: the last lines.'),
  limit: z.int().min(1).max(2_000).optional().describe('Lines of the log, 200 if not given.'),
})
export type ProcessRequest = z.infer<typeof input>
type ProcessAction = ProcessRequest['action']
export type ProcessContext = CallContext & Pick<Services, 'backend' | 'shell' | 'processes'>

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
  run: async (request, context) => (await import('./process-actions.ts')).runProcessAction(request, context),
})

const sendsInput = (action: ProcessAction) => action === 'write' || action === 'submit'

/**
 * A command that the shell policy allows reads its input as data. Any other command may execute its input: a shell, an
 * interpreter, a database client. Its input is assessed as a command line, and so is input for a terminal device, where
 * even a pager runs commands.
 */
async function assess(
  { action, session_id: id = '', data = '' }: ProcessRequest,
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
