/** Tests turns with models that cannot stream or see images, and events that name the models. */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, fails, listTexts, model, type ModelRequest, says } from '../../support/scripted-model.ts'
import { applyMigrations, call, newSession, newTenant } from '../../worker/client.ts'
import type { Run } from '../../worker/listen.ts'
import { subscribe } from '../../worker/listen.ts'

beforeAll(applyMigrations)

const whole = (content: string) => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
    usage: { prompt_tokens: 100, completion_tokens: 10 },
  }),
})

describe('a model that cannot stream', () => {
  const answer = ({ stream }: ModelRequest) =>
    stream ? fails(400, 'Your organization must be verified to stream this model.') : whole('All at once.')

  it('is asked without streaming, which is remembered', async () => {
    const { key } = await newTenant()
    const scripted = model(answer)
    const { id } = await newSession({ model: scripted.id }, key)
    const chat = () => call<Run>('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'hi' } })
    expect((await chat()).body).toMatchObject({ output: 'All at once.', usage: { input: 100, output: 10 } })
    expect((await chat()).body.output).toBe('All at once.')
    expect(scripted.requests.map(({ stream }) => stream)).toEqual([true, false, false])
  })

  it('streams to clients all the same', async () => {
    const { key } = await newTenant()
    const { id } = await newSession({ model: model(answer).id }, key)
    await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'hi' } })
    const listener = await subscribe(id, 0, key)
    await listener.waitFor('run.completed')
    expect(listener.events.filter(({ type }) => type === 'message.delta')).toMatchObject([{ delta: 'All at once.' }])
    listener.close()
  })
})

const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
const picture = [{ type: 'text', text: 'What is this?' }, image]

describe('a model that cannot see', () => {
  const note = '[an image: the model in use cannot see images]'
  /** No model describes images (test/durable/turn/images has those that do). */
  const unseen = { auxiliary: { vision: { fallback_providers: [] } } }
  const send = (id: string, key: string) =>
    call<Run>('POST', `/api/sessions/${id}/chat`, { key, body: { input: picture } })

  it('gets a note for each image when it is known not to', async () => {
    const { key } = await newTenant()
    const scripted = model([says('Blind.')])
    await call('PATCH', '/api/settings', { key, body: { ...unseen, models: { [scripted.id]: { images: false } } } })
    const { id } = await newSession({ model: scripted.id }, key)
    expect((await send(id, key)).body.output).toBe('Blind.')
    expect(listTexts(scripted.requests[0]!).join()).toContain(note)
    expect(JSON.stringify(scripted.requests[0])).not.toContain('base64')
  })

  it('gets it after its provider has refused an image, also in later turns', async () => {
    const { key } = await newTenant()
    const scripted = model((asked) =>
      JSON.stringify(asked).includes('base64')
        ? fails(404, 'No endpoints found that support image input')
        : says('Blind.'),
    )
    const { id } = await newSession({ model: scripted.id, settings: unseen }, key)
    expect((await send(id, key)).body.output).toBe('Blind.')
    expect((await send(id, key)).body.output).toBe('Blind.')
    expect(scripted.requests.map((asked) => JSON.stringify(asked).includes('base64'))).toEqual([true, false, false])
  })
})

it('the event of a fallback names both models and the reason', async () => {
  const { key } = await newTenant()
  const [bad, good] = [
    model([fails(404, 'The model does not exist')]),
    model([calls({ name: 'todo', input: {} }), says('here')]),
  ]
  await call('PATCH', '/api/settings', { key, body: { fallback_providers: [good.id] } })
  const { id } = await newSession({ model: bad.id }, key)
  await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go' } })
  const listener = await subscribe(id, 0, key)
  await listener.waitFor('run.completed')
  expect(listener.events.filter(({ type }) => type === 'provider.fallback')).toMatchObject([
    { from: bad.id, to: good.id, reason: 'missing-model' },
  ])
  listener.close()
})
