/** Tests messages that are too large for a row: they are refused, and a turn that produces one still ends. */

import { beforeAll, describe, expect, it, vi } from 'vitest'
import type { Message } from '#agent/core/message.ts'
import { canStore } from '#durable/workspace/attachments.ts'
import { calls, Gate, model, says } from '../../support/scripted-model.ts'
import { bindings, call, applyMigrations, newSession } from '../../worker/client.ts'
import { listLines, subscribe, send } from '../../worker/listen.ts'
import { inObject, kill } from '../support/object.ts'

beforeAll(applyMigrations)

/** From here on rows that hold these words are too large for the storage of the session, as the platform says it. */
const refuse = (id: string, words: string) =>
  inObject(id, (_object, { storage: { sql } }) => {
    for (const change of ['INSERT', 'UPDATE'])
      sql.exec(
        `CREATE TRIGGER full_${change} BEFORE ${change} ON step WHEN instr(NEW.entries, '${words}') > 0
          BEGIN SELECT RAISE(ABORT, 'string or blob too big'); END`,
      )
  })

/** A session with a turn behind it, whose storage has a limit now. */
async function limited(...replies: Parameters<typeof model>[0] & readonly unknown[]) {
  const scripted = model([says('Hello.'), ...(replies as never[])])
  const { id } = await newSession({ model: scripted.id })
  await send(id, 'hi')
  await refuse(id, 'vast')
  return id
}

const quietly = async (act: () => Promise<void>) => {
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
  await act()
  logged.mockRestore()
}

describe('an answer that is nested too deeply', () => {
  it('is no answer: the turn ends, and the session goes on', async () => {
    const deep = `${'['.repeat(300)}${']'.repeat(300)}`
    const sealed = `data: {"choices":[{"delta":{"content":"Hi.","reasoning_details":[{"type":"x","data":${deep}}]}}]}\n\n`
    const scripted = model((_asked, nth) => (nth < 20 ? [sealed, 'data: [DONE]\n\n'] : says('Back.')))
    const { id } = await newSession({ model: scripted.id, settings: { agent: { max_wait_seconds: 0 } } })
    expect(await send(id, 'go')).toMatchObject({ status: 'failed' })
    await kill(id)
    expect((await listLines(id)).slice(0, 1)).toEqual(['user: go'])
    expect(scripted.requests.length).toBeLessThan(10)
  })
})

describe('a step that cannot be written', () => {
  it('of a tool ends its turn with an answer, and the session goes on, here and in its next life', () =>
    quietly(async () => {
      const write = { name: 'write_file', input: { path: 'a.txt', content: 'alpha' } }
      const read = { name: 'read_file', input: { path: 'vast.txt' } }
      const id = await limited(calls(write), calls(read), says('Back.'), says('Still here.'))
      expect(await send(id, 'go')).toMatchObject({ status: 'failed', output: expect.stringContaining('not be stored') })
      expect((await listLines(id)).slice(0, 4)).toEqual([
        'user: hi',
        'assistant: Hello.',
        'user: go',
        'assistant: → write_file',
      ])
      expect(await send(id, 'again')).toMatchObject({ status: 'completed', output: 'Back.' })
      await kill(id)
      expect(await send(id, 'and now?')).toMatchObject({ status: 'completed', output: 'Still here.' })
    }))

  it('because of the user message ends the run of that message', () =>
    quietly(async () => {
      const id = await limited(says('Back.'))
      expect(await send(id, 'a vast question')).toMatchObject({ status: 'failed' })
      expect((await listLines(id)).slice(2)).toEqual([
        'user: [A message was here that was too large to store.]',
        expect.stringContaining('I could not finish this'),
      ])
      expect(await send(id, 'again')).toMatchObject({ status: 'completed', output: 'Back.' })
    }))

  it('because of the answer ends the turn, and keeps the user message', () =>
    quietly(async () => {
      const id = await limited(says('A vast answer.'), says('Back.'))
      expect(await send(id, 'go')).toMatchObject({ status: 'failed', usage: { output: 10 } })
      expect((await listLines(id)).slice(2)).toEqual(['user: go', expect.stringContaining('I could not finish this')])
      expect(await send(id, 'again')).toMatchObject({ status: 'completed', output: 'Back.' })
    }))

  it('because of steering messages drops them with the turn; the session can be stopped and deleted', () =>
    quietly(async () => {
      const gate = new Gate()
      const id = await limited(says('One ', gate, 'two'), says('Back.'))
      const running = send(id, 'go')
      await gate.waitUntilReached()
      const joined = send(id, 'the vast rest')
      expect((await Promise.all([running, joined])).map(({ status }) => status)).toEqual(['failed', 'failed'])
      expect((await call('POST', `/api/sessions/${id}/stop`)).status).toBe(202)
      expect(await send(id, 'again')).toMatchObject({ status: 'completed', output: 'Back.' })
      expect((await call('DELETE', `/api/sessions/${id}`)).status).toBe(204)
    }))
})

describe('a message that is too large for a row is refused, and the error names its field', () => {
  const refused = (param: string) => ({ status: 413, body: { error: { code: 'body_too_large', param } } })
  const invalid = (param: string) => ({ status: 400, body: { error: { param } } })
  const text = '長い文章。'.repeat(110_000)

  it('when the waiting messages together are too large', async () => {
    const gate = new Gate()
    const { id } = await newSession({ model: model([says(gate, 'One.'), says('Two.')]).id })
    const first = send(id, 'go')
    await gate.waitUntilReached()
    const chat = (input: string, mode: string) =>
      call('POST', `/api/sessions/${id}/chat`, { body: { input, mode }, headers: { 'idempotency-key': mode } })
    const steered = await call('POST', `/api/sessions/${id}/steer`, { body: { input: text } })
    const [more, stream] = await Promise.all([
      call('POST', `/api/sessions/${id}/steer`, { body: { input: text } }),
      call('POST', `/api/sessions/${id}/chat/stream`, { body: { input: text } }),
    ])
    expect([steered.status, more, stream]).toMatchObject([202, refused('input'), refused('input')])
    expect(await chat(text, 'interrupt')).toMatchObject(refused('input'))
    gate.open()
    expect(await first).toMatchObject({ output: 'Two.' })
    const listener = await subscribe(id, 0)
    expect((await listener.waitFor('run.steered'))['input']).toBe(text.slice(0, 2_000))
    listener.close()
    // The key was given back: nothing had begun with it.
    expect(await chat('short', 'interrupt')).toMatchObject({ status: 200, body: { status: 'completed' } })
  })

  it('when it is longer in storage than it looks', async () => {
    const { id } = await newSession({ model: model([says('Heard.')]).id })
    const input = '\u0001'.repeat(500_000)
    expect(await call('POST', `/api/sessions/${id}/chat`, { body: { input } })).toMatchObject(invalid('input'))
    const parts = [1, 2, 3, 4].map(() => ({ type: 'text', text: 'x'.repeat(500_000) }))
    const messages = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: parts },
      { role: 'user', content: 'b' },
    ]
    for (const stream of [false, true])
      expect(await call('POST', '/v1/chat/completions', { body: { messages, stream } })).toMatchObject(
        invalid('messages.1.content'),
      )
    expect(await send(id, 'short')).toMatchObject({ output: 'Heard.' })
  })
})

describe('an image of a person', () => {
  const image = (size: number): Message => ({
    role: 'user',
    content: [{ type: 'image', mediaType: 'image/png', data: 'A'.repeat(size) }],
  })

  it('is kept apart from its message, however large, or in it while it fits there', () => {
    expect([canStore(image(5_000_000), bindings.BLOBS), canStore(image(900_000), undefined)]).toEqual([true, true])
  })

  it('cannot be kept where there is no other place and it is too large for the message', () => {
    expect(canStore(image(1_100_000), undefined)).toBe(false)
  })
})
