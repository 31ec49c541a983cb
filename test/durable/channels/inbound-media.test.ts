import { describe, expect, it, onTestFinished } from 'vitest'
import { fetchMediaFrom } from '#channels/fetch-media.ts'
import { InboundMedia } from '#durable/channels/chat-outbox.ts'
import { createGuardedFetch } from '#durable/platform/guarded-fetch.ts'
import { replaceClock } from '#durable/platform/clock.ts'
import type { LoadedConnection } from '#durable/tenant/channels/connection.ts'
import { bindings } from '../../worker/client.ts'

/** Fetches a file of at most 1000 bytes from a host with these answers. No pause takes time. */
async function fetchFile(answers: readonly (() => Response)[]) {
  let sent = 0
  const guardedFetch = createGuardedFetch(bindings, {
    send: async () => answers[Math.min(sent++, answers.length - 1)]?.() ?? new Response(null, { status: 404 }),
  })
  replaceClock({ now: () => Date.now(), wait: async () => undefined, schedule: () => () => undefined })
  onTestFinished(() => replaceClock())
  const connection = {
    fetchForeign: async (request) => (await guardedFetch({ ...request, follow: true })).response,
    channel: { fetchMedia: (from, { reference }) => fetchMediaFrom(from, { url: reference }, 1_000) },
  } satisfies { fetchForeign: LoadedConnection['fetchForeign']; channel: Partial<LoadedConnection['channel']> }
  const media = new InboundMedia({
    env: bindings,
    tenantId: 'default',
    sessionId: 's',
    loadConnection: async () => connection as unknown as LoadedConnection,
  })
  const origin = { connection: 'c', platform: 'discord', isGroup: false, chat: '1' }
  const fetched = await media.fetch(origin, { kind: 'document', reference: 'https://files.example.com/a' })
  return { sent, fetched }
}

const bytes = (size: number) => () => new Response(new Uint8Array(size))
const status = (code: number) => () => new Response(null, { status: code })

describe('a file of a message', () => {
  it.each([
    ['is fetched', [bytes(1_000)], 1, { kind: 'fetched' }],
    [
      'is given up at once when it is too large',
      [bytes(1_001)],
      1,
      { detail: 'more than 1000 bytes', canRetry: false },
    ],
    ['is given up at once when it does not exist', [status(404)], 1, { detail: 'HTTP 404 for the file' }],
    ['is tried three times', [status(500)], 3, { detail: 'HTTP 500 for the file', canRetry: true }],
    ['may arrive at the second attempt', [status(429), bytes(1)], 2, { kind: 'fetched' }],
  ])('%s', async (_name, answers, attempts, expected) => {
    const { sent, fetched } = await fetchFile(answers)
    expect(sent).toBe(attempts)
    expect(fetched).toMatchObject(expected)
  })
})
