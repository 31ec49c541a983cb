/** Tests the API of `POST …/compress`. */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, fails, Gate, type Model, model, type Reply, listTexts, says } from '../support/scripted-model.ts'
import { kill } from '../durable/support/object.ts'
import { call, applyMigrations, newSession, type ErrorBody } from './client.ts'
import { subscribe, listMessages, send } from './listen.ts'

beforeAll(applyMigrations)

/** A session with a model for its turns and another one for its summaries. */
async function session(
  replies: readonly Reply[],
  summary: Reply = says('SUMMARY'),
): Promise<{ id: string; main: Model; side: Model }> {
  const [main, side] = [model(replies), model([summary])]
  const settings = { auxiliary: { compression: { model: side.id, fallback_providers: [] } } }
  const { id } = await newSession({ model: main.id, settings })
  return { id, main, side }
}

const compress = (id: string, body: object = {}) =>
  call<ErrorBody & { compressed: boolean; tokens_before: number; tokens_after: number }>(
    'POST',
    `/api/sessions/${id}/compress`,
    { body },
  )
const long = 'many words '.repeat(200)

describe('compress', () => {
  it('shortens the next model request and keeps all messages listed', async () => {
    const { id, main, side } = await session([says(long), says('two'), says('three')])
    await send(id, 'first question')
    await send(id, 'second question')
    const { status, body } = await compress(id, { focus: 'the first question' })
    expect([status, body.compressed, body.tokens_after < body.tokens_before]).toEqual([200, true, true])
    expect(JSON.stringify(side.requests[0])).toContain('the first question')
    await send(id, 'third question')
    const sent = listTexts(main.requests.at(-1)!)
    expect(sent[0]).toContain('SUMMARY')
    expect(sent.join()).not.toContain('many words')
    expect(sent[0]).toContain('second question')
    expect(sent.slice(1)).toEqual(['assistant: two', 'user: third question'])
    const listed = await listMessages<{ content: string; compacted: boolean; source?: string }>(id)
    expect(listed.map(({ compacted, source }) => [compacted, source])).toEqual([
      [true, undefined],
      [true, undefined],
      [false, undefined],
      [false, undefined],
      [false, 'summary'],
      [false, undefined],
      [false, undefined],
    ])
  })

  it('keeps the last messages that the settings protect', async () => {
    const { id, main } = await session([...Array<Reply>(5).fill(says(long)), says('six'), says('seven')])
    for (const question of ['first', 'second', 'third', 'fourth', 'fifth', 'sixth']) await send(id, question)
    const compression = { protect_last_n: 4, protect_first_n: 1 }
    await call('PATCH', `/api/sessions/${id}`, { body: { settings: { compression } } })
    expect((await compress(id)).body.compressed).toBe(true)
    await send(id, 'seventh')
    const [head, summary, ...rest] = listTexts(main.requests.at(-1)!)
    expect(head).toBe('user: first')
    expect(summary).toMatch(/^assistant: Summary of[^]*SUMMARY/)
    expect(rest).toEqual(['user: fifth', `assistant: ${long}`, 'user: sixth', 'assistant: six', 'user: seventh'])
    const listed = await listMessages<{ seq: number; compacted: boolean }>(id)
    expect(listed.map(({ compacted }) => compacted)).toEqual([
      false,
      ...Array<boolean>(7).fill(true),
      ...Array<boolean>(7).fill(false),
    ])
    // The summary is not on a page of older messages.
    const older = await call<{ data: typeof listed }>('GET', `/api/sessions/${id}/messages?cursor=${listed[4]?.seq}`)
    expect(older.body.data).toEqual(listed.slice(0, 4))
  })

  it('survives a crash, emits an event, and is undone with its turn', async () => {
    const { id, main } = await session([says(long), says('two'), says('three')])
    await send(id, 'first')
    await send(id, 'second')
    await compress(id)
    await kill(id)
    const listener = await subscribe(id, 0)
    await listener.waitFor('context.compressed')
    listener.close()
    await call('POST', `/api/sessions/${id}/undo`, { body: { n: 1 } })
    await send(id, 'third')
    expect(listTexts(main.requests.at(-1)!)).toEqual(['user: first', `assistant: ${long}`, 'user: third'])
  })

  it.each([
    ['', () => undefined],
    [', by another life of the object', kill],
  ])('can be asked for again after it was taken back%s', async (_when, meanwhile) => {
    const { id, main } = await session([says(long), says(long), says('three'), says('four')])
    for (const question of ['first', 'second', 'third']) await send(id, question)
    await compress(id)
    await call('POST', `/api/sessions/${id}/undo`, { body: { n: 1 } })
    await meanwhile(id)
    const { body } = await compress(id)
    expect([body.compressed, body.tokens_after < body.tokens_before]).toEqual([true, true])
    await send(id, 'fourth')
    expect(listTexts(main.requests.at(-1)!)).toEqual([
      expect.stringContaining('Summary of the earlier part'),
      `assistant: ${long}`,
      'user: fourth',
    ])
  })

  it('reports that there is nothing to shorten', async () => {
    const { id, side } = await session([says('one')])
    expect(await compress(id)).toMatchObject({ status: 200, body: { compressed: false } })
    await send(id, 'first')
    expect(await compress(id)).toMatchObject({ status: 200, body: { compressed: false } })
    expect(side.requests).toHaveLength(0)
  })

  it('keeps a context that its summary would make longer', async () => {
    const { id, main } = await session([says('one'), says('two'), says('three')], says(long))
    await send(id, 'first')
    await send(id, 'second')
    expect((await compress(id)).body).toEqual({ compressed: false })
    await send(id, 'third')
    expect(listTexts(main.requests.at(-1)!)).toEqual([
      'user: first',
      'assistant: one',
      'user: second',
      'assistant: two',
      'user: third',
    ])
  })

  it('while a turn runs is done before its next model call', async () => {
    const gate = new Gate()
    const ask = calls({ name: 'todo', input: {} })
    const { id, main, side } = await session([
      says(long),
      says('two'),
      [gate, ...(ask as readonly string[])],
      says('end'),
    ])
    await send(id, 'first')
    await send(id, 'second')
    const running = send(id, 'third')
    await gate.waitUntilReached()
    const { status, body } = await compress(id, { focus: 'everything' })
    expect([status, body]).toEqual([202, { session_id: id, status: 'requested' }])
    gate.open()
    expect(await running).toMatchObject({ output: 'end' })
    expect(JSON.stringify(side.requests[0])).toContain('everything')
    expect(listTexts(main.requests.at(-1)!)[0]).toContain('SUMMARY')
    expect(main.requests).toHaveLength(4)
  })

  it('uses an excerpt when the summary fails', async () => {
    const { id, main } = await session(
      [says(long.repeat(20)), says('two'), fails(400, 'no'), says('three')],
      fails(400, 'no'),
    )
    await send(id, 'first')
    await send(id, 'second')
    expect((await compress(id)).body.compressed).toBe(true)
    await send(id, 'third')
    expect(listTexts(main.requests.at(-1)!)[0]).toMatch(
      /No summary could be written[^]*\[user\] first\n\[assistant\] many words/,
    )
  })

  it('is cancelled by a message that arrives meanwhile', async () => {
    const gate = new Gate()
    const { id } = await session([says('one'), says('two'), says('three')], says('SUM', gate, 'MARY'))
    await send(id, 'first')
    await send(id, 'second')
    const compressing = compress(id)
    await gate.waitUntilReached()
    await send(id, 'third')
    gate.open()
    expect((await compressing).status).toBe(409)
    expect((await listMessages<{ source?: string }>(id)).some(({ source }) => source === 'summary')).toBe(false)
  })

  it('writes nothing after its session was deleted, even when a new session has its id', async () => {
    const gate = new Gate()
    const { id } = await session([says(long), says(long)], says('SUM', gate, 'MARY'))
    await send(id, 'first')
    await send(id, 'second')
    const compressing = compress(id)
    await gate.waitUntilReached()
    expect((await call('DELETE', `/api/sessions/${id}`)).status).toBe(204)
    const next = { input: 'hello', conversation: id, model: model([says('three')]).id }
    expect((await call('POST', '/v1/responses', { body: next })).status).toBe(200)
    gate.open()
    await compressing
    await kill(id)
    expect((await listMessages<{ content: unknown }>(id)).map(({ content }) => content)).toEqual(['hello', 'three'])
  })

  it('refuses unknown fields and sessions', async () => {
    const { id } = await newSession()
    const { status, body } = await compress(id, { focus: 5 })
    expect([status, body.error.param]).toEqual([400, 'focus'])
  })
})
