/** Checks the bodies for every provider that uses chat completions, with the quirks of its profile. */

import { describe, expect, it } from 'vitest'
import type { Quirks } from '#agent/core/dialect.ts'
import type { Message } from '#agent/core/message.ts'
import { providers } from '#agent/providers/profiles/providers.ts'
import { renderChatBody } from '#agent/providers/openai/chat.ts'
import { resolveRoute, type Variables } from '#agent/routing/route.ts'
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
/** Without those that want the same as another one. */
const distinctEndpoints = [...new Map(endpoints.map((one) => [JSON.stringify(one.slice(1)), one])).values()]

/** Fields of single providers that the strict validator does not accept. */
const providerFields = new Set(['cache_control', 'extra_content', 'reasoning_details', 'thinking', 'reasoning'])
const text = (body: Uint8Array): string => new TextDecoder().decode(body)
const removeProviderFields = (body: Uint8Array): unknown =>
  JSON.parse(text(body), (name, value: unknown) => (providerFields.has(name) ? undefined : value))

const findViolations = (quirks: Quirks, cache: '5m' | '1h' | undefined) =>
  Object.entries(requests).flatMap(([name, { request }]) =>
    findChatViolations(removeProviderFields(renderChatBody({ ...request, cache }, quirks))).map(
      (violation) => `${name}: ${violation}`,
    ),
  )

describe('a chat completion body', () => {
  it.each(endpoints)('for %s is valid for a strict server', (_id, quirks, cache) => {
    expect(findViolations(quirks, cache)).toEqual([])
  })

  it('for a growing conversation equals that for a new one, with every profile', () => {
    const messages = Object.values(requests).flatMap(({ request }) => request.transcript)
    for (const [, quirks, cache] of distinctEndpoints) {
      const transcript: Message[] = []
      for (const [at, message] of messages.entries()) {
        transcript.push(message)
        // Tool results of one batch are added together.
        if (messages[at + 1]?.role === 'tool') continue
        const request = { model: 'm', system: 'Be kind.', tools: [], cache, transcript }
        const fresh = renderChatBody({ ...request, transcript: [...transcript] }, quirks)
        expect(text(renderChatBody(request, quirks))).toBe(text(fresh))
      }
    }
  })
})
