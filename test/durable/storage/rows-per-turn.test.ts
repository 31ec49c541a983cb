/** Tests the billed rows of a turn: the figures of docs/design/storage.md. */

import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { createSkippingClock } from '../../support/clock.ts'
import { deployment } from '../../support/deployment.ts'
import { type ModelRequest, calls, model, says, until } from '../../support/scripted-model.ts'
import { call, applyMigrations, newSession, request } from '../../worker/client.ts'
import { send } from '../../worker/listen.ts'
import { billedRows } from '../support/object.ts'

beforeAll(applyMigrations)
afterEach(() => {
  delete deployment.auxModel
  replaceClock()
})

const written = async (id: string) => {
  const { session, d1 } = await billedRows(id)
  return [session.written, d1.written] as const
}
const turnsInHistory = async (id: string) => {
  const path = `/api/usage?group=session&session_id=${encodeURIComponent(id)}`
  const { body } = await call<{ data: { key: string; turns: number }[] }>('GET', path)
  return body.data.find(({ key }) => key === id)?.turns ?? 0
}

/** Creates a session by its first message, as clients of the OpenAI API do. */
async function begin(id: string, turns = 1) {
  const body = { model: id, messages: [{ role: 'user', content: 'first' }] }
  const answer = await request('POST', '/v1/chat/completions', { body })
  const session = answer.headers.get('x-talaria-session-id') ?? ''
  await until(async () => (await turnsInHistory(session)) === turns)
  return session
}

/** The rows that an action writes until history has so many turns. */
async function cost(id: string, turns: number, act: () => Promise<unknown>) {
  const before = await written(id)
  await act()
  await until(async () => (await turnsInHistory(id)) === turns)
  const after = await written(id)
  return [after[0] - before[0], after[1] - before[1]]
}

describe('rows written', () => {
  it('are 5 and 8 for a first turn, 2 and 4 for a plain one, 4 and 4 for one with a tool', async () => {
    const scripted = model([says('one'), says('two'), calls({ name: 'no_such_tool', input: {} }), says('three')])
    const id = await begin(scripted.id)
    expect(await written(id)).toEqual([5, 8])
    expect(await cost(id, 2, () => send(id, 'second', { model: scripted.id }))).toEqual([2, 4])
    expect(await cost(id, 3, () => send(id, 'third', { model: scripted.id }))).toEqual([4, 4])
  })

  it('are those of one batch for turns that follow within a second', async () => {
    const clock = createSkippingClock({ isFrozen: true })
    replaceClock(clock)
    const scripted = model([says('one'), says('two'), says('three')])
    const id = await begin(scripted.id)
    const before = await written(id)
    await send(id, 'second', { model: scripted.id })
    await send(id, 'third', { model: scripted.id })
    expect(await turnsInHistory(id)).toBe(1)
    clock.pass(1_000)
    await until(async () => (await turnsInHistory(id)) === 3)
    const after = await written(id)
    // The session once, and page, words and pieces of each turn.
    expect([after[0] - before[0], after[1] - before[1]]).toEqual([4, 7])
  })

  it('are three more in the object for a title, and none for the next turn', async () => {
    const isTitle = ({ messages }: ModelRequest) => JSON.stringify(messages[0]).includes('a title')
    const scripted = model((asked) => (isTitle(asked) ? says('A name') : says('ok')))
    // A session that stays: one completion that nobody continues gets no title.
    const begun = async (aux: string) => {
      deployment.auxModel = aux
      const { id } = await newSession({ model: scripted.id })
      await send(id, 'first', { model: scripted.id })
      await until(async () => (await turnsInHistory(id)) === 1)
      return id
    }
    const [plain, id] = [await begun('none'), await begun(scripted.id)]
    const [without] = await written(plain)
    await until(async () => (await written(id))[0] === without + 3)
    expect(scripted.requests.filter(isTitle).length).toBe(1)
    expect(await cost(id, 2, () => send(id, 'second', { model: scripted.id }))).toEqual([2, 4])
  })
})
