/** Starts a command in the background, and refuses foreground commands that would not end. */

import type { ShellPolicy } from '#agent/core/permission/shell-policy.ts'
import type { CallContext, Services } from '#agent/core/tool.ts'
import { fail } from '../tool-result.ts'

/** Also the default time limit of a background command. */
export const maxBackgroundSeconds = 86_400

const backgroundHint = 'To keep it running, call terminal with background: true and control it with process.'

/** Returns why a command may not run in the foreground, or undefined. */
export function getForegroundRefusal(
  command: string,
  hasBackground: boolean,
  { findForegroundProblem }: ShellPolicy,
): string | undefined {
  const reason = findForegroundProblem(command)
  return reason === undefined || !hasBackground ? reason : `${reason} ${backgroundHint}`
}

export type BackgroundRequest = {
  readonly command: string
  readonly pty: boolean
  readonly cwd: string
  readonly timeoutSeconds: number | undefined
  readonly notify: boolean
  readonly watch: readonly string[]
}

type BackgroundContext = CallContext & Pick<Services, 'backend' | 'shell' | 'processes'>

export async function startInBackground(
  request: BackgroundRequest,
  { backend, shell, processes, callId }: BackgroundContext,
) {
  const { command, pty, cwd, timeoutSeconds = maxBackgroundSeconds, notify, watch } = request
  if (!backend.jobs)
    return fail('This host cannot run commands in the background. Run it in the foreground, timeout up to 600.')
  const { leavesProcesses } = await shell.policy()
  if (leavesProcesses(command))
    return fail('With background: true the command itself runs in the background: leave out nohup, setsid and &.')
  const { env } = shell.read()
  const timeoutMs = timeoutSeconds * 1_000
  const { id, pid = null } = await processes.start({ callId, command, pty, cwd, env, timeoutMs, notify, watch })
  const notifications = [notify && 'its end', watch.length > 0 && 'lines that contain a watched text'].filter(Boolean)
  const note = notifications.length
    ? `A message will report ${notifications.join(' and ')}: there is no need to wait or to poll.`
    : 'Control it with process.'
  return { session_id: id, pid, exit_code: 0, output: 'Started in the background.', cwd, note }
}
