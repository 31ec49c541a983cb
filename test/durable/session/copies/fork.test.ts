/** Tests that a copy of a session arrives completely or not at all, and shares nothing with the original. */

import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import type { SessionCopy } from '#durable/session/copies/fork.ts'
import { calls, Gate, model, says, until } from '#test/support/scripted-model.ts'
import { bindings, call, applyMigrations, newSession, request } from '#test/worker/client.ts'
import { listLines, send } from '#test/worker/listen.ts'
import { kill, objectOf, fireAlarm } from '../../support/object.ts'
import { ownerAuthority } from '#test/support/authority.ts'

beforeAll(applyMigrations)

const spec = { source: 'api' }
const content = new Uint8Array(600 * 1024).fill(7)
const put = async (id: string, path: string) =>
  expect((await request('PUT', `/api/sessions/${id}/files/${path}`, { body: content })).status).toBe(201)
const sizeOf = async (id: string, path: string) =>
  (await (await request('GET', `/api/sessions/${id}/files/${path}`)).arrayBuffer()).byteLength
const stored = async (id: string) => (await bindings.BLOBS?.list({ prefix: `t/default/s/${id}/` }))?.objects.length
const isThere = async (id: string) => (await objectOf(id).info.get(ownerAuthority())) !== undefined

/** Bytes up to the middle of the second file. */
const half = 1_000_000

/** What comes of the files: half of it, then all of it once the gate opens, or an error. */
const through = (gate: Gate, ending: 'whole' | 'broken') => {
  let sent = 0
  return new TransformStream<Uint8Array, Uint8Array>({
    async transform(chunk, controller) {
      sent += chunk.byteLength
      if (sent < half) return controller.enqueue(chunk)
      await gate.waitUntilOpen()
      if (ending === 'whole') controller.enqueue(chunk)
      else controller.error(new Error('The source went away.'))
    },
  })
}
const open = () => {
  const gate = new Gate()
  gate.open()
  return gate
}

describe('a copy of a session', () => {
  let [source, target] = ['', '']
  beforeEach(async () => {
    const scripted = model([says('one')])
    source = (await newSession({ model: scripted.id })).id
    target = `ses_${crypto.randomUUID().replaceAll('-', '')}`
    await send(source, 'first')
    for (const path of ['a', 'b']) await put(source, path)
  })

  const copy = async () => (await objectOf(source).transfer.copy(ownerAuthority())) as unknown as SessionCopy
  const become = async (from: SessionCopy, gate: Gate, ending: 'whole' | 'broken' = 'whole') => {
    // The bytes pass between objects as they would without a test in between.
    const { readable, writable } = new IdentityTransformStream()
    from.files
      .pipeThrough(through(gate, ending))
      .pipeTo(writable)
      .catch(() => undefined)
    return await objectOf(target).transfer.paste(ownerAuthority(), { ...from, files: readable }, spec)
  }
  const whole = async () => [await listLines(target), await sizeOf(target, 'a'), await sizeOf(target, 'b')]
  const all = [['user: first', 'assistant: one'], content.length, content.length]

  it('whose files break off is not there, and the next try is a whole one', async () => {
    await put(source, 'before')
    await expect(become(await copy(), open(), 'broken')).rejects.toThrow('disconnected')
    expect([await isThere(target), await stored(target)]).toEqual([false, 0])
    await call('DELETE', `/api/sessions/${source}/files/before`)
    await become(await copy(), open())
    expect(await whole()).toEqual(all)
    expect((await request('GET', `/api/sessions/${target}/files/before`)).status).toBe(404)
  })

  it('makes a repeated request wait for it', async () => {
    const gate = new Gate()
    const first = become(await copy(), gate)
    await gate.waitUntilReached()
    let isOver = false
    const second = become(await copy(), open()).finally(() => (isOver = true))
    expect(await isThere(target)).toBe(false)
    expect(isOver).toBe(false)
    gate.open()
    expect((await first)?.id).toBe(target)
    expect((await second)?.id).toBe(target)
    expect(await whole()).toEqual(all)
  })

  it('that a crash leaves half done is removed, or made anew', async () => {
    const crash = async () => {
      const gate = new Gate()
      const trying = become(await copy(), gate, 'broken')
      trying.catch(() => undefined)
      await gate.waitUntilReached()
      await until(() => stored(target))
      await kill(target)
      await expect(trying).rejects.toThrow('killed')
      gate.open()
    }
    await crash()
    expect(await isThere(target)).toBe(false)
    expect(await fireAlarm(target)).toBe(true)
    expect([await isThere(target), await stored(target), await fireAlarm(target)]).toEqual([false, 0, false])
    await crash()
    await become(await copy(), open())
    expect(await whole()).toEqual(all)
    expect(await stored(target)).toBe(2)
  })
})

describe('images of a copy', () => {
  itInTurn('are its own: they stay when the original is deleted', async () => {
    const data = 'iVBORw0K'.repeat(2_000)
    const picture = new Uint8Array(20_000).fill(7)
    picture.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
    const look = calls({ name: 'read_file', input: { path: 'a.png' } })
    const scripted = model([look, says('two pictures'), says('still two')])
    const settings = { models: { [scripted.id]: { images: true } } }
    const { id } = await newSession({ model: scripted.id, settings })
    await request('PUT', `/api/sessions/${id}/files/a.png`, { body: picture })
    await send(id, 'What is this?', { attachments: [{ type: 'image', url: `data:image/png;base64,${data}` }] })
    const fork = await call<{ id: string }>('POST', `/api/sessions/${id}/fork`, { body: {} })
    expect((await call('DELETE', `/api/sessions/${id}`)).status).toBe(204)
    await send(fork.body.id, 'And now?')
    const sent = JSON.stringify(scripted.requests[2]?.messages)
    expect([sent.includes(data), sent.includes(Buffer.from(picture).toString('base64'))]).toEqual([true, true])
    expect(sent).not.toContain('an image that is no longer available')
    await call('DELETE', `/api/sessions/${fork.body.id}`)
    expect(await stored(fork.body.id)).toBe(0)
  })
})
