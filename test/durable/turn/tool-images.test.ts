/** Tests images in tool results: stored outside the transcript, and sent to models that read images. */

import { beforeAll, describe, expect, it } from 'vitest'
import { type ModelRequest, calls, model, says } from '../../support/scripted-model.ts'
import { bindings, call, applyMigrations, newSession, request } from '../../worker/client.ts'
import { evict } from '../support/object.ts'

beforeAll(applyMigrations)

/** Larger than the limit for images inside a message. */
const picture = new Uint8Array(20_000).fill(7)
picture.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const base64 = Buffer.from(picture).toString('base64')

async function looking(images: boolean) {
  const look = calls({ name: 'read_file', input: { path: 'a.png' } })
  const scripted = model([look, says('A picture.'), says('Still a picture.')])
  const settings = { models: { [scripted.id]: { images } } }
  const { id } = await newSession({ model: scripted.id, settings })
  expect((await request('PUT', `/api/sessions/${id}/files/a.png`, { body: picture })).status).toBe(201)
  const ask = (input: string) => call('POST', `/api/sessions/${id}/chat`, { body: { input } })
  expect((await ask('What is in a.png?')).status).toBe(200)
  return { id, ask, scripted }
}

const shownIn = (asked: ModelRequest | undefined): boolean => JSON.stringify(asked?.messages).includes(base64)

describe('an image that read_file returns', () => {
  it('is sent to a model that reads images, in this turn and later ones', async () => {
    const { id, ask, scripted } = await looking(true)
    expect(shownIn(scripted.requests[1])).toBe(true)
    const kept = await bindings.BLOBS?.list({ prefix: `t/default/s/${id}/attachments/` })
    expect(kept?.objects).toHaveLength(1)
    await evict(id)
    await ask('And now?')
    expect(shownIn(scripted.requests[2])).toBe(true)
  })

  it('is not read from the workspace for a model without images', async () => {
    const { scripted } = await looking(false)
    expect(shownIn(scripted.requests[1])).toBe(false)
    expect(JSON.stringify(scripted.requests[1]?.messages)).toContain('this model sees none')
  })
})
