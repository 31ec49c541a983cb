/**
 * Speaks the REST API of Mem0, version 3 (docs.mem0.ai/api-reference): hybrid search before a turn, and adding a turn from
 * which the service extracts facts by itself. Not verified against the live service.
 */

import * as z from 'zod'
import type { MemoryProvider, MemorySubject } from '#agent/core/recall/memory-provider.ts'

/** Sends a POST request. The caller guards its address and limits its time and size. */
export type PostJson = (request: {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly signal: AbortSignal
}) => Promise<{ readonly status: number; readonly text: string }>

export type MemoryServiceOptions = { readonly baseUrl: string; readonly key: string; readonly post: PostJson }

export const mem0BaseUrl = 'https://api.mem0.ai'

const maxMemories = 10
/** The service searches by meaning: more of a long message does not find more. */
const maxQueryChars = 2_000
const maxTurnChars = 20_000
const maxErrorChars = 300

const results = z.object({ results: z.array(z.object({ memory: z.string() })) })

export function createMem0({ baseUrl, key, post }: MemoryServiceOptions): MemoryProvider {
  async function send(path: string, body: object, signal: AbortSignal): Promise<unknown> {
    const headers = { authorization: `Token ${key}`, 'content-type': 'application/json', accept: 'application/json' }
    const url = `${baseUrl.replace(/\/+$/, '')}${path}`
    const { status, text } = await post({ url, headers, body: JSON.stringify(body), signal })
    if (status >= 300) throw new Error(`Mem0 answered ${status}: ${text.slice(0, maxErrorChars)}`)
    return text ? (JSON.parse(text) as unknown) : undefined
  }
  return {
    name: 'mem0',
    recall: async (query, { userId }, signal) => {
      const search = { query: query.slice(0, maxQueryChars), filters: { user_id: userId }, top_k: maxMemories }
      const found = results.safeParse(await send('/v3/memories/search/', search, signal))
      if (!found.success) throw new Error('Mem0 answered a search in an unknown form.')
      return found.data.results.map(({ memory }) => memory)
    },
    store: async ({ user, assistant }, subject, signal) => {
      const messages = [
        { role: 'user', content: user.slice(0, maxTurnChars) },
        { role: 'assistant', content: assistant.slice(0, maxTurnChars) },
      ]
      await send('/v3/memories/add/', { messages, ...identify(subject) }, signal)
    },
  }
}

/** The session only marks where a fact comes from: a search without it finds the facts of all sessions. */
const identify = ({ userId, sessionId }: MemorySubject) => ({ user_id: userId, metadata: { session_id: sessionId } })
