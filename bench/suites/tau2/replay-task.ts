/**
 * A model that replays the calls of a task: two reading calls side by side where they follow each other, and after an
 * interruption only what the shop has not done yet.
 */

import type { Reply, ScriptRequest } from '../../../test/kit/index.ts'
import { isRead } from './retail.ts'
import type { GoldCall, Task } from './tasks.ts'

type ChatCall = { readonly id: string; readonly function: { readonly name: string; readonly arguments: string } }
type ChatMessage = {
  readonly role: string
  readonly content?: unknown
  readonly tool_calls?: readonly ChatCall[]
  readonly tool_call_id?: string
}

/** The results of calls whose outcome nobody knows. */
const isLost = /Interrupted:|did not answer|check before you repeat it|timed out/i

/** `hasDone`: whether the shop has seen the nth call of the task. A person would look it up. */
export function replayTask(
  { body }: ScriptRequest,
  { calls }: Task,
  prefix: string,
  hasDone: (nth: number) => boolean,
): Reply {
  const messages = body['messages'] as readonly ChatMessage[]
  const last = messages.findLastIndex(({ role }) => role === 'user')
  const results = new Map(
    messages.slice(last).flatMap(({ tool_call_id: id, content }) => (id === undefined ? [] : [[id, String(content)]])),
  )
  const asked = messages.slice(last).flatMap(({ tool_calls: made }) => made ?? [])
  let next = 0
  for (const { id, function: called } of asked) {
    const call = calls[next]
    if (!call || called.name !== `${prefix}${call.name}` || !isSame(called.arguments, call)) continue
    if (isLost.test(results.get(id) ?? 'Interrupted:') && !hasDone(next)) continue
    next++
  }
  const [call, follower] = [calls[next], calls[next + 1]]
  if (!call) return { text: ['Done', '.'] }
  const isPair = follower && isRead(call.name) && isRead(follower.name)
  return { calls: (isPair ? [call, follower] : [call]).map(({ name, input }) => ({ name: `${prefix}${name}`, input })) }
}

const isSame = (json: string, { input }: GoldCall): boolean =>
  JSON.stringify(JSON.parse(json)) === JSON.stringify(input)
