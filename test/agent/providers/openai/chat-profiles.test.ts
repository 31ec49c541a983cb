/** Checks the bodies for every provider that uses chat completions, with the quirks of its profile. */

import { describe, expect, it } from 'vitest'
import type { Quirks } from '../../../../src/agent/model/dialect.ts'
import type { Message } from '../../../../src/agent/model/message.ts'
import { providers } from '../../../../src/agent/providers/profiles/providers.ts'
import { renderChatBody } from '../../../../src/agent/providers/openai/chat.ts'
import { resolveRoute, type Variables } from '../../../../src/agent/routing/route.ts'
import { findChatViolations } from '../fakes/openai-chat.ts'
import { requests } from '../support/requests.ts'

const variables: Variables = new Proxy(
  {},
  { get: (_set, name) => (String(name).endsWith('_BASE_URL') ? 'https://here.example/v1' : 'key') },
)
/** One model of each family in the rules or the catalog, and an unknown one. */
const names = [
  'gpt-4.1',
  'gpt-5.4',
  'claude-opus-4.8',
  'kimi-k2.6',
  'gemini-3.5-flash',
  'qwen3-max',
  'deepseek-v4-pro',
  'x',
]
const endpoints = providers.flatMap(({ id }) =>
  names.flatMap((name) => {
    const route = resolveRoute(`${id}/${name}`, { variables })
    return route?.dialect === 'openai-chat' ? [[route.id, route.endpoints[0]?.quirks ?? {}, route.cache] as const] : []
  }),
)

/** Fields of single providers that the strict validator does not accept. */
const own = new Set(['cache_control', 'extra_content', 'reasoning_details', 'thinking', 'reasoning'])
const text = (body: Uint8Array): string => new TextDecoder().decode(body)
const standard = (body: Uint8Array): unknown =>
  JSON.parse(text(body), (name, value: unknown) => (own.has(name) ? undefined : value))

const faultsOf = (quirks: Quirks, cache: '5m' | '1h' | undefined) =>
  Object.entries(requests).flatMap(([name, { request }]) =>
    findChatViolations(standard(renderChatBody({ ...request, cache }, quirks))).map((fault) => `${name}: ${fault}`),
  )

describe('a chat completion body', () => {
  it.each(endpoints)('for %s is valid for a strict server', (_id, quirks, cache) => {
    expect(faultsOf(quirks, cache)).toEqual([])
  })

  it('for a growing conversation equals that for a new one, with every profile', () => {
    const long = Object.values(requests).flatMap(({ request }) => request.transcript)
    for (const [, quirks, cache] of endpoints) {
      const grown: Message[] = []
      for (const [at, message] of long.entries()) {
        grown.push(message)
        // Tool results of one batch are added together.
        if (long[at + 1]?.role === 'tool') continue
        const request = { model: 'm', system: 'Be kind.', tools: [], cache, transcript: grown }
        const fresh = renderChatBody({ ...request, transcript: [...grown] }, quirks)
        expect(text(renderChatBody(request, quirks))).toBe(text(fresh))
      }
    }
  })
})
