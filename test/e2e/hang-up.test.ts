/** Tests that a client that goes away stops its turn: the model server sees its connection closed, and no tool begins. */

import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { listModelRequests, owner, server } from './support/here.ts'

const now = () => Number(process.hrtime.bigint()) / 1e6

/** Sends a streamed request, and goes away after so many chunks that contain `text`. */
async function leaveAfter(path: string, body: object, { chunks, text }: { chunks: number; text: string }) {
  const controller = new AbortController()
  const response = await fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'talaria', stream: true, ...body }),
    signal: controller.signal,
  })
  const decoder = new TextDecoder()
  let seen = ''
  for await (const bytes of response.body ?? []) {
    seen += decoder.decode(bytes, { stream: true })
    if (seen.split(text).length > chunks) break
  }
  controller.abort()
  return { leftAt: now(), session: response.headers.get('x-talaria-session-id') ?? '', run: runOf(response) }
}
const runOf = (response: Response) => response.headers.get('x-talaria-run-id') ?? ''

async function endOf(run: string) {
  for (;;) {
    const { json } = await owner.get(`/v1/runs/${run}`)
    if (json.exit_reason !== null) return json
    await delay(20)
  }
}

/** Waits until the model server sees the connection closed, at most two seconds after the client has left. */
async function listCutRequests(nonce: string, leftAt: number) {
  for (;;) {
    const requests = (await listModelRequests(nonce)) as readonly { readonly cut?: true }[]
    if (requests[0]?.cut) return requests
    expect(now() - leftAt).toBeLessThan(2_000)
    await delay(20)
  }
}

it.each([
  ['/v1/chat/completions', (content: string) => ({ messages: [{ role: 'user', content }] }), '"content":"'],
  ['/v1/responses', (input: string) => ({ input }), 'event: response.output_text.delta'],
])('stops the call of the model within two seconds: %s', async (path, bodyOf, text) => {
  const nonce = randomUUID()
  const body = bodyOf(`[[slow gap=60 chunks=400 nonce=${nonce}]]`)
  const { leftAt, session, run } = await leaveAfter(path, body, { chunks: 8, text })
  expect(await endOf(run)).toMatchObject({ status: 'cancelled', exit_reason: 'stopped' })
  expect(await listCutRequests(nonce, leftAt)).toHaveLength(1)
  const [asked, answer] = await owner.messages(session)
  expect([asked?.role, answer?.role]).toEqual(['user', 'assistant'])
  expect(String(answer?.content)).toContain('word6')
  // The same request again is a new run.
  const again = await owner.post(
    path,
    { ...bodyOf('[[say again]]'), model: 'talaria' },
    { 'x-stainless-retry-count': '1' },
  )
  expect(again.status).toBe(200)
})

it('ends a tool that prints nothing, and lets no further one begin', async () => {
  const nonce = randomUUID()
  const content = `[[call terminal {"command":"sleep 30"} then write_file {"path":"after.txt","content":"no"} then say x]] [[usage prompt=5 nonce=${nonce}]]`
  const body = { messages: [{ role: 'user', content }] }
  const { leftAt, session, run } = await leaveAfter('/v1/chat/completions', body, {
    chunks: 1,
    text: '"status":"running"',
  })
  expect(await endOf(run)).toMatchObject({ status: 'cancelled' })
  expect(now() - leftAt).toBeLessThan(4_000)
  expect(await listModelRequests(nonce)).toHaveLength(1)
  expect((await owner.get(`/api/sessions/${session}/files/after.txt`)).status).toBe(404)
})

it.each([
  ['/v1/chat/completions', (content: string) => ({ messages: [{ role: 'user', content }] })],
  ['/v1/responses', (input: string) => ({ input })],
])('stops the call of the model within two seconds without a stream: %s', async (path, bodyOf) => {
  const nonce = randomUUID()
  const controller = new AbortController()
  const answer = fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'talaria', ...bodyOf(`[[slow gap=60 chunks=400 nonce=${nonce}]]`) }),
    signal: controller.signal,
  })
  while ((await listModelRequests(nonce)).length === 0) await delay(20)
  controller.abort()
  const leftAt = now()
  await expect(answer).rejects.toThrow('abort')
  expect(await listCutRequests(nonce, leftAt)).toHaveLength(1)
})
