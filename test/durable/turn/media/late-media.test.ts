/** Tests media after their call: a video that comes back, and the text of a voice message. */

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { replaceClock } from '#durable/platform/clock.ts'
import { ascii, opusBytes, pngBytes } from '#test/backends/media/fixtures.ts'
import { createSkippingClock } from '#test/support/clock.ts'
import { createChat, getSessionId, receiveMessage } from '#test/support/chat.ts'
import { sentTo, vendors } from '#test/support/media-vendors.ts'
import { outage } from '#test/support/outage.ts'
import { calls, Gate, listTexts, model, says, until } from '#test/support/scripted-model.ts'
import { applyMigrations, call, newSession, request } from '#test/worker/client.ts'
import { fireAlarm, kill } from '../../support/object.ts'

beforeAll(applyMigrations)
afterEach(() => {
  outage.restore()
  replaceClock()
})

const film = ascii('\0\0\0\u001cftypisom....')
/** Of the tenant: a session cannot give itself more tools. */
const enable = (enabled: readonly string[] | null) =>
  call('PATCH', '/api/settings', { body: { toolsets: { enabled } } })
const start = calls({ name: 'video_generate', input: { prompt: 'Waves at night', duration: 8 } })

describe('a video', () => {
  beforeAll(() => enable(['talaria-cli', 'video_gen']))
  afterAll(() => enable(null))

  it('comes back as a message, once, though the object dies meanwhile', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    let isDone = false
    vendors.begin(({ url, method }) => {
      if (method === 'POST') return Response.json({ id: 'video_1', status: 'queued' })
      if (url.endsWith('/content')) return new Response(film)
      return Response.json({ id: 'video_1', status: isDone ? 'completed' : 'in_progress' })
    })
    const scripted = model([start, says('Started.'), says('Here it is.')])
    const { id } = await newSession({ model: scripted.id })
    await call('POST', `/api/sessions/${id}/chat`, { body: { input: 'Film waves.' } })
    expect(listTexts(scripted.requests[1]!).join()).toContain('"status":"started"')
    await kill(id)
    clock.pass(20_000)
    await fireAlarm(id)
    expect(scripted.requests).toHaveLength(2)
    isDone = true
    clock.pass(20_000)
    await fireAlarm(id)
    await until(() => scripted.requests[2])
    const message = listTexts(scripted.requests[2]!).at(-1) ?? ''
    const [, path = ''] = /"path":"([^"]+)"/.exec(message) ?? []
    expect(path).toMatch(/^media\/waves-at-night-[0-9a-f]{8}\.mp4$/)
    const read = await request('GET', `/api/sessions/${id}/files/${path}`)
    expect(new Uint8Array(await read.arrayBuffer())).toEqual(film)
    clock.pass(60_000)
    await fireAlarm(id)
    expect(scripted.requests).toHaveLength(3)
    expect(vendors.calls.filter(({ method }) => method === 'POST')).toHaveLength(1)
    expect(vendors.calls[0]?.form?.get('seconds')).toBe('8')
  })

  it('that the vendor refuses later is reported', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    vendors.begin(({ method }) =>
      Response.json(
        method === 'POST'
          ? { id: 'video_2', status: 'queued' }
          : { id: 'video_2', status: 'failed', error: { message: 'moderated' } },
      ),
    )
    const scripted = model([start, says('Started.'), says('It failed.')])
    const { id } = await newSession({ model: scripted.id })
    await call('POST', `/api/sessions/${id}/chat`, { body: { input: 'Film waves.' } })
    clock.pass(20_000)
    await fireAlarm(id)
    await until(() => scripted.requests[2])
    expect(listTexts(scripted.requests[2]!).at(-1)).toContain('moderated')
  })
})

describe('an image in a queue', () => {
  const settings = (body: object) => call('PATCH', '/api/settings', { body })
  let credential: string
  beforeAll(async () => {
    const body = { provider: 'fal', key: 'key-of-fal' }
    credential = (await call<{ id: string }>('POST', '/api/credentials', { body })).body.id
    await settings({ image: { provider: 'fal' } })
  })
  afterAll(async () => {
    await settings({ image: null })
    await call('DELETE', `/api/credentials/${credential}`)
  })

  const draw = calls({ name: 'image_generate', input: { prompt: 'A fox' } })
  const started = () => vendors.calls.filter(({ method }) => method === 'POST').length
  const costOf = async (id: string) =>
    (await call<{ usage: { cost_usd: number } }>('GET', `/api/sessions/${id}`)).body.usage.cost_usd

  /** `states`: what each poll answers; the last one stays. */
  function queue(states: readonly (string | number)[]) {
    let polls = 0
    vendors.begin(({ method, url }) => {
      if (method === 'POST') return Response.json({ request_id: 'r1' })
      if (url.startsWith('https://files.fal.media')) return new Response(pngBytes('fal'))
      if (!url.endsWith('/status')) return Response.json({ images: [{ url: 'https://files.fal.media/a.png' }] })
      const state = states[Math.min(polls++, states.length - 1)]
      if (typeof state === 'number') return new Response('<html>', { status: state })
      return Response.json({ status: state })
    })
    return { polls: () => polls }
  }

  it('is followed over errors and nonsense of its vendor, and paid once', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    const { polls } = queue([429, 503, 200, 404, 'IN_PROGRESS', 'COMPLETED'])
    const scripted = model([draw, says('Here it is.')])
    const { id } = await newSession({ model: scripted.id })
    const asked = call('POST', `/api/sessions/${id}/chat`, { body: { input: 'Draw a fox.' } })
    await until(() => {
      clock.pass(2_000)
      return scripted.requests[1]
    })
    await asked
    expect(listTexts(scripted.requests[1]!).join()).toContain('"mime":"image/png"')
    expect([polls(), started(), await costOf(id)]).toEqual([6, 1, 0.05])
    clock.pass(600_000)
    await fireAlarm(id)
    expect([started(), scripted.requests.length]).toEqual([1, 2])
  })

  it('that takes longer than the call comes as a message, once', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    const states: string[] = ['IN_QUEUE']
    const { polls } = queue(states)
    const scripted = model([draw, says('It comes.'), says('Here it is.')])
    const { id } = await newSession({ model: scripted.id })
    const asked = call('POST', `/api/sessions/${id}/chat`, { body: { input: 'Draw a fox.' } })
    await until(() => polls() > 0)
    clock.pass(245_000)
    await asked
    expect(listTexts(scripted.requests[1]!).join()).toContain('"status":"started"')
    await kill(id)
    states[0] = 'COMPLETED'
    clock.pass(60_000)
    await fireAlarm(id)
    await until(() => scripted.requests[2])
    const message = listTexts(scripted.requests[2]!).at(-1) ?? ''
    expect(message).toContain('The image that you have started is ready')
    const [, path = ''] = /"path":"([^"]+)"/.exec(message) ?? []
    const read = await request('GET', `/api/sessions/${id}/files/${path}`)
    expect(new Uint8Array(await read.arrayBuffer())).toEqual(pngBytes('fal'))
    clock.pass(600_000)
    await fireAlarm(id)
    expect([started(), scripted.requests.length, await costOf(id)]).toEqual([1, 3, 0.05])
  })

  it('is read by the repeated call after a crash, though the settings name another vendor', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    const states: string[] = ['IN_QUEUE']
    const { polls } = queue(states)
    const scripted = model([draw, says('Here it is.')])
    const { id } = await newSession({ model: scripted.id })
    const asked = call('POST', `/api/sessions/${id}/chat`, { body: { input: 'Draw a fox.' } }).catch(() => undefined)
    await until(() => polls() > 0)
    await settings({ image: { provider: 'openai' } })
    await kill(id)
    states[0] = 'COMPLETED'
    await fireAlarm(id)
    await until(() => scripted.requests[1])
    await settings({ image: { provider: 'fal' } })
    await asked
    expect(listTexts(scripted.requests[1]!).join()).toContain('"mime":"image/png"')
    expect([started(), await costOf(id)]).toEqual([1, 0.05])
  })

  it('whose vendor accepts it without its name may be paid, so it counts', async () => {
    vendors.begin(() => new Response('<html>'))
    const scripted = model([draw, says('No.')])
    const { id } = await newSession({ model: scripted.id })
    await call('POST', `/api/sessions/${id}/chat`, { body: { input: 'Draw a fox.' } })
    expect(listTexts(scripted.requests[1]!).join()).toContain('"error_type":"unknown"')
    expect([started(), await costOf(id)]).toEqual([1, 0.05])
  })

  /** `file`: the address that the result names; `answer`: what is there. */
  it.each([
    ['at a private address', 'http://10.0.0.7/a.png', undefined, 'may not be called'],
    ['that is not there', 'https://files.fal.media/a.png', () => new Response('gone', { status: 404 }), 'answered 404'],
    ['that is not for us', 'https://files.fal.media/a.png', () => new Response('no', { status: 403 }), 'answered 403'],
    ['that is a page', 'https://files.fal.media/a.png', () => new Response('<html>Sign in'), 'no image'],
  ])('whose file is one %s is refused at once, in its call and after it', async (_name, file, answer, reason) => {
    const clock = createSkippingClock()
    replaceClock(clock)
    let state = 'COMPLETED'
    vendors.begin(({ method, url }) => {
      if (method === 'POST') return Response.json({ request_id: 'r1' })
      if (url.startsWith('https://files.fal.media')) return answer?.()
      return Response.json(url.endsWith('/status') ? { status: state } : { images: [{ url: file }] })
    })
    const scripted = model([draw, says('No.'), draw, says('It comes.'), says('No.')])
    const { id } = await newSession({ model: scripted.id })
    await call('POST', `/api/sessions/${id}/chat`, { body: { input: 'Draw a fox.' } })
    expect(listTexts(scripted.requests[1]!).at(-1)).toContain(reason)
    expect([started(), await costOf(id)]).toEqual([1, 0.05])

    state = 'IN_QUEUE'
    const polled = vendors.calls.length
    const asked = call('POST', `/api/sessions/${id}/chat`, { body: { input: 'Draw a fox.' } })
    await until(() => vendors.calls.length > polled + 1)
    clock.pass(245_000)
    await asked
    expect(listTexts(scripted.requests[3]!).at(-1)).toContain('"status":"started"')
    state = 'COMPLETED'
    clock.pass(60_000)
    await fireAlarm(id)
    await until(() => scripted.requests[4])
    expect(listTexts(scripted.requests[4]!).at(-1)).toMatch(new RegExp(`was not made[^]*${reason}`))
    expect([started(), await costOf(id)]).toEqual([2, 0.1])
  })

  it('that its vendor gives up is an error and costs nothing', async () => {
    queue(['CANCELLED'])
    const scripted = model([draw, says('No.')])
    const { id } = await newSession({ model: scripted.id })
    await call('POST', `/api/sessions/${id}/chat`, { body: { input: 'Draw a fox.' } })
    expect(listTexts(scripted.requests[1]!).join()).toContain('ended as CANCELLED')
    expect([started(), await costOf(id)]).toEqual([1, 0])
  })
})

it('a video is not offered without its toolset', async () => {
  const scripted = model([says('ok')])
  const { id } = await newSession({ model: scripted.id })
  await call('POST', `/api/sessions/${id}/chat`, { body: { input: 'hi' } })
  expect(scripted.requestTexts[0]).not.toContain('video_generate')
  expect(scripted.requestTexts[0]).toContain('image_generate')
})

describe('a voice message', () => {
  const voice = { text: undefined, voice: { file_id: 'voice-1', mime_type: 'audio/ogg', duration: 2 } }
  const transcribed = () => vendors.calls.filter(({ url }) => url.endsWith('/transcriptions')).length

  it('is not bought again after an eviction before the answer, and the model learns it', async () => {
    const answering = new Gate()
    vendors.begin(async () => {
      await answering.waitUntilOpen()
      return Response.json({ text: 'Call me back.' })
    })
    const chat = await createChat([says('One.')])
    chat.api.files.set('voice-1', opusBytes(['sound of a lost call']))
    const first = receiveMessage(chat, '', voice).catch(() => undefined)
    await answering.waitUntilReached()
    await kill(await getSessionId(chat))
    answering.open()
    await first
    await receiveMessage(chat, '', voice)
    await chat.api.waitForText('One.')
    expect(JSON.stringify(chat.scripted.requests[0]?.messages.at(-1)?.content)).toContain('may have been paid')
    expect(transcribed()).toBe(1)
  })

  it('that arrives twice at once is bought once', async () => {
    const answering = new Gate()
    vendors.begin(async () => {
      await answering.waitUntilOpen()
      return Response.json({ text: 'Call me back.' })
    })
    const chat = await createChat([says('One.'), says('Two.')])
    chat.api.files.set('voice-1', opusBytes(['sound that comes twice']))
    const both = [receiveMessage(chat, '', voice), receiveMessage(chat, '', voice)]
    await answering.waitUntilReached()
    answering.open()
    await Promise.all(both)
    await chat.api.waitForText('One.')
    const said = JSON.stringify(chat.scripted.requests.map(({ messages }) => messages))
    expect(said).not.toContain('may have been paid')
    expect(transcribed()).toBe(1)
  })

  it('becomes text, which is paid once, and is answered by voice where it is asked for', async () => {
    vendors.begin(({ url }) =>
      url.endsWith('/transcriptions') ? Response.json({ text: 'Call me back.' }) : new Response(opusBytes(['spoken'])),
    )
    const speak = calls({ name: 'text_to_speech', input: { text: 'I call you.' } })
    const chat = await createChat([says('One.'), speak, says('Listen.')])
    chat.api.files.set('voice-1', opusBytes(['sound']))
    const send = () => receiveMessage(chat, '', voice)
    await send()
    await chat.api.waitForText('One.')
    const said = JSON.stringify(chat.scripted.requests[0]?.messages.at(-1)?.content)
    expect(said).toContain('Call me back.')
    await send()
    await chat.api.waitForText('Listen.')
    expect(transcribed()).toBe(1)
    // Chats get what they show as a voice message.
    expect(sentTo('/audio/speech')).toMatchObject([{ response_format: 'opus' }])
    await until(() => chat.api.callsOf('sendVoice').length === 1)
    expect(chat.api.callsOf('sendAudio')).toEqual([])
  })
})

it('an image for a chat is bought and sent once, though the object dies after the vendor has answered', async () => {
  vendors.begin(() => Response.json({ data: [{ b64_json: encodeBase64Bytes(pngBytes('a fox')) }] }))
  const storing = new Gate()
  outage.beforePut = () => storing.waitUntilOpen()
  const chat = await createChat([calls({ name: 'image_generate', input: { prompt: 'A fox' } }), says('Here it is.')])
  await receiveMessage(chat, 'Draw a fox.')
  await storing.waitUntilReached()
  const id = await getSessionId(chat)
  await kill(id)
  outage.restore()
  storing.open()
  await fireAlarm(id)
  await chat.api.waitForText('Here it is.')
  await until(() => chat.api.callsOf('sendPhoto').length === 1)
  await kill(id)
  await fireAlarm(id)
  expect([vendors.calls.length, chat.api.callsOf('sendPhoto').length]).toEqual([1, 1])
})
