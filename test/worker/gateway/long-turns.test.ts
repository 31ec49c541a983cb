/** Tests chats whose turns take long: notes that the work goes on, messages that wait, and conversations that end. */

import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { createChat, getLastRun, getSessionId, receiveMessage } from '../../support/chat.ts'
import { createSkippingClock } from '../../support/clock.ts'
import { Gate, hangs, listTexts, type ModelRequest, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, call, newTenant } from '../client.ts'

beforeAll(applyMigrations)
afterEach(() => replaceClock())

const minuteMs = 60_000

describe('a turn that takes long', () => {
  it('says so in one message that is edited, and no more after its end', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    const gate = new Gate()
    const { key } = await newTenant()
    const chat = await createChat([says('Done.', gate)], { working_note_minutes: 1 }, key)
    await receiveMessage(chat, 'work')
    await gate.waitUntilReached()
    const notes = () => chat.api.sentTexts.filter((text) => text.includes('Still working'))
    const isWaiting = () => clock.pending().includes(minuteMs)
    await until(isWaiting)
    expect(notes()).toEqual([])
    clock.pass(minuteMs)
    await chat.api.waitForText('⏳ Still working – 1 min.')
    await until(isWaiting)
    clock.pass(minuteMs)
    await chat.api.waitForText('⏳ Still working – 2 min.')
    expect(notes()).toHaveLength(1)
    gate.open()
    await chat.api.waitForText('Done.')
    await until(() => !isWaiting())
  })

  it('says nothing where the channel wants none', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    const gate = new Gate()
    const { key } = await newTenant()
    const chat = await createChat([says('Done.', gate)], { working_note_minutes: 0 }, key)
    await receiveMessage(chat, 'work')
    await gate.waitUntilReached()
    await until(() => chat.api.callsOf('sendChatAction').length > 0)
    clock.pass(2 * minuteMs)
    gate.open()
    await chat.api.waitForText('Done.')
    expect(chat.api.sentTexts).toEqual(['Done.'])
  })
})

describe('messages that wait behind a turn', () => {
  it('are refused in words beyond max_queued, and none of the others is lost', async () => {
    const gate = new Gate()
    const { key } = await newTenant()
    const settings = { busy_mode: 'queue', max_queued: 2 }
    const chat = await createChat([hangs(gate), says('To b.'), says('To c.'), says('To e.')], settings, key)
    await receiveMessage(chat, 'a')
    await gate.waitUntilReached()
    for (const text of ['b', 'c', 'd']) await receiveMessage(chat, text)
    await chat.api.waitForText('Too many messages wait already')
    gate.open()
    await chat.api.waitForText('To c.')
    await receiveMessage(chat, 'e')
    await chat.api.waitForText('To e.')
    const last = chat.scripted.requests.map((request: ModelRequest) => listTexts(request).at(-1))
    expect(last).toEqual(['user: a', 'user: b', 'user: c', 'user: e'])
  })

  it('are 32 by default', async () => {
    const { key } = await newTenant()
    const { channel } = await createChat([], {}, key)
    const { body } = await call<{ settings: object }>('GET', `/api/channels/${channel}`, { key })
    expect(body.settings).toMatchObject({ max_queued: 32, working_note_minutes: 3, session_reset: null })
  })
})

describe('session_reset of a channel', () => {
  const sent = (texts: readonly string[]) => texts.filter((text) => text.startsWith('A new conversation begins'))

  it.each([
    ['counts before that of the tenant', { mode: 'idle', idle_minutes: 30 }, { mode: 'none' }, 1],
    ['keeps a conversation that the tenant would end', { mode: 'none' }, { mode: 'idle', idle_minutes: 30 }, 0],
    ['may be the hour of the day', { mode: 'daily', at_hour: 4 }, { mode: 'none' }, 1],
    ['takes what comes first of both', { mode: 'both', idle_minutes: 30, at_hour: 4 }, { mode: 'none' }, 1],
    ['is that of the tenant by default', null, { mode: 'idle', idle_minutes: 30 }, 1],
  ])('%s', async (_what, own, ofTenant, notices) => {
    const clock = createSkippingClock()
    replaceClock(clock)
    const { key } = await newTenant()
    const chat = await createChat([says('Hello Ann.'), says('Yes?')], { session_reset: own }, key)
    await call('PATCH', '/api/settings', { key, body: { session_reset: ofTenant } })
    await receiveMessage(chat, 'I am Ann.')
    await chat.api.waitForText('Hello Ann.')
    clock.pass(25 * 60 * minuteMs)
    await receiveMessage(chat, 'Who am I?')
    await chat.api.waitForText('Yes?')
    expect(sent(chat.api.sentTexts)).toHaveLength(notices)
    expect(listTexts(chat.scripted.requests[1] as ModelRequest)).toHaveLength(notices ? 1 : 3)
  })
})

describe('a message that the platform finds too long', () => {
  it('is split and sent again, in order and with nothing lost', async () => {
    const { key } = await newTenant()
    const words = (first: number) => Array.from({ length: 600 }, (_, n) => `w${first + n}`).join(' ')
    const text = `${words(0)}\n\n${words(1_000)}\n\n${words(2_000)}`
    const chat = await createChat([says(text)], {}, key)
    const tooLong = { status: 400, description: 'Bad Request: message is too long' }
    chat.api.overrideNext('sendMessage', tooLong, tooLong)
    await receiveMessage(chat, 'go')
    await chat.api.waitForText('w2599')
    const { sentTexts, messageTexts } = chat.api
    expect(messageTexts.join(' ').split(/\s+/)).toEqual(text.split(/\s+/))
    // Both refusals were answered by a smaller message.
    expect(sentTexts[1]?.length).toBeLessThan(sentTexts[0]?.length ?? 0)
    expect(sentTexts[2]?.length).toBeLessThan(sentTexts[1]?.length ?? 0)
  })

  it('is given up when it is short, and the run says so', async () => {
    const { key } = await newTenant()
    const chat = await createChat([says('Short.')], {}, key)
    chat.api.overrideNext('sendMessage', { status: 400, description: 'Bad Request: message is too long' })
    await receiveMessage(chat, 'go')
    const id = await getSessionId(chat)
    const error = await until(async () => ((await getLastRun(id, key)) as { delivery_error?: string }).delivery_error)
    expect(error).toContain('too long')
    expect(chat.api.messageTexts).toEqual([])
    expect(chat.api.sentTexts).toEqual(['Short.'])
  })
})
