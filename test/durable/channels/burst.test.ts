import { beforeAll, describe, expect, it } from 'vitest'
import { createArrivals } from '#durable/platform/arrivals.ts'
import { createChat, createMessage, createUpdate, getSessionId, postUpdate } from '../../support/chat.ts'
import { says, until } from '../../support/scripted-model.ts'
import { applyMigrations } from '../../worker/client.ts'
import { listMessages } from '../../worker/listen.ts'
import { fireAlarm, kill } from '../support/object.ts'

beforeAll(applyMigrations)

const rolesOf = async (session: string) =>
  (await listMessages<{ readonly role: string }>(session)).map(({ role }) => role)

describe('messages that arrive at once in many chats', () => {
  it('begin their turns after a moment: each is answered once, also where the object dies before its turn begins', async () => {
    const chat = await createChat(() => says('Here.'))
    const ids = Array.from({ length: 40 }, (_, n) => 5_000 + n)
    const answers = await Promise.all(
      ids.map((id) => {
        const fields = { chat: { id, type: 'private' }, from: { id, is_bot: false, first_name: 'Anna' } }
        return postUpdate(chat, createUpdate({ message: createMessage(`hello ${id}`, fields) }))
      }),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    const sessions = await Promise.all(ids.map((id) => getSessionId(chat, String(id))))
    const last = sessions.at(-1) ?? ''
    await kill(last)
    await fireAlarm(last)
    for (const session of sessions) await until(async () => (await rolesOf(session)).length > 1)
    for (const session of sessions) expect(await rolesOf(session)).toEqual(['user', 'assistant'])
  })
})

describe('the time until a turn begins', () => {
  it.each([
    ['none for one that arrives alone', [0], 0],
    ['none for two', [0, 1], 0],
    ['200 ms in a burst', [0, 1, 2], 200],
    ['200 ms however large it is', Array.from({ length: 500 }, () => 0), 200],
    ['none when the burst is over', [...Array.from({ length: 500 }, () => 0), 200], 0],
    ['none when the clock was set back', [...Array.from({ length: 500 }, () => 9_000), 0], 0],
  ])('%s', (_name, times, expected) => {
    const arrivals = createArrivals()
    expect(times.map((at) => arrivals.count(at)).at(-1)).toBe(expected)
  })
})
