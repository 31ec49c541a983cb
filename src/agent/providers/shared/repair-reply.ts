/**
 * Repairs the replies of models that write thinking into their text, or a namespace before the name of a tool. It wraps
 * every dialect, because any server may pass on such a reply.
 */

import type { Dialect } from '#agent/core/dialect.ts'
import type { AssistantMessage } from '#agent/core/message.ts'
import { encodeToolName } from './call-id.ts'
import { InlineThinkingReader, type ThinkingPiece } from './inline-thinking.ts'

export const repairReplies = (dialect: Dialect): Dialect => ({
  async call(request, endpoint, options) {
    const reader = new InlineThinkingReader((piece) => {
      if (piece.of === 'discarded') options.onTextDiscarded?.()
      else options.onDelta(piece)
    })
    const onDelta: typeof options.onDelta = (delta) => {
      if (delta.of === 'text') reader.push(delta.text)
      else options.onDelta(delta)
    }
    try {
      const reply = await dialect.call(request, endpoint, { ...options, onDelta })
      return { ...reply, message: renameCalls(separateThinking(reply.message), offeredNames(request.tools)) }
    } finally {
      reader.end()
    }
  },
})

type Tools = Parameters<Dialect['call']>[0]['tools']

/** By the list of tools, which the steps of a turn share. */
const knownNames = new WeakMap<Tools, ReadonlyMap<string, string>>()

/** Returns the names by themselves and as they are encoded: one of these may be the name of another tool. */
function offeredNames(tools: Tools): ReadonlyMap<string, string> {
  let offered = knownNames.get(tools)
  if (!offered) {
    const names = new Map(tools.map(({ name }) => [name, name]))
    for (const { name } of tools) names.set(encodeToolName(name), name)
    offered = names
    knownNames.set(tools, offered)
  }
  return offered
}

/** Thinking begins a reply, so only the first text can contain it. */
function separateThinking(message: AssistantMessage): AssistantMessage {
  const at = message.content.findIndex(({ type }) => type === 'text')
  const part = message.content[at]
  if (part?.type !== 'text' || !/[<[◁]/.test(part.text)) return message
  const pieces: ThinkingPiece[] = []
  const reader = new InlineThinkingReader((piece) => pieces.push(piece))
  reader.push(part.text)
  reader.end()
  const discardedAt = pieces.findLastIndex(({ of }) => of === 'discarded')
  const kept = pieces.slice(discardedAt + 1)
  const join = (of: 'text' | 'thinking') => kept.map((piece) => (piece.of === of ? piece.text : '')).join('')
  const [thinking, text] = [join('thinking'), join('text')]
  if (text === part.text) return message
  const content: AssistantMessage['content'] = [
    ...message.content.slice(0, at),
    ...(thinking ? [{ type: 'thinking', text: thinking } as const] : []),
    ...(text ? [{ ...part, text }] : []),
    ...message.content.slice(at + 1),
  ]
  return { ...message, content }
}

/** Namespaces and marks that models know from their training, such as OpenAI's, Google's and Llama's. */
const namespace = /^["'`<]?(?:to=)?(?:(?:functions?|tools?|default_api|assistant|call)(?:::|[.:/=_]))?/i
/** Kimi counts its calls; gpt-oss continues with a mark of its own format. */
const suffix = /(?::\d+|<\|.*|\(\)|["'`>])$/

/** A name that is offered stays, whatever it looks like. `offered`: the names by themselves and as they are encoded. */
function renameCalls(message: AssistantMessage, offered: ReadonlyMap<string, string>): AssistantMessage {
  const resolve = (name: string): string =>
    offered.get(name) ?? offered.get(name.trim().replace(suffix, '').replace(namespace, '')) ?? name
  const content = message.content.map((part) => {
    const name = part.type === 'call' ? resolve(part.name) : ''
    return part.type === 'call' && name !== part.name ? { ...part, name } : part
  })
  return content.every((part, at) => part === message.content[at]) ? message : { ...message, content }
}
