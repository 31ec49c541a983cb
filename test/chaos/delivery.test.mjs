/**
 * Tests rows 20 to 24 of the crash matrix (reliability §4) against a real server: SIGKILL to all processes while answers
 * are being delivered to chats, then a start with the same state. The log of the simulated platform decides. No request
 * reaches the sessions after the start, so only their alarms resume them.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { duplicateMark } from '#agent/policy/delivery-attempt.ts'
import { eventually } from '../e2e/support/client.ts'
import { startTelegram } from './telegram.mjs'
import { clientTo, newWorld, recoveryTimeoutMs } from './world.mjs'

const world = await newWorld()
const telegram = await startTelegram()
afterAll(async () => {
  await world.close()
  await telegram.close()
})

const secret = 'a-webhook-secret-with-32-characters'
const channels = {}
let updates = 5_000

const start = (env = {}) => world.start({ TELEGRAM_API_BASE: telegram.url, ...env })

async function connect(server, name, settings) {
  const { status, json } = await clientTo(server).post('/api/channels', {
    platform: 'telegram',
    secrets: { bot_token: '4711:chaos', webhook_secret: secret },
    settings: { allow_users: ['*'], ...settings },
  })
  if (status !== 201) throw new Error(`no channel: ${status}`)
  channels[name] = json.id
}

const updateOf = (chat, text) => ({
  update_id: ++updates,
  message: {
    message_id: 7,
    date: 1,
    chat: { id: Number(chat), type: 'private' },
    from: { id: Number(chat), is_bot: false, first_name: 'A' },
    text,
  },
})

function deliver({ url }, update, channel = channels.plain) {
  return fetch(`${url}/webhooks/telegram/${channel}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': secret },
    body: JSON.stringify(update),
  })
}

async function tell(server, chat, text, channel) {
  const { status } = await deliver(server, updateOf(chat, text), channel)
  if (status !== 200) throw new Error(`chat ${chat}: ${status}`)
}

const until = (look, timeoutMs = 20_000) => eventually(look, Boolean, timeoutMs)
const reply = 'word0 word1 word2'
const words = '[[text 3]]'
const trimmed = (texts) => texts.map((text) => text.trim())
const long = Array.from({ length: 1_500 }, (_, n) => `word${n}`).join(' ')

describe('killed while answers are on their way', () => {
  let back
  let redelivered

  beforeAll(async () => {
    const first = await start({ FAILPOINTS: 'before-send=hang@1,after-send=hang@1' })
    await connect(first, 'plain', {})
    await connect(first, 'streaming', { streaming: true })
    await tell(first, '20', words)
    await first.printed('FP:before-send')
    await tell(first, '22', words)
    await first.printed('FP:after-send')
    telegram.meets('21', 'hold')
    await tell(first, '21', words)
    await until(() => telegram.sent('21').length)
    // At the moment of the kill the second part waits for a retry that the platform asked for.
    telegram.meets('23', undefined, {
      status: 429,
      body: { description: 'Too Many Requests', parameters: { retry_after: 15 } },
    })
    const update = updateOf('23', '[[text 1500]]')
    await deliver(first, update)
    await tell(first, '24', '[[slow gap=250 chunks=40 nonce=24]]', channels.streaming)
    await until(() => telegram.edits('24').length >= 2)
    await until(
      () => telegram.calls.filter(({ chat, method }) => chat === '23' && method === 'sendMessage').length >= 2,
    )
    await world.kill(first)
    back = await start()
    redelivered = (await deliver(back, update)).status
    const isDone = () =>
      telegram.sent('20').length === 1 &&
      telegram.sent('21').length === 2 &&
      telegram.sent('22').length === 2 &&
      telegram.sent('23').length === 4 &&
      telegram.shown('24')[0]?.trim().endsWith('word39')
    await eventually(isDone, Boolean, recoveryTimeoutMs + 15_000).catch(() => undefined)
    await new Promise((resolve) => setTimeout(resolve, 2_000))
  })
  afterAll(() => back && world.kill(back))

  it('row 20: prepared, before it is sent: the platform gets it once', () => {
    expect(trimmed(telegram.sent('20'))).toEqual([reply])
  })

  it.each(['21', '22'])('row %s: at the platform, and nothing of that saved: once more, marked', (row) => {
    expect(trimmed(telegram.sent(row))).toEqual([reply, `${duplicateMark}${reply}`])
  })

  it('row 23: the parts follow in order, the first is not repeated, and what is delivered again is no second turn', () => {
    const parts = telegram.sent('23')
    expect(redelivered).toBe(200)
    expect(parts).toHaveLength(4)
    expect(parts.join(' ').split(/\s+/).join(' ').trim()).toBe(long)
  })

  it('row 24: the message that was edited while the answer was written is the answer', () => {
    expect(telegram.sent('24')).toHaveLength(1)
    expect(trimmed(telegram.shown('24'))).toEqual([Array.from({ length: 40 }, (_, n) => `word${n}`).join(' ')])
    expect(new Set(telegram.edits('24').map(({ id }) => id)).size).toBe(1)
  })

  it('logs no error on the way back', () => {
    expect(back.log()).not.toMatch(/ERROR|Unexpected error|Uncaught/)
  })
})

/** A spin holds the runtime inside one synchronous stretch, whose writes are not committed when the server dies. */
describe('killed in the middle of a stretch of code', () => {
  let back

  beforeAll(async () => {
    const calm = await start()
    await connect(calm, 'plain', {})
    await world.kill(calm)
    for (const [chat, place] of [
      ['31', 'during-send'],
      ['32', 'after-send'],
    ]) {
      const server = await start({ FAILPOINTS: `${place}=spin@1` })
      await tell(server, chat, words).catch(() => undefined)
      await server.printed(`FP:${place}`)
      await world.kill(server)
    }
    back = await start()
    const isDone = () => telegram.sent('31').length === 1 && telegram.sent('32').length === 2
    await eventually(isDone, Boolean, recoveryTimeoutMs + 5_000).catch(() => undefined)
    await new Promise((resolve) => setTimeout(resolve, 2_000))
  })
  afterAll(() => back && world.kill(back))

  it('row 21: dispatched, not committed: it has not left, and goes out once, unmarked', () => {
    expect(trimmed(telegram.sent('31'))).toEqual([reply])
  })

  it('row 22: taken, not committed: once more, marked', () => {
    expect(trimmed(telegram.sent('32'))).toEqual([reply, `${duplicateMark}${reply}`])
  })
})
