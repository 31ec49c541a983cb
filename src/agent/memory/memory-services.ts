/**
 * Speaks the REST APIs of memory services: Supermemory (v4 search, v3 documents), Hindsight (banks of a person), Honcho
 * (v3, peers and representations), and a plain form for a service of your own. None is verified live.
 */

import * as z from 'zod'
import type {
  MemoryProvider,
  MemoryProviderName,
  MemorySubject,
  RememberedTurn,
} from '#agent/core/recall/memory-provider.ts'
import { createMem0, mem0BaseUrl, type MemoryServiceOptions } from './mem0.ts'

const maxMemories = 10
/** The services search by meaning: more of a long message does not find more. */
const maxQueryChars = 2_000
const maxTurnChars = 20_000
const maxErrorChars = 300
const recallTokens = 1_024

type Service = {
  /** Absent: the setting or the deployment names the address. */
  readonly baseUrl?: string
  readonly create: (options: MemoryServiceOptions) => MemoryProvider
}

const services: Readonly<Record<MemoryProviderName, Service>> = {
  mem0: { baseUrl: mem0BaseUrl, create: createMem0 },
  supermemory: { baseUrl: 'https://api.supermemory.ai', create: createSupermemory },
  hindsight: { baseUrl: 'https://api.hindsight.vectorize.io', create: createHindsight },
  honcho: { baseUrl: 'https://api.honcho.dev', create: createHoncho },
  http: { create: createPlain },
}

/** Undefined when the service has no address. */
export function createMemoryProvider(
  name: MemoryProviderName,
  {
    baseUrl = services[name].baseUrl,
    ...options
  }: Omit<MemoryServiceOptions, 'baseUrl'> & { readonly baseUrl?: string },
): MemoryProvider | undefined {
  return baseUrl === undefined ? undefined : services[name].create({ ...options, baseUrl })
}

const text = z.string().nullish()

function createSupermemory(options: MemoryServiceOptions): MemoryProvider {
  const send = createSender('Supermemory', options)
  const answer = z.object({ results: z.array(z.object({ memory: text, chunk: text })) })
  return {
    name: 'supermemory',
    recall: async (query, { userId }, signal) => {
      const search = { q: limitQuery(query), containerTag: userId, searchMode: 'hybrid', limit: maxMemories }
      const { results } = read(answer, await send({ path: '/v4/search', body: search, signal }))
      return results.map(({ memory, chunk }) => memory ?? chunk ?? '').filter(Boolean)
    },
    store: async (turn, { userId, sessionId }, signal) => {
      const document = { content: renderTurn(turn), containerTag: userId, metadata: { session_id: sessionId } }
      await send({ path: '/v3/documents', body: document, signal })
    },
  }
}

function createHindsight(options: MemoryServiceOptions): MemoryProvider {
  const send = createSender('Hindsight', options)
  const answer = z.object({ results: z.array(z.object({ text: z.string() })) })
  const bank = ({ userId }: MemorySubject) => `/v1/default/banks/${userId}/memories`
  return {
    name: 'hindsight',
    recall: async (query, subject, signal) => {
      const body = { query: limitQuery(query), budget: 'low', max_tokens: recallTokens }
      // A person who has said nothing yet has no bank.
      const found = await send({ path: `${bank(subject)}/recall`, body, signal, mayBeMissing: true })
      return found === undefined ? [] : read(answer, found).results.map((one) => one.text)
    },
    store: async (turn, subject, signal) => {
      const items = [{ content: renderTurn(turn), context: `conversation ${subject.sessionId}` }]
      await send({ path: bank(subject), body: { items, async: true }, signal })
    },
  }
}

const honchoWorkspace = 'talaria'
const honchoAgent = 'talaria_agent'

function createHoncho(options: MemoryServiceOptions): MemoryProvider {
  const send = createSender('Honcho', options)
  const answer = z.object({ representation: z.string() })
  const workspace = `/v3/workspaces/${honchoWorkspace}`
  return {
    name: 'honcho',
    recall: async (query, { userId }, signal) => {
      const body = { search_query: limitQuery(query), search_top_k: maxMemories }
      const path = `${workspace}/peers/${userId}/representation`
      const found = await send({ path, body, signal, mayBeMissing: true })
      const lines = found === undefined ? [] : read(answer, found).representation.split('\n')
      return lines.map((line) => line.replace(/^[-*]\s+/, '').trim()).filter((line) => line && !line.startsWith('#'))
    },
    store: async ({ user, assistant }, { userId, sessionId }, signal) => {
      await send({ path: '/v3/workspaces', body: { id: honchoWorkspace }, signal })
      await send({ path: `${workspace}/sessions`, body: { id: sessionId }, signal })
      const messages = [
        { peer_id: userId, content: user.slice(0, maxTurnChars) },
        { peer_id: honchoAgent, content: assistant.slice(0, maxTurnChars) },
      ]
      await send({ path: `${workspace}/sessions/${sessionId}/messages`, body: { messages }, signal })
    },
  }
}

/** The form that a service of your own speaks (docs/design/memory.md). */
function createPlain(options: MemoryServiceOptions): MemoryProvider {
  const send = createSender('The memory service', options)
  const answer = z.object({ memories: z.array(z.string()) })
  const identify = ({ userId, sessionId }: MemorySubject) => ({ user_id: userId, session_id: sessionId })
  return {
    name: 'http',
    recall: async (query, subject, signal) => {
      const body = { query: limitQuery(query), limit: maxMemories, ...identify(subject) }
      return read(answer, await send({ path: '/recall', body, signal })).memories.slice(0, maxMemories)
    },
    store: async ({ user, assistant }, subject, signal) => {
      const messages = [
        { role: 'user', content: user.slice(0, maxTurnChars) },
        { role: 'assistant', content: assistant.slice(0, maxTurnChars) },
      ]
      await send({ path: '/store', body: { messages, ...identify(subject) }, signal })
    },
  }
}

type Sending = {
  readonly path: string
  readonly body: object
  readonly signal: AbortSignal
  /** 404 means that there is nothing, and is answered with undefined. */
  readonly mayBeMissing?: boolean
}

const createSender =
  (name: string, { baseUrl, key, post }: MemoryServiceOptions) =>
  async ({ path, body, signal, mayBeMissing = false }: Sending): Promise<unknown> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', accept: 'application/json' }
    const url = `${baseUrl.replace(/\/+$/, '')}${path}`
    const { status, text: answer } = await post({ url, headers, body: JSON.stringify(body), signal })
    if (status === 404 && mayBeMissing) return undefined
    if (status >= 300) throw new Error(`${name} answered ${status}: ${answer.slice(0, maxErrorChars)}`)
    return answer ? (JSON.parse(answer) as unknown) : undefined
  }

function read<T>(schema: z.ZodType<T>, answer: unknown): T {
  const parsed = schema.safeParse(answer)
  if (!parsed.success) throw new Error('A memory service answered a search in an unknown form.')
  return parsed.data
}

const limitQuery = (query: string): string => query.slice(0, maxQueryChars)

const renderTurn = ({ user, assistant }: RememberedTurn): string =>
  `user: ${user.slice(0, maxTurnChars)}\nassistant: ${assistant.slice(0, maxTurnChars)}`
