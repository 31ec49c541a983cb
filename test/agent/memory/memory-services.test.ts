/** Tests memory services against stand-ins that answer as their references document. */

import { describe, expect, it } from 'vitest'
import { createMemoryProvider } from '#agent/memory/memory-services.ts'
import type { MemoryProviderName } from '#agent/core/recall/memory-provider.ts'

const signal = new AbortController().signal
const subject = { userId: 'talaria_1', sessionId: 'ses_1' }
const turn = { user: 'I moved to Austin.', assistant: 'Noted.' }

type Sent = { readonly url: string; readonly body: unknown; readonly authorization: string | undefined }

function connect(
  name: MemoryProviderName,
  answers: Readonly<Record<string, readonly [status: number, body: unknown]>>,
) {
  const sent: Sent[] = []
  const provider = createMemoryProvider(name, {
    key: 'k1',
    ...(name === 'http' && { baseUrl: 'https://memory.example.com/' }),
    post: async ({ url, headers, body }) => {
      sent.push({ url, body: JSON.parse(body) as unknown, authorization: headers['authorization'] })
      const [status, answer] = answers[new URL(url).pathname] ?? [200, {}]
      return { status, text: JSON.stringify(answer) }
    },
  })
  return { provider: provider!, sent, bodies: () => sent.map(({ url, body }) => [url, body]) }
}

describe('a memory service', () => {
  it('Supermemory: finds memories and chunks of one container, and stores a turn as a document', async () => {
    const results = [
      { id: 'mem_1', memory: 'Lives in Austin.', similarity: 0.91, version: 1 },
      { id: 'chunk_1', chunk: 'Austin is warm.', similarity: 0.8 },
    ]
    const { provider, bodies, sent } = connect('supermemory', { '/v4/search': [200, { results, total: 2 }] })
    expect(await provider.recall('Where?', subject, signal)).toEqual(['Lives in Austin.', 'Austin is warm.'])
    await provider.store(turn, subject, signal)
    expect(bodies()).toEqual([
      [
        'https://api.supermemory.ai/v4/search',
        { q: 'Where?', containerTag: 'talaria_1', searchMode: 'hybrid', limit: 10 },
      ],
      [
        'https://api.supermemory.ai/v3/documents',
        {
          content: 'user: I moved to Austin.\nassistant: Noted.',
          containerTag: 'talaria_1',
          metadata: { session_id: 'ses_1' },
        },
      ],
    ])
    expect(sent[0]?.authorization).toBe('Bearer k1')
  })

  it('Hindsight: recalls from the bank of the person, which may not exist yet', async () => {
    const path = '/v1/default/banks/talaria_1/memories'
    const results = [{ id: 'a1', text: 'Lives in Austin.', type: 'world', entities: [] }]
    const { provider, bodies } = connect('hindsight', { [`${path}/recall`]: [200, { results }] })
    expect(await provider.recall('Where?', subject, signal)).toEqual(['Lives in Austin.'])
    await provider.store(turn, subject, signal)
    expect(bodies()[1]).toEqual([
      `https://api.hindsight.vectorize.io${path}`,
      {
        items: [{ content: 'user: I moved to Austin.\nassistant: Noted.', context: 'conversation ses_1' }],
        async: true,
      },
    ])
    const fresh = connect('hindsight', { [`${path}/recall`]: [404, { detail: 'Bank not found' }] })
    expect(await fresh.provider.recall('Where?', subject, signal)).toEqual([])
  })

  it('Honcho: reads the representation of a peer, and adds both messages to the session', async () => {
    const representation = '## Explicit Observations\n\n- Lives in Austin.\n- Has a dog.\n'
    const path = '/v3/workspaces/talaria/peers/talaria_1/representation'
    const { provider, bodies } = connect('honcho', { [path]: [200, { representation }] })
    expect(await provider.recall('Where?', subject, signal)).toEqual(['Lives in Austin.', 'Has a dog.'])
    await provider.store(turn, subject, signal)
    expect(bodies().slice(1)).toEqual([
      ['https://api.honcho.dev/v3/workspaces', { id: 'talaria' }],
      ['https://api.honcho.dev/v3/workspaces/talaria/sessions', { id: 'ses_1' }],
      [
        'https://api.honcho.dev/v3/workspaces/talaria/sessions/ses_1/messages',
        {
          messages: [
            { peer_id: 'talaria_1', content: 'I moved to Austin.' },
            { peer_id: 'talaria_agent', content: 'Noted.' },
          ],
        },
      ],
    ])
  })

  it('of your own: is asked in the documented form', async () => {
    const { provider, bodies } = connect('http', { '/recall': [200, { memories: ['Lives in Austin.'] }] })
    expect(await provider.recall('Where?', subject, signal)).toEqual(['Lives in Austin.'])
    await provider.store(turn, subject, signal)
    expect(bodies()).toEqual([
      ['https://memory.example.com/recall', { query: 'Where?', limit: 10, user_id: 'talaria_1', session_id: 'ses_1' }],
      [
        'https://memory.example.com/store',
        {
          messages: [
            { role: 'user', content: 'I moved to Austin.' },
            { role: 'assistant', content: 'Noted.' },
          ],
          user_id: 'talaria_1',
          session_id: 'ses_1',
        },
      ],
    ])
    expect(createMemoryProvider('http', { key: 'k', post: async () => ({ status: 200, text: '' }) })).toBeUndefined()
  })

  it.each([
    ['supermemory', '/v4/search'],
    ['hindsight', '/v1/default/banks/talaria_1/memories/recall'],
    ['honcho', '/v3/workspaces/talaria/peers/talaria_1/representation'],
    ['http', '/recall'],
  ] as const)('%s: rejects for a failure and an answer in another form', async (name, path) => {
    const failing = connect(name, { [path]: [503, { error: 'down' }] })
    await expect(failing.provider.recall('x', subject, signal)).rejects.toThrow(/503/)
    const odd = connect(name, { [path]: [200, { other: [] }] })
    await expect(odd.provider.recall('x', subject, signal)).rejects.toThrow(/unknown form/)
  })
})
