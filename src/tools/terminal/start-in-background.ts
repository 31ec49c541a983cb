/** Commands that go on after the terminal has answered: started on purpose, or told from the syntax tree. */

import { detaches, leaves } from '../../agent/shell-policy/detaches.ts'
import type { CallContext, Services } from '../../agent/model/tool.ts'
import { fail } from '../tool-result.ts'

export { detaches }

/** What is not given an end by its starter is ended after a day. */
export const maxBackgroundSeconds = 86_400

const BACKGROUND = 'For what shall go on, call terminal with background: true, and look after it with process.'

/** Why a command may not run in the foreground, and where it may. */
export function getForegroundRefusal(command: string, hasBackground: boolean): string | undefined {
  const why = detaches(command)
  return why === undefined || !hasBackground ? why : `${why} ${BACKGROUND}`
}

export type BackgroundRequest = {
  readonly command: string
  readonly pty: boolean
  readonly cwd: string
  readonly seconds: number | undefined
  readonly notify: boolean
  readonly watch: readonly string[]
}

type Context = CallContext & Pick<Services, 'backend' | 'shell' | 'processes'>

export async function startInBackground(wanted: BackgroundRequest, { backend, shell, processes, callId }: Context) {
  const { command, pty, cwd, seconds, notify, watch } = wanted
  if (!backend.jobs)
    return fail('This machine cannot run commands in the background. Run it in the foreground, timeout up to 600.')
  if (leaves(command))
    return fail('With background: true the command itself runs in the background: leave out nohup, setsid and &.')
  const { env } = shell.read()
  const timeoutMs = (seconds ?? maxBackgroundSeconds) * 1_000
  const { id, pid = null } = await processes.start({ callId, command, pty, cwd, env, timeoutMs, notify, watch })
  const news = [notify && 'its end', watch.length > 0 && 'lines that contain what is watched for'].filter(Boolean)
  const note = news.length
    ? `A message will tell ${news.join(' and ')}: there is no need to wait or to poll.`
    : 'Look after it with process.'
  return { session_id: id, pid, exit_code: 0, output: 'Started in the background.', cwd, note }
}
