import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { duplicateMark } from '#agent/policy/delivery-attempt.ts'
import { userText } from '#agent/core/message.ts'
import { forgetConnection } from '#durable/tenant/channels/connection.ts'
import { Preview } from '#durable/channels/preview.ts'
import { replaceClock } from '#durable/platform/clock.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { itInTurn } from '#test/support/long.ts'
import {
  calls,
  drops,
  fails,
  Gate,
  model,
  type ReplyPart,
  createTextParts,
  says,
  until,
} from '../../support/scripted-model.ts'
import {
  settleDeliveries,
  anna,
  bert,
  postUpdate,
  hasTable,
  getLastRun,
  createChat,
  listOutbox,
  getSessionId,
  listOutboxStates,
  receiveMessage,
  createUpdate,
  startAlarm,
} from '../../support/chat.ts'
import { createSkippingClock } from '../../support/clock.ts'
import type { AnswerOverride } from '../../support/telegram-api.ts'
import { bindings, call, applyMigrations, newSession, request, newTenant } from '../../worker/client.ts'
import { listLines, send } from '../../worker/listen.ts'
import { alarmOf, evict, inObject, kill, objectOf, fireAlarm, requestCommand } from '../support/object.ts'
import { outage } from '../../support/outage.ts'

beforeAll(applyMigrations)
afterEach(() => {
  outage.restore()
  replaceClock()
})

const long = (parts: number) => Array.from({ length: parts }, (_, n) => `part ${n + 1} `.repeat(460)).join('\n\n')

async function chatWith(reply: string, settings: object = {}) {
  const chat = await createChat([says(reply)], settings)
  return { chat, session: await getSessionId(chat) }
}

/** Moves the times of all outbox rows into the past. */
const ageOutbox = (session: string, ms: number) =>
  inObject(session, (_object, { storage: { sql } }) => {
    for (const { id, body } of sql.exec<{ id: number; body: string }>('SELECT id, body FROM outbox').toArray()) {
      const row = JSON.parse(body) as { custody: { preparedAt: number; due: number } }
      const custody = { ...row.custody, preparedAt: row.custody.preparedAt - ms, due: 0 }
      sql.exec('UPDATE outbox SET body = ? WHERE id = ?', JSON.stringify({ ...row, custody }), id)
    }
  })

describe('an answer', () => {
  it('is sent once to its chat, with styles and without link previews', async () => {
    const { chat, session } = await chatWith('Hello **Anna**.')
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('Hello Anna.')
    await settleDeliveries(session)
    expect(chat.api.callsOf('sendMessage')).toEqual([
      {
        method: 'sendMessage',
        body: {
          chat_id: 11,
          text: 'Hello Anna.',
          entities: [{ type: 'bold', offset: 6, length: 4 }],
          link_preview_options: { is_disabled: true },
        },
      },
    ])
    expect(await listLines(session)).toEqual(['user: hi', 'assistant: Hello **Anna**.'])
  })

  it('keeps an alarm set until history has the turn', async () => {
    const { chat, session } = await chatWith('Hello.')
    const held = new Gate()
    outage.beforeBatch = () => held.waitUntilOpen()
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('Hello.')
    await settleDeliveries(session)
    await held.waitUntilReached()
    expect(await alarmOf(session)).not.toBeNull()
    held.open()
    await until(async () => (await alarmOf(session)) === null)
  })

  it('gives the reason when the turn failed', async () => {
    const chat = await createChat(() => fails(401, 'no such key'))
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('I could not finish this')
    expect(chat.api.sentTexts).toHaveLength(1)
  })

  it('is not sent when the turn is stopped', async () => {
    const gate = new Gate()
    const chat = await createChat([says('Hel', gate)])
    await receiveMessage(chat, 'hi')
    await gate.waitUntilReached()
    const session = await getSessionId(chat)
    await call('POST', `/api/sessions/${session}/stop`)
    await until(async () => (await getLastRun(session)).exit_reason)
    expect([chat.api.sentTexts, await hasTable(session, 'outbox')]).toEqual([[], false])
  })

  it('becomes a notice when a person gets a silence token', async () => {
    const { chat } = await chatWith('[SILENT]')
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('not to answer')
    expect(chat.api.sentTexts).toHaveLength(1)
  })

  it('to an API message is sent to the chat too', async () => {
    const { chat, session } = await chatWith('One.')
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('One.')
    await send(session, 'more')
    await chat.api.waitForText('ok')
    expect(chat.api.sentTexts).toEqual(['One.', 'ok'])
  })

  it('of a fork is not sent to the chat', async () => {
    const { chat, session } = await chatWith('One.')
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('One.')
    const { body } = await call<{ id: string }>('POST', `/api/sessions/${session}/fork`, { body: {} })
    await send(body.id, 'more')
    expect([chat.api.sentTexts, await hasTable(body.id, 'outbox')]).toEqual([['One.'], false])
  })

  it('needs no table in a session without a chat', async () => {
    const { id } = await newSession()
    await send(id, 'hi')
    expect([await hasTable(id, 'outbox'), await hasTable(id, 'heard')]).toEqual([false, false])
  })
})

const refused = (status: number, description: string): AnswerOverride => ({ status, description })

describe('a platform', () => {
  it('gets messages in order after it was busy, driven by the alarm alone', async () => {
    const { chat, session } = await chatWith(long(3))
    chat.api.overrideNext('sendMessage', { status: 429, description: 'Too Many Requests', retryAfter: 1 })
    await receiveMessage(chat, 'hi')
    await until(() => chat.api.callsOf('sendMessage').length === 1)
    await until(async () => (await listOutboxStates(session)).join() === 'prepared,prepared,prepared')
    await evict(session)
    await until(() => chat.api.messageTexts.length === 3)
    expect(chat.api.messageTexts.map((text) => text.slice(0, 6))).toEqual(['part 1', 'part 2', 'part 3'])
    expect(chat.api.sentTexts).toHaveLength(4)
  })

  it.each<[string, AnswerOverride]>([
    ['an error', refused(502, 'Bad Gateway')],
    ['an error page of a proxy', { status: 503, raw: '<html>' }],
  ])('gets the same message again, unmarked, after %s', async (_name, instead) => {
    const { chat, session } = await chatWith('Hello.')
    chat.api.overrideNext('sendMessage', instead, instead)
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('Hello.')
    await settleDeliveries(session)
    expect(chat.api.sentTexts).toEqual(['Hello.', 'Hello.', 'Hello.'])
    expect(chat.api.messageTexts).toEqual(['Hello.'])
  })

  it('gets a marked duplicate after a lost connection, once typing succeeds', async () => {
    const { chat, session } = await chatWith('Hello.')
    chat.api.overrideNext('sendMessage', 'lost')
    await receiveMessage(chat, 'hi')
    await settleDeliveries(session)
    expect(chat.api.messageTexts).toEqual(['Hello.', `${duplicateMark}Hello.`])
    const order = chat.api.calls.map(({ method }) => method)
    // The typing indicator proves that the platform can be reached.
    expect(order.slice(order.indexOf('sendMessage') + 1)).toEqual(['sendChatAction', 'sendMessage'])
  })

  it('gets the text without styles when it cannot read them', async () => {
    const { chat, session } = await chatWith('a **b** c')
    chat.api.overrideNext('sendMessage', refused(400, "Bad Request: can't parse entities: unsupported start tag"))
    await receiveMessage(chat, 'hi')
    await settleDeliveries(session)
    expect(chat.api.callsOf('sendMessage').map(({ body }) => [body.text, body.entities?.length])).toEqual([
      ['a b c', 1],
      ['a b c', undefined],
    ])
  })

  it.each([
    ['the bot is blocked', refused(403, 'Forbidden: bot was blocked by the user')],
    ['the chat does not exist', refused(400, 'Bad Request: chat not found')],
    ['the token is invalid', refused(401, 'Unauthorized')],
  ])('gets no retry after a refusal, and the run shows it: %s', async (_name, instead) => {
    const { chat, session } = await chatWith(long(3))
    chat.api.overrideNext('sendMessage', instead)
    await receiveMessage(chat, 'hi')
    await settleDeliveries(session)
    expect(chat.api.sentTexts).toHaveLength(1)
    const run = await getLastRun(session)
    expect(run).toMatchObject({ exit_reason: 'answered', delivery_error: expect.stringContaining('HTTP 40') })
    expect(run['delivery_error']).toContain('(3 of 3 parts)')
  })

  it('gets the answer in the chat when the topic is deleted', async () => {
    const chat = await createChat([says('Hello.')], { require_mention: false })
    chat.api.overrideNext('sendMessage', refused(400, 'Bad Request: message thread not found'))
    await receiveMessage(chat, 'hi', {
      chat: { id: -70, type: 'supergroup' },
      message_thread_id: 3,
      is_topic_message: true,
    })
    await chat.api.waitForText('Hello.')
    expect(chat.api.callsOf('sendMessage').map(({ body }) => body.message_thread_id)).toEqual([3, undefined])
  })

  it('gets all answers in their order when it was busy or down for hours', async () => {
    const chat = await createChat([says('First.'), says('Second.')])
    const session = await getSessionId(chat)
    const busy: AnswerOverride = { status: 429, description: 'Too Many Requests', retryAfter: 6 * 3_600 }
    chat.api.overrideNext('sendMessage', busy, refused(502, 'Bad Gateway'))
    await receiveMessage(chat, 'hi')
    await until(() => chat.api.sentTexts.length === 1)
    await receiveMessage(chat, 'more')
    await until(async () => (await listOutboxStates(session)).join() === 'prepared,prepared')
    await kill(session)
    await ageOutbox(session, 23 * 3_600_000)
    await startAlarm(session)
    await settleDeliveries(session)
    expect(chat.api.sentTexts).toEqual(['First.', 'First.', 'First.', 'Second.'])
    expect(chat.api.messageTexts).toEqual(['First.', 'Second.'])
    expect((await getLastRun(session))['delivery_error'] ?? null).toBeNull()
  })

  it('gets one notice in place of all expired answers', async () => {
    const chat = await createChat([says(long(2)), says('Second.')])
    const session = await getSessionId(chat)
    const busy: AnswerOverride = { status: 429, description: 'Too Many Requests', retryAfter: 300 }
    chat.api.overrideNext('sendMessage', busy)
    await receiveMessage(chat, 'hi')
    await until(() => chat.api.sentTexts.length === 1)
    await receiveMessage(chat, 'more')
    await until(async () => (await listOutboxStates(session)).length === 3)
    await kill(session)
    await ageOutbox(session, 25 * 3_600_000)
    await startAlarm(session)
    await settleDeliveries(session)
    expect(chat.api.messageTexts).toEqual([expect.stringMatching(/^2 replies could not be delivered.*“Second\.”/)])
    expect(await listOutboxStates(session)).toEqual(['expired', 'expired', 'expired', 'sent'])
    expect((await getLastRun(session))['delivery_error']).toMatch(/^expired/)
  })

  it('does not delay the next turn when it is slow', async () => {
    const chat = await createChat([says('One.'), says('Two.')])
    const gate = new Gate()
    chat.api.overrideNext('sendMessage', gate)
    await receiveMessage(chat, 'a')
    await gate.waitUntilReached()
    await receiveMessage(chat, 'b')
    const session = await getSessionId(chat)
    await until(async () => (await listLines(session)).length === 4)
    expect(chat.api.messageTexts).toEqual([])
    gate.open()
    await chat.api.waitForText('Two.')
    expect(chat.api.messageTexts).toEqual(['One.', 'Two.'])
  })
})

describe('a connection', () => {
  it('that cannot be loaded delays sending until D1 is back', async () => {
    const gate = new Gate()
    const chat = await createChat([says('Hel', gate, 'lo.')])
    await receiveMessage(chat, 'hi')
    await gate.waitUntilReached()
    const session = await getSessionId(chat)
    outage.isDatabaseDown = true
    forgetConnection(chat.channel)
    gate.open()
    await until(async () => outage.refusedCount > 0 && (await listOutboxStates(session)).join() === 'prepared')
    expect(chat.api.sentTexts).toEqual([])
    outage.restore()
    await settleDeliveries(session)
    expect(chat.api.sentTexts).toEqual(['Hello.'])
  })

  it('that was removed makes open messages dead, and the run shows it', async () => {
    const gate = new Gate()
    const chat = await createChat([says('Hel', gate, 'lo.')])
    await receiveMessage(chat, 'hi')
    await gate.waitUntilReached()
    await call('DELETE', `/api/channels/${chat.channel}`)
    forgetConnection(chat.channel)
    gate.open()
    const session = await getSessionId(chat)
    await settleDeliveries(session)
    expect(chat.api.sentTexts).toEqual([])
    expect((await getLastRun(session))['delivery_error']).toBe('the channel was removed')
  })
})

describe('a turn of a chat', () => {
  it('resumes after the tenant was unavailable, also with open messages', async () => {
    const gate = new Gate()
    const chat = await createChat([says('Hel', gate), says('Hello.')])
    await receiveMessage(chat, 'hi')
    await gate.waitUntilReached()
    const session = await getSessionId(chat)
    await kill(session)
    forgetSnapshot('default')
    outage.isTenantDown = true
    await fireAlarm(session)
    expect(await alarmOf(session)).not.toBeNull()
    outage.restore()
    await fireAlarm(session)
    await chat.api.waitForText('Hello.')
    expect(chat.api.sentTexts).toEqual(['Hello.'])
  })
})

describe('the typing indicator', () => {
  it('is shown while a turn runs, and not after it', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    const gate = new Gate()
    const chat = await createChat([says('Hel', gate, 'lo.')])
    await receiveMessage(chat, 'hi')
    const timesShown = () => chat.api.callsOf('sendChatAction').length
    await until(timesShown)
    clock.pass(4_500)
    await until(() => timesShown() > 1)
    gate.open()
    await chat.api.waitForText('Hello.')
    // Four fifths of the five seconds for which Telegram shows it.
    await until(() => !clock.pending().includes(4_000))
    const shown = timesShown()
    clock.pass(4_500)
    expect([timesShown(), clock.pending().includes(4_000)]).toEqual([shown, false])
  })
})

describe('a message during a turn', () => {
  it.each([
    ['interrupt', ['Second.']],
    ['queue', ['First.', 'Second.']],
  ])('follows the busy mode of the channel: %s', async (busyMode, sent) => {
    const gate = new Gate()
    const chat = await createChat([says('First', gate, '.'), says('Second.')], { busy_mode: busyMode })
    await receiveMessage(chat, 'a')
    await gate.waitUntilReached()
    await receiveMessage(chat, 'b')
    gate.open()
    await chat.api.waitForText('Second.')
    expect(chat.api.sentTexts).toEqual(sent)
  })

  it('is answered after the turn, also when three wait', async () => {
    const gate = new Gate()
    const chat = await createChat([says('0', gate), says('1'), says('2'), says('3')], { busy_mode: 'queue' })
    await receiveMessage(chat, 'a')
    await gate.waitUntilReached()
    for (const text of ['b', 'c', 'd']) await receiveMessage(chat, text)
    gate.open()
    await chat.api.waitForText('3')
    expect(chat.api.sentTexts).toEqual(['0', '1', '2', '3'])
  })
})

describe('a preview', () => {
  it('is one message that becomes the answer', async () => {
    const gate = new Gate()
    const chat = await createChat([says('One ', gate, 'two.')], { streaming: true })
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('One')
    gate.open()
    await chat.api.waitForText('One two.')
    await settleDeliveries(await getSessionId(chat))
    expect(chat.api.sentTexts).toHaveLength(1)
    expect(chat.api.messageTexts).toEqual(['One two.'])
  })

  it('does not start while the text may become a silence token', async () => {
    const rows: string[] = []
    const preview = new Preview({
      editIntervalMs: async () => 1,
      ensureRow: (_run, text) => {
        rows.push(text)
        throw new Error('seen')
      },
      getRow: () => undefined,
      edit: async () => ({ kind: 'gone', detail: '' }),
    })
    for (const text of ['\n', '[SIL', 'ENT]']) expect(preview.append('run', text)).toBeUndefined()
    await expect(preview.append('run', ' night')).rejects.toThrow('seen')
    expect(rows).toEqual(['\n[SILENT] night …'])
  })

  it('ends with a notice when the answer is a silence token', async () => {
    const gate = new Gate()
    const searches = calls({ name: 'search_files', input: { pattern: 'x' } })
    const looks = [...createTextParts('Looking.', gate), ...(searches as readonly ReplyPart[])]
    const chat = await createChat([says('Hello.'), looks, says('[SILENT]')], { streaming: true })
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('Hello.')
    const session = await getSessionId(chat)
    await settleDeliveries(session)
    const tenant = await bindings.TENANT.getByName('t/default').snapshot()
    const message = userText('A process has ended.', 'process')
    await objectOf(session).runs.submit(requestCommand(message, { tenant }))
    await chat.api.waitForText('Looking')
    gate.open()
    await chat.api.waitForText('not to answer')
    await settleDeliveries(session)
    expect(chat.api.messageTexts).toEqual(['Hello.', '(The agent decided not to answer.)'])
  })

  it('gets no more edits once the platform is busy, but ends as the answer', async () => {
    const gates = [new Gate(), new Gate()] as const
    const chat = await createChat([says('One ', gates[0], 'two ', gates[1], 'three.')], { streaming: true })
    chat.api.overrideNext('editMessageText', { status: 429, description: 'Too Many Requests', retryAfter: 1 })
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('One')
    gates[0].open()
    await until(() => chat.api.callsOf('editMessageText').length === 1)
    gates[1].open()
    await chat.api.waitForText('One two three.')
    expect(chat.api.callsOf('editMessageText')).toHaveLength(2)
    expect(chat.api.sentTexts).toHaveLength(1)
  })

  it('shows where the turn was stopped', async () => {
    const gate = new Gate()
    const chat = await createChat([says('One ', gate, 'two.')], { streaming: true })
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('One')
    const session = await getSessionId(chat)
    await until(async () => (await listOutboxStates(session))[0] === 'sent')
    await call('POST', `/api/sessions/${session}/stop`)
    await until(() => chat.api.messageTexts.join() === 'One')
    expect(chat.api.sentTexts).toHaveLength(1)
  })

  it('is replaced by a new message when its own is deleted', async () => {
    const gate = new Gate()
    const chat = await createChat([says('One ', gate, 'two.')], { streaming: true })
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('One')
    const session = await getSessionId(chat)
    await until(async () => (await listOutboxStates(session))[0] === 'sent')
    chat.api.messages.clear()
    gate.open()
    await chat.api.waitForText('One two.')
    await settleDeliveries(session)
    expect(chat.api.messageTexts).toEqual(['One two.'])
  })

  itInTurn('continues in further messages when the answer is long', async () => {
    const gate = new Gate()
    const chat = await createChat([says('One ', gate, long(3))], { streaming: true })
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('One')
    gate.open()
    const session = await getSessionId(chat)
    await until(async () => (await listOutboxStates(session)).length === 4)
    await settleDeliveries(session)
    expect(chat.api.messageTexts).toHaveLength(3)
    expect(chat.api.messageTexts.every((text) => text.length <= 4_096)).toBe(true)
  })
})

const append = { id: 'c1', name: 'terminal', input: { command: 'echo x >> count.txt' } }
const asking = { approvals: { mode: 'manual', rules: [{ do: 'ask', tool: 'terminal' }] } }
const fileOf = async (id: string, path: string) => {
  const answer = await request('GET', `/api/sessions/${id}/files/${path}`)
  return answer.status === 200 ? answer.text() : answer.status
}
let presses = 0
const pressOf = (data: string, from: object, message: number) =>
  createUpdate({
    callback_query: {
      id: `p${++presses}`,
      from,
      message: { message_id: message, date: 1, chat: { id: 11, type: 'private' } },
      data,
    },
  })

describe('a call that needs approval', () => {
  async function createPendingApproval(settings: object = {}) {
    const chat = await createChat([calls(append), says('Done.')], settings)
    await call('PATCH', '/api/settings', { body: asking })
    await receiveMessage(chat, 'go')
    await chat.api.waitForText('May terminal be called')
    const [sent] = chat.api.callsOf('sendMessage')
    const buttons = (sent?.body.reply_markup?.inline_keyboard ?? []).flat()
    const button = (label: string) => buttons.find(({ text }) => text === label)?.callback_data ?? ''
    const [message = 0] = chat.api.messages.keys()
    const press = async (label: string, from: object = anna) => {
      expect((await postUpdate(chat, pressOf(button(label), from, message))).status).toBe(200)
      const nth = presses
      return until(
        () =>
          chat.api.callsOf('answerCallbackQuery').find(({ body }) => body['callback_query_id'] === `p${nth}`)?.body
            .text,
      )
    }
    return { chat, session: await getSessionId(chat), press, buttons }
  }

  it('runs once after a button press; late presses are answered as expired', async () => {
    const { chat, session, press, buttons } = await createPendingApproval()
    expect(buttons.map(({ text }) => text)).toContain('Deny')
    expect(buttons.every(({ callback_data: data }) => data.length <= 64)).toBe(true)
    expect(await press('Allow once', bert)).toContain('Only who asked')
    expect(await fileOf(session, 'count.txt')).toBe(404)
    expect(await press('Allow once')).toContain('Taken')
    await chat.api.waitForText('Done.')
    expect(await press('Allow once')).toContain('Expired')
    expect(await fileOf(session, 'count.txt')).toBe('x\n')
    await chat.api.waitForText('→ once')
  })

  itInTurn('may be allowed always by an admin of the channel, for this chat alone', async () => {
    const push = calls({ id: 'p1', name: 'terminal', input: { command: 'git push origin main' } })
    const chat = await createChat([push, says('Pushed.'), push, says('Left it.')], { admins: ['11'] })
    await call('PATCH', '/api/settings', { body: { approvals: { mode: 'manual', rules: [] } } })
    const asked = (nth: number) =>
      until(() => chat.api.callsOf('sendMessage').filter(({ body }) => body.reply_markup)[nth]?.body.reply_markup)
    const buttonsOf = async (nth: number) => (await asked(nth)).inline_keyboard.flat()
    await receiveMessage(chat, 'go')
    const own = await buttonsOf(0)
    expect(own.map(({ text }) => text)).toContain('Always allow')
    await chat.api.waitForText('For this session or always, you allow every command "git push …".')
    const always = own.find(({ text }) => text === 'Always allow')?.callback_data ?? ''
    await postUpdate(chat, pressOf(always, anna, 101))
    await chat.api.waitForText('Pushed.')
    const { body } = await call<{ approvals: { rules: object[] } }>('GET', '/api/settings')
    expect(body.approvals.rules).toEqual([
      { do: 'allow', tool: 'terminal', match: 'git push', channel: `${chat.channel}:11` },
    ])
    await receiveMessage(chat, 'go', { from: bert, chat: { id: 12, type: 'private' } })
    const others = await buttonsOf(1)
    expect(others.map(({ text }) => text)).toEqual(['Allow once', 'Allow in session', 'Deny'])
    await call('PATCH', '/api/settings', { body: { approvals: null } })
  })

  it('is not decided by buttons of an earlier approval', async () => {
    const other = { ...append, input: { command: 'echo y >> count.txt' } }
    const chat = await createChat([calls(append), says('Done.'), calls(other), says('Left it.')])
    await call('PATCH', '/api/settings', { body: asking })
    const pressNth = async (nth: number, label: string) => {
      const { body } = await until(() => chat.api.callsOf('sendMessage').filter((sent) => sent.body.reply_markup)[nth])
      const button = body.reply_markup?.inline_keyboard.flat().find(({ text }) => text === label)
      await postUpdate(chat, pressOf(button?.callback_data ?? '', anna, 101))
      const id = `p${presses}`
      return until(
        () =>
          chat.api.callsOf('answerCallbackQuery').find(({ body: { callback_query_id: of } }) => of === id)?.body.text,
      )
    }
    await receiveMessage(chat, 'go')
    expect(await pressNth(0, 'Allow once')).toContain('Taken')
    await chat.api.waitForText('Done.')
    await receiveMessage(chat, 'more')
    await chat.api.waitForText('echo y')
    expect(await pressNth(0, 'Allow once')).toContain('Expired')
    expect(await pressNth(1, 'Deny')).toContain('Taken')
    await chat.api.waitForText('Left it.')
    expect(await fileOf(await getSessionId(chat), 'count.txt')).toBe('x\n')
  })

  it('can be denied by an admin after the object died', async () => {
    const { chat, session, press } = await createPendingApproval({ admins: ['12'] })
    await kill(session)
    expect(await press('Deny', bert)).toContain('Taken')
    await chat.api.waitForText('Done.')
    expect(await fileOf(session, 'count.txt')).toBe(404)
  })

  it('is approved by a typed /approve of the person who asked, and of nobody else', async () => {
    const { chat, session } = await createPendingApproval()
    await receiveMessage(chat, '/approve', { from: bert })
    await chat.api.waitForText('Only who asked')
    expect(await fileOf(session, 'count.txt')).toBe(404)
    await receiveMessage(chat, '/approve')
    await chat.api.waitForText('Done.')
    expect(await fileOf(session, 'count.txt')).not.toBe(404)
    expect((await listLines(session)).join()).not.toContain('/approve')
  })

  // Telegram writes the name of the bot behind the commands that a person picks in a group.
  it.each([
    ['/approve@TalariaBot', 200, ''],
    ['/deny@TalariaBot too  loud', 404, 'too loud'],
  ])('is decided by %j, which is no message', async (text, status, reason) => {
    const { chat, session } = await createPendingApproval()
    await receiveMessage(chat, text)
    await chat.api.waitForText('Done.')
    expect(await fileOf(session, 'count.txt').then((file) => (file === 404 ? 404 : 200))).toBe(status)
    const result = String(chat.scripted.requests.at(-1)?.messages.at(-1)?.content)
    expect(result).toContain(reason)
    expect((await listLines(session)).join()).not.toContain('@TalariaBot')
  })

  it('is withdrawn by another message that interrupts', async () => {
    const { chat, session } = await createPendingApproval()
    await receiveMessage(chat, 'yes')
    await chat.api.waitForText('Done.')
    expect(await fileOf(session, 'count.txt')).toBe(404)
  })

  it('is not approved by a text', async () => {
    const { chat, session } = await createPendingApproval({ busy_mode: 'steer' })
    await receiveMessage(chat, 'yes')
    await fireAlarm(session)
    expect(await fileOf(session, 'count.txt')).toBe(404)
    expect(
      (await call<{ data: { session_id: string }[] }>('GET', '/api/approvals')).body.data.filter(
        (one) => one.session_id === session,
      ),
    ).toHaveLength(1)
  })

  it('treats unknown button data as expired', async () => {
    const { chat } = await createPendingApproval()
    for (const data of ['ask:999:0', 'ask:1:99', 'ask:1', 'appr:x:once', '']) {
      await postUpdate(chat, pressOf(data, anna, 101))
      const nth = presses
      const answer = await until(() =>
        chat.api.callsOf('answerCallbackQuery').find(({ body }) => body['callback_query_id'] === `p${nth}`),
      )
      expect(answer.body.text).toContain('Expired')
    }
  })
})

describe('a question', () => {
  const clarify = { id: 'q1', name: 'clarify', input: { question: 'Which colour?', choices: ['red', 'blue'] } }

  it.each(['button', 'text'])('is answered by %s', async (how) => {
    const chat = await createChat([calls(clarify), says('Fine.')], { busy_mode: 'queue' })
    await receiveMessage(chat, 'go')
    await chat.api.waitForText('Which colour?')
    const [sent] = chat.api.callsOf('sendMessage')
    const data = sent?.body.reply_markup?.inline_keyboard[1]?.[0]?.callback_data ?? ''
    const [message = 0] = chat.api.messages.keys()
    if (how === 'button') await postUpdate(chat, pressOf(data, anna, message))
    else await receiveMessage(chat, 'blue')
    await chat.api.waitForText('Fine.')
    expect(JSON.stringify(chat.scripted.requests[1]?.messages)).toContain('user_response')
    expect(JSON.stringify(chat.scripted.requests[1]?.messages)).toContain('blue')
  })
})

describe('an interrupted model call', () => {
  it('leads to one answer', async () => {
    const chat = await createChat([drops('Hel'), says('Hello.')])
    await receiveMessage(chat, 'hi')
    const session = await getSessionId(chat)
    await until(async () => (await listOutbox(session)).length)
    await settleDeliveries(session)
    expect(chat.api.sentTexts).toHaveLength(1)
  })
})

describe('session_search', () => {
  const search = calls({ id: 's1', name: 'session_search', input: { query: 'albatross' } })

  /** The answer of the tool to a person in the chat 11, of a tenant whose API session and chat 12 said the word. */
  async function searchIn(settings: object) {
    const { key } = await newTenant()
    const elsewhere = model([says('albatross api')])
    const { id } = await newSession({ model: elsewhere.id }, key)
    await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'albatross of the owner' } })
    const replies = [says('one'), says('two'), search, says('Found.')]
    const chat = await createChat(replies, settings, key)
    await receiveMessage(chat, 'albatross of bert', { from: bert, chat: { id: 12, type: 'private' } })
    await chat.api.waitForText('one')
    await receiveMessage(chat, 'albatross of anna in a thread', { message_thread_id: 5, is_topic_message: true })
    await chat.api.waitForText('two')
    const isIndexed = async () =>
      (await call<{ data: object[] }>('GET', '/api/search?q=albatross', { key })).body.data.length >= 3
    await until(isIndexed)
    await receiveMessage(chat, 'look')
    await chat.api.waitForText('Found.')
    const request = chat.scripted.requests.at(-1)?.messages ?? []
    return String(request.at(-1)?.content)
  }

  it('reaches only the chat of the person who asks', async () => {
    const answer = await searchIn({})
    expect(answer).toContain('of anna in a thread')
    expect(answer).toContain('Only the conversations of this chat')
    for (const other of ['of the owner', 'of bert']) expect(answer).not.toContain(other)
  })

  it('reaches the whole tenant where the owner has widened it', async () => {
    const answer = await searchIn({ search_scope: 'tenant' })
    for (const other of ['of anna in a thread', 'of the owner', 'of bert']) expect(answer).toContain(other)
  })
})
