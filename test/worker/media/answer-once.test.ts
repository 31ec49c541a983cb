/** Tests `Idempotency-Key` of paid requests: a repeat gets the kept answer, and no vendor is called again. */

import { SELF } from 'cloudflare:test'
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { replaceClock } from '#durable/platform/clock.ts'
import { mp3Bytes, pngBytes } from '../../backends/media/fixtures.ts'
import { createSkippingClock } from '../../support/clock.ts'
import { vendors } from '../../support/media-vendors.ts'
import { Gate, until } from '../../support/scripted-model.ts'
import { applyMigrations, bindings, newTenant } from '../client.ts'

beforeAll(applyMigrations)
afterEach(() => replaceClock())

const image = encodeBase64Bytes(pngBytes('made'))
beforeEach(() =>
  vendors.begin(({ url }) => {
    if (url.includes('/images/')) return Response.json({ data: [{ b64_json: image }] })
    return url.endsWith('/audio/speech') ? new Response(mp3Bytes('spoken')) : Response.json({ text: 'Hello.' })
  }),
)

type Body = Record<string, unknown> | FormData

function send(key: string, path: string, body: Body, idempotencyKey = 'order-1'): Promise<Response> {
  const isForm = body instanceof FormData
  const headers = {
    authorization: `Bearer ${key}`,
    'idempotency-key': idempotencyKey,
    ...(!isForm && { 'content-type': 'application/json' }),
  }
  return SELF.fetch(`https://talaria.test/v1/${path}`, {
    method: 'POST',
    headers,
    body: isForm ? body : JSON.stringify(body),
  })
}

function formOf(name: string, bytes: Uint8Array<ArrayBuffer>, prompt = 'x'): FormData {
  const form = new FormData()
  form.set('prompt', prompt)
  form.set('model', 'gpt-4o-mini-transcribe')
  form.set(name, new File([bytes], 'a'))
  return form
}

const shown = async (answer: Response) => [answer.status, new Uint8Array(await answer.arrayBuffer())] as const
const replayed = (answer: Response) => answer.headers.get('idempotency-replayed')

const requests: readonly (readonly [path: string, make: (text: string) => Body])[] = [
  ['images/generations', (prompt) => ({ prompt })],
  ['audio/speech', (input) => ({ model: 'tts-1', voice: 'alloy', input })],
  // Each form has a boundary of its own.
  ['images/edits', (prompt) => formOf('image', pngBytes('in'), prompt)],
  ['audio/transcriptions', (prompt) => formOf('file', mp3Bytes(), prompt)],
]

it.each(requests)('%s: a repeat gets the same answer, and another body is a conflict', async (path, make) => {
  const { key } = await newTenant()
  const first = await send(key, path, make('one'))
  const again = await send(key, path, make('one'))
  expect([replayed(first), replayed(again)]).toEqual([null, 'true'])
  expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'))
  expect(await shown(again)).toEqual(await shown(first))
  expect((await send(key, path, make('two'))).status).toBe(409)
  expect(vendors.calls).toHaveLength(1)
  expect((await send(key, path, make('one'), 'order-2')).status).toBe(200)
  expect(vendors.calls).toHaveLength(2)
})

it('other bytes of a file are another body', async () => {
  const { key } = await newTenant()
  expect((await send(key, 'audio/transcriptions', formOf('file', mp3Bytes('one')))).status).toBe(200)
  expect((await send(key, 'audio/transcriptions', formOf('file', mp3Bytes('two')))).status).toBe(409)
})

it('a repeat waits for the first request', async () => {
  const { key } = await newTenant()
  const answering = new Gate()
  vendors.begin(async () => {
    await answering.waitUntilOpen()
    return Response.json({ data: [{ b64_json: image }] })
  })
  const body = { prompt: 'a fox' }
  const first = send(key, 'images/generations', body)
  await answering.waitUntilReached()
  const again = send(key, 'images/generations', body)
  answering.open()
  expect(await shown(await again)).toEqual(await shown(await first))
  expect(vendors.calls).toHaveLength(1)
})

it('a refusal gives the key back, and an answer that may be paid is kept', async () => {
  const { key } = await newTenant()
  const body = { prompt: 'a fox' }
  for (const [vendor, status] of [
    [400, 400],
    [503, 502],
  ] as const) {
    vendors.begin(() => Response.json({ error: { message: 'no' } }, { status: vendor }))
    expect((await send(key, 'images/generations', body)).status).toBe(status)
  }
  vendors.begin(() => Promise.reject(new Error('connection lost')))
  const lost = await send(key, 'images/generations', body)
  const again = await send(key, 'images/generations', body)
  expect([lost.status, again.status, replayed(again), again.headers.get('x-should-retry')]).toEqual([
    502,
    502,
    'true',
    'false',
  ])
  expect(await shown(again)).toEqual(await shown(lost))
  expect(vendors.calls).toHaveLength(1)
})

it('an answer that is lost is not bought again', async () => {
  const clock = createSkippingClock()
  replaceClock(clock)
  const { id, key } = await newTenant()
  const body = { prompt: 'a fox' }
  expect((await send(key, 'images/generations', body)).status).toBe(200)
  const prefix = `t/${id}/answers/`
  const { objects } = await bindings.BLOBS!.list({ prefix })
  await bindings.BLOBS!.delete(objects.map((object) => object.key))
  const asked = send(key, 'images/generations', body)
  const answer = await until(async () => {
    clock.pass(2_000)
    const settled = await Promise.race([asked, scheduler.wait(10)])
    return settled instanceof Response ? settled : undefined
  })
  expect([answer.status, answer.headers.get('x-should-retry'), vendors.calls.length]).toEqual([409, 'false', 1])
})

it('answers are deleted when their keys have expired', async () => {
  const clock = createSkippingClock()
  replaceClock(clock)
  const { id, key } = await newTenant()
  const kept = async () => (await bindings.BLOBS!.list({ prefix: `t/${id}/answers/` })).objects.length
  await send(key, 'images/generations', { prompt: 'one' }, 'one')
  clock.pass(71 * 3_600_000)
  await send(key, 'images/generations', { prompt: 'two' }, 'two')
  expect(await kept()).toBe(2)
  clock.pass(2 * 3_600_000)
  await send(key, 'images/generations', { prompt: 'three' }, 'three')
  await until(async () => (await kept()) < 3)
})
