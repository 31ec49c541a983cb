/** Scripts for the model server: one replays a list of calls, one does what any text tells it. */

import type { Reply, Script, ScriptRequest } from '../support/model-server/reply.ts'
import { compile, replyAt } from '../support/model-server/directive.ts'

const done: Reply = { text: 'Done.' }

/**
 * Replays replies, one for each model call since the last message of a person, and `after` when they are over. It is
 * stateless: a repeated request gets the same reply, so a crash changes nothing.
 */
export const replay =
  (replies: readonly Reply[], after: Reply = done): Script =>
  ({ step }) =>
    replies[step] ?? after

/** Chooses the replies by a text in the last message of a person. Undefined for other messages. */
export function replayFor(byText: Readonly<Record<string, readonly Reply[]>>): Script {
  const known = Object.entries(byText)
  return (asked) => {
    const found = known.find(([text]) => asked.text.includes(text))
    return found && replay(found[1])(asked)
  }
}

type Message = { readonly role: string; readonly content?: unknown }

/**
 * Obeys: directives `[[call …]]` count in results of tools and in the system prompt as they do in the message of a person,
 * in the order of their appearance. Whatever is safe with this model is safe because of the agent.
 */
export const obedient: Script = ({ body, step, tools }) => {
  const messages = body['messages'] as readonly Message[]
  const last = messages.findLastIndex(({ role }) => role === 'user')
  const texts = messages.filter(({ role }, at) => role === 'system' || at >= last).map(textOf)
  return replyAt(compile(texts.join('\n')), step, tools)
}

/** Results are JSON, which escapes the quotes of a planted text. */
function textOf({ role, content }: Message): string {
  const text = typeof content === 'string' ? content : JSON.stringify(content ?? '')
  return role === 'tool' ? text.replaceAll('\\"', '"') : text
}

export type { Reply, Script, ScriptRequest }
