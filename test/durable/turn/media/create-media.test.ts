/** Tests images and speech in a turn: stored, attached, billed, and bought once whatever happens. */

import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { replaceClock } from '#durable/platform/clock.ts'
import { mp3Bytes, opusBytes, pngBytes } from '#test/backends/media/fixtures.ts'
import { createSkippingClock } from '#test/support/clock.ts'
import { sentTo, vendors } from '#test/support/media-vendors.ts'
import { outage } from '#test/support/outage.ts'
import { calls, Gate, listTexts, model, type Model, says, until } from '#test/support/scripted-model.ts'
import { applyMigrations, bindings, call, newSession, newTenant, request } from '#test/worker/client.ts'
import type { Run } from '#test/worker/listen.ts'
import { fireAlarm, inObject, kill } from '../../support/object.ts'

beforeAll(applyMigrations)

const image = encodeBase64Bytes(pngBytes('a fox'))
beforeEach(() => vendors.begin(() => Response.json({ data: [{ b64_json: image }] })))
afterEach(() => {
  outage.restore()
  replaceClock()
})

const draw = calls({ name: 'image_generate', input: { prompt: 'A red fox, sitting' } })
type Result = { readonly success: boolean; readonly path: string; readonly [more: string]: unknown }

const resultIn = ({ requests }: Model, nth = 1): Result => {
  const last = requests[nth]?.messages.findLast(({ role }) => role === 'tool')
  const text = JSON.stringify(last?.content)
  return JSON.parse((JSON.parse(text) as string).replace(/^[^{]*/, '')) as Result
}

const chat = (id: string, input = 'Draw a fox.', key?: string) =>
  call<Run>('POST', `/api/sessions/${id}/chat`, { body: { input }, ...(key !== undefined && { key }) })

const storedImages = async (mark = 'a fox') => {
  const { objects = [] } = (await bindings.BLOBS?.list({ prefix: 't/default/media/' })) ?? {}
  const bodies = await Promise.all(objects.map(async ({ key }) => (await bindings.BLOBS?.get(key))?.text()))
  return bodies.filter((body) => body?.endsWith(mark)).length
}

describe('an image', () => {
  it('is in R2 and the workspace, attached to the answer, billed to the run, and readable by its link', async () => {
    const scripted = model([draw, says('Here it is.')])
    const { id } = await newSession({ model: scripted.id })
    const { body: run } = await chat(id)
    const [file] = run['attachments'] as readonly Record<string, string>[]
    expect(run['attachments']).toEqual([
      {
        path: expect.stringMatching(/^media\/a-red-fox-sitting-[0-9a-f]{8}\.png$/),
        mime: 'image/png',
        bytes: 13,
        url: expect.stringMatching(/^\/files\//),
      },
    ])
    const result = resultIn(scripted)
    expect(result).toMatchObject({
      success: true,
      path: file?.['path'],
      mime: 'image/png',
      bytes: 13,
      model: 'openai/gpt-image-2',
    })
    // The model gets the whole link too: people ask it where the file is.
    const ofResult = await request('GET', String(result['url']), { key: null })
    expect(new Uint8Array(await ofResult.arrayBuffer())).toEqual(pngBytes('a fox'))
    const linked = await request('GET', file?.['url'] ?? '', { key: null })
    expect([linked.headers.get('content-type'), new Uint8Array(await linked.arrayBuffer())]).toEqual([
      'image/png',
      pngBytes('a fox'),
    ])
    const [head, part] = await Promise.all([
      request('HEAD', file?.['url'] ?? '', { key: null }),
      request('GET', file?.['url'] ?? '', { key: null, headers: { range: 'bytes=1-3' } }),
    ])
    expect([head.status, head.headers.get('content-type'), await head.text(), part.status, await part.text()]).toEqual([
      200,
      'image/png',
      '',
      206,
      'PNG',
    ])
    expect(await storedImages()).toBe(1)
    expect(run['usage_by_model']).toMatchObject([{ task: null }, { task: 'image', calls: 1, cost_usd: 0.0795 }])
    expect(sentTo('/images/')).toEqual([{ model: 'gpt-image-2', prompt: 'A red fox, sitting', size: '1536x1024' }])
    await call('DELETE', `/api/sessions/${id}`)
    expect(await storedImages()).toBe(0)
  })

  it('is edited from files of the workspace', async () => {
    const edit = calls({ name: 'image_generate', input: { prompt: 'bluer', image_url: 'in.png' } })
    const scripted = model([edit, says('Done.')])
    const { id } = await newSession({ model: scripted.id })
    await request('PUT', `/api/sessions/${id}/files/in.png`, { body: pngBytes('in') })
    await chat(id)
    const [sent] = vendors.calls
    expect(sent?.url).toBe('https://model.test/v1/images/edits')
    const file = sent?.form?.get('image[]') as File | undefined
    expect(new Uint8Array((await file?.arrayBuffer()) ?? new ArrayBuffer())).toEqual(pngBytes('in'))
  })

  it.each(['http://169.254.169.254/a.png', 'file:///etc/passwd', 'data:image/png;base64,iVBORw0KGgo=', 'missing.png'])(
    'is not made from %s, and nothing is bought',
    async (source) => {
      const edit = calls({ name: 'image_generate', input: { prompt: 'bluer', image_url: source } })
      const scripted = model([edit, says('No.')])
      const { id } = await newSession({ model: scripted.id })
      await chat(id)
      expect(resultIn(scripted)).toMatchObject({ success: false, error_type: 'refused' })
      expect(vendors.calls).toHaveLength(0)
    },
  )

  it('that the vendor refuses costs nothing, and the model learns why', async () => {
    vendors.begin(() => Response.json({ error: { message: 'rejected by the safety system' } }, { status: 400 }))
    const scripted = model([draw, says('No.')])
    const { id } = await newSession({ model: scripted.id })
    const { body: run } = await chat(id)
    expect(resultIn(scripted)).toMatchObject({ success: false, error: 'openai: rejected by the safety system' })
    expect([run['usage_by_model'], run['attachments']]).toEqual([[expect.objectContaining({ task: null })], []])
  })
})

describe('what was paid is not bought again', () => {
  it('when the object dies after the vendor has answered', async () => {
    const storing = new Gate()
    outage.beforePut = () => storing.waitUntilOpen()
    const scripted = model([draw, says('Here it is.')])
    const { id } = await newSession({ model: scripted.id })
    const { body: begun } = await call<Run>('POST', '/v1/runs', { body: { session_id: id, input: 'Draw a fox.' } })
    await storing.waitUntilReached()
    await kill(id)
    outage.restore()
    storing.open()
    await fireAlarm(id)
    await until(() => scripted.requests[1])
    expect(resultIn(scripted)).toMatchObject({ success: true, mime: 'image/png' })
    expect(vendors.calls).toHaveLength(1)
    const read = await request('GET', `/api/sessions/${id}/files/${resultIn(scripted).path}`)
    expect(new Uint8Array(await read.arrayBuffer())).toEqual(pngBytes('a fox'))
    const attached = await until(async () => {
      const { body } = await call<Run>('GET', `/v1/runs/${String(begun['run_id'])}`)
      return body['status'] === 'completed' && (body['attachments'] as readonly object[])
    })
    expect(attached).toHaveLength(1)
  })

  it('when the object dies before the answer: the model learns that it may be paid, and so do the books', async () => {
    const answering = new Gate()
    vendors.begin(async () => {
      await answering.waitUntilOpen()
      return Response.json({ data: [{ b64_json: image }] })
    })
    const scripted = model([draw, says('Lost.')])
    const { id } = await newSession({ model: scripted.id })
    const asked = chat(id).catch(() => undefined)
    await answering.waitUntilReached()
    await kill(id)
    answering.open()
    await asked
    await fireAlarm(id)
    await until(() => scripted.requests[1])
    expect(resultIn(scripted)).toMatchObject({ success: false, error_type: 'unknown' })
    expect(vendors.calls).toHaveLength(1)
    type Shown = { readonly usage: { readonly cost_usd: number } }
    await until(async () => (await call<Shown>('GET', `/api/sessions/${id}`)).body.usage.cost_usd === 0.0795)
  })

  it('when R2 fails: it is kept, and stored by the alarm', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    vendors.begin(() => Response.json({ data: [{ b64_json: encodeBase64Bytes(pngBytes('kept')) }] }))
    outage.beforePut = () => Promise.reject(new Error('R2 is down'))
    const scripted = model([draw, says('It comes.')])
    const { id } = await newSession({ model: scripted.id })
    await chat(id)
    const { path, note } = resultIn(scripted)
    expect(note).toContain('kept')
    expect((await request('GET', `/api/sessions/${id}/files/${path}`)).status).toBe(404)
    outage.restore()
    clock.pass(600_000)
    await fireAlarm(id)
    const read = await request('GET', `/api/sessions/${id}/files/${path}`)
    expect(new Uint8Array(await read.arrayBuffer())).toEqual(pngBytes('kept'))
    expect([vendors.calls.length, await storedImages('kept')]).toEqual([1, 1])
    const parts = await inObject(id, (_object, { storage }) => storage.sql.exec('SELECT n FROM media_part').toArray())
    expect(parts).toEqual([])
  })
})

describe('money', () => {
  it('that is spent: no call leaves, and the model learns it', async () => {
    const { id: tenant, key } = await newTenant()
    await call('PATCH', `/api/admin/tenants/${tenant}`, { body: { limits: { usd_per_day: 0.35 } } })
    const priced = { input: 0, output: 0, cached_read: 0, cached_write: 0 }
    const scripted = model([
      calls({ id: 'one', name: 'image_generate', input: { prompt: 'one' } }, { id: 'two', name: 'todo', input: {} }),
      says('Done.'),
      calls({ name: 'image_generate', input: { prompt: 'two' } }),
      says('No.'),
    ])
    await call('PATCH', '/api/settings', { key, body: { models: { [scripted.id]: { prices: priced } } } })
    const { id } = await newSession({ model: scripted.id }, key)
    await chat(id, 'first', key)
    await chat(id, 'second', key)
    expect(vendors.calls).toHaveLength(1)
  })

  it.each([
    // The best quality costs 0.211 for a square, and by the area for a larger image.
    ['square', 0.22, 1, 0.053],
    ['square', 0.2, 0, 0],
    ['landscape', 0.32, 1, 0.0795],
    ['landscape', 0.3, 0, 0],
  ] as const)('an image (%s) is bought under a limit of %d USD only if its highest price fits', async (...row) => {
    const [aspect, limit, count, cost] = row
    const { id: tenant, key } = await newTenant()
    await call('PATCH', `/api/admin/tenants/${tenant}`, { body: { limits: { usd_per_day: limit } } })
    const prices = { input: 0, output: 0, cached_read: 0, cached_write: 0 }
    const order = calls({ name: 'image_generate', input: { prompt: 'a fox', aspect_ratio: aspect } })
    const scripted = model([order, says('Done.')])
    await call('PATCH', '/api/settings', { key, body: { models: { [scripted.id]: { prices } } } })
    const { id } = await newSession({ model: scripted.id }, key)
    const { body: run } = await chat(id, 'Draw.', key)
    expect(vendors.calls).toHaveLength(count)
    const { usage_by_model: usage } = run as unknown as { usage_by_model: { task: string; cost_usd: number }[] }
    expect(usage.find(({ task }) => task === 'image')?.cost_usd ?? 0).toBe(cost)
    expect(JSON.stringify(scripted.requests[1]?.messages.at(-1)).includes('Nothing was sent')).toBe(count === 0)
  })
})

describe('speech', () => {
  it('of a long text is one file in the order of the text, as a voice message where it is asked for', async () => {
    vendors.begin(({ body }) => {
      const { input } = JSON.parse(body) as { readonly input: string }
      return new Response(opusBytes([input.slice(0, 8)]))
    })
    const text = Array.from({ length: 1_000 }, (_, at) => `Line ${String(at).padStart(3, '0')}.`).join(' ')
    const scripted = model([calls({ name: 'text_to_speech', input: { text, format: 'opus' } }), says('Listen.')])
    const { id } = await newSession({ model: scripted.id, settings: { toolsets: { enabled: ['tts'] } } })
    const { body: run } = await chat(id)
    expect(run['attachments']).toMatchObject([{ mime: 'audio/ogg', path: expect.stringMatching(/\.ogg$/) }])
    const read = await request('GET', `/api/sessions/${id}/files/${resultIn(scripted).path}`)
    const sent = sentTo('/audio/speech').map(({ input }) => String(input))
    expect(sent.join(' ')).toBe(text)
    expect(new Uint8Array(await read.arrayBuffer())).toEqual(opusBytes(sent.map((piece) => piece.slice(0, 8))))
  })

  it('is made by the provider that the call names, with its own voice', async () => {
    const { key } = await newTenant()
    await call('PATCH', '/api/settings', { key, body: { tts: { provider: 'elevenlabs', voice: 'abc', model: 'own' } } })
    await call('POST', '/api/credentials', { key, body: { provider: 'elevenlabs', key: 'key-of-elevenlabs' } })
    vendors.begin(() => new Response(mp3Bytes('spoken')))
    const order = { text: 'Hi', provider: 'openai', speed: 1.5, instructions: 'calm' }
    const scripted = model([calls({ name: 'text_to_speech', input: order }), says('Listen.')])
    const { id } = await newSession({ model: scripted.id, settings: { toolsets: { enabled: ['tts'] } } }, key)
    await chat(id, 'Speak.', key)
    const fields = { voice: 'alloy', response_format: 'mp3', speed: 1.5, instructions: 'calm' }
    expect(sentTo('/audio/speech')).toEqual([{ model: 'gpt-4o-mini-tts', input: 'Hi', ...fields }])
  })

  it('is not offered without somebody who speaks', async () => {
    const { key } = await newTenant()
    await call('PATCH', '/api/settings', { key, body: { tts: { provider: 'elevenlabs' } } })
    vendors.begin(() => new Response(mp3Bytes()))
    const scripted = model([calls({ name: 'text_to_speech', input: { text: 'Hi' } }), says('No.')])
    const { id } = await newSession({ model: scripted.id, settings: { toolsets: { enabled: ['tts'] } } }, key)
    await chat(id, 'Speak.', key)
    type Shown = { readonly name: string; readonly available: boolean; readonly reason: string | null }
    const { body } = await call<{ data: readonly Shown[] }>('GET', '/api/tools', { key })
    expect(body.data.find(({ name }) => name === 'text_to_speech')).toMatchObject({
      available: false,
      reason: expect.stringContaining('ELEVENLABS_API_KEY'),
    })
    expect(vendors.calls).toHaveLength(0)
    expect(listTexts(scripted.requests[1] ?? ({ messages: [] } as never)).join()).toContain('text_to_speech')
  })
})
