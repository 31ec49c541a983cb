/**
 * Hashes the messages of a request, so that the next request of the same conversation finds its session. Only
 * equal words of the same client have the same hash (docs/design/continuity.md).
 */

import { identityOf } from '#agent/core/permission/authority.ts'
import { squeeze } from '#durable/session/views/match-conversation.ts'
import type { RouteCall } from '../route.ts'
import { joinText } from './messages.ts'
import type { ChatRequest, ChatMessage } from './schema.ts'
import { sha256Base64 } from '#durable/platform/hash.ts'

export type ConversationHashes = {
  /** Of everything up to the last message of the user: the next request looks for it. */
  readonly own: () => Promise<string>
  /** Of everything up to the last message of the user that was answered, and what the client says the answer was. */
  readonly answered:
    | {
        readonly hash: () => Promise<string>
        readonly text: string
        readonly callIds: readonly string[]
        /** The session that the id of the answer names. */
        readonly sessionId?: string
      }
    | undefined
}

type Speaking = Pick<
  RouteCall<unknown, Pick<ChatRequest, 'user' | 'safety_identifier' | 'prompt_cache_key'>>,
  'authority' | 'body' | 'web'
>

export function hashConversation(call: Speaking, messages: readonly ChatMessage[]): ConversationHashes {
  const spoken = messages.filter(({ role }) => role !== 'system' && role !== 'developer')
  const salt = identify(call)
  const hashThrough = (index: number) => () =>
    sha256Base64(JSON.stringify([salt, spoken.slice(0, index + 1).flatMap((message) => normalize(message) ?? [])]))
  const answer = spoken.findLastIndex(({ role }) => role === 'assistant')
  const asked = spoken.slice(0, Math.max(answer, 0)).findLastIndex(({ role }) => role === 'user')
  const answers = spoken.slice(asked + 1).flatMap((message) => (message.role === 'assistant' ? [message] : []))
  return {
    own: hashThrough(spoken.findLastIndex(({ role }) => role === 'user')),
    answered:
      asked < 0
        ? undefined
        : {
            hash: hashThrough(asked),
            text: answers.map(({ content }) => squeeze(joinText(content))).join(''),
            callIds: answers.flatMap(({ tool_calls: calls }) => (calls ?? []).map(({ id }) => id)),
          },
  }
}

/** One key may have many users. What tells them apart is part of the hash. */
function identify({ authority, body, web }: Speaking) {
  const { user, safety_identifier: safetyIdentifier, prompt_cache_key: cacheKey } = body
  const headers = ['x-openwebui-user-id', 'x-openwebui-chat-id'].map((name) => web.req.header(name) ?? null)
  return [identityOf(authority.principal), user ?? null, safetyIdentifier ?? null, cacheKey ?? null, ...headers]
}

/** Undefined for an answer without content, which some clients leave out. */
function normalize(message: ChatMessage): unknown {
  if (message.role === 'tool') return ['tool', message.tool_call_id, squeeze(joinText(message.content))]
  if (message.role === 'assistant') {
    const ids = (message.tool_calls ?? []).map(({ id }) => id)
    const text = squeeze(joinText(message.content))
    return text || ids.length ? ['assistant', text, ids] : undefined
  }
  const content = (message.content ?? '') as string | readonly { readonly type: string; readonly text?: string }[]
  if (typeof content === 'string') return ['user', content.trim()]
  const isText = content.every(({ type }) => type === 'text')
  return [
    'user',
    isText
      ? content
          .map(({ text }) => text)
          .join('')
          .trim()
      : content,
  ]
}
