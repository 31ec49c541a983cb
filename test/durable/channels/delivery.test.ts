/** Answers on their way into a chat: what the platform gets, whatever it says to it. */

import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { duplicateMark } from '../../../src/agent/policy/delivery-attempt.ts'
import { userText } from '../../../src/agent/model/message.ts'
import { forgetConnection } from '../../../src/durable/channels/connection.ts'
import { Preview } from '../../../src/durable/channels/preview.ts'
import { forgetSnapshot } from '../../../src/durable/tenant/tenant-snapshot.ts'
import { calls, drops, fails, Gate, type ReplyPart, createTextParts, says, until } from '../../support/scripted-model.ts'
import {
  settleDeliveries,
  anna,
  bert,
  postUpdate,
  hasTable,
  getLastRun,
  newChat,
  listOutbox,
  getSessionId,
  listOutboxStates,
  receiveMessage,
  createUpdate,
  startAlarm,
} from '../../support/chat.ts'
import type { AnswerOverride } from '../../support/telegram-api.ts'
import { bindings, call, applyMigrations, newSession, request } from '../../worker/client.ts'
import { listLines, send } from '../../worker/listen.ts'
import { alarmOf, evict, inObject, kill, objectOf, ring, requestCommand } from '../support/object.ts'
import { outage } from '../../support/outage.ts'

beforeAll(applyMigrations)
afterEach(() => outage.restore())

const long = (parts: number) => Array.from({ length: parts }, (_, n) => `part ${n + 1} `.repeat(460)).join('\n\n')

async function chatWith(reply: string, settings: object = {}) {
  const chat = await newChat([says(reply)], settings)
  return { chat, session: await getSessionId(chat) }
}

/** The clock of what lies there: everything was prepared so much earlier. */
const older = (session: string, ms: number) =>
  inObject(session, (_object, { storage: { sql } }) => {
    for (const { id, body } of sql.exec<{ id: number; body: string }>('SELECT id, body FROM outbox').toArray()) {
      const row = JSON.parse(body) as { custody: { preparedAt: number; due: number } }
      const custody = { ...row.custody, preparedAt: row.custody.preparedAt - ms, due: 0 }
      sql.exec('UPDATE outbox SET body = ? WHERE id = ?', JSON.stringify({ ...row, custody }), id)
    }
  })

describe('an answer', () => {
  it('goes into the chat it was asked in, once, with its styles and without previews', async () => {
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

  it('leaves an alarm behind until history has the turn', async () => {
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

  it('of a turn that failed says why', async () => {
    const chat = await newChat(() => fails(401, 'no such key'))
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('I could not finish this')
    expect(chat.api.sentTexts).toHaveLength(1)
  })

  it('of a turn that is stopped does not come', async () => {
    const gate = new Gate()
    const chat = await newChat([says('Hel', gate)])
    await receiveMessage(chat, 'hi')
    await gate.waitUntilReached()
    const session = await getSessionId(chat)
    await call('POST', `/api/sessions/${session}/stop`)
    await until(async () => (await getLastRun(session)).exit_reason)
    expect([chat.api.sentTexts, await hasTable(session, 'outbox')]).toEqual([[], false])
  })

  it('that is silence is told to a person', async () => {
    const { chat } = await chatWith('[SILENT]')
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('No answer')
    expect(chat.api.sentTexts).toHaveLength(1)
  })

  it('to what is said by the API into the session of a chat goes there too', async () => {
    const { chat, session } = await chatWith('One.')
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('One.')
    await send(session, 'more')
    await chat.api.waitForText('ok')
    expect(chat.api.sentTexts).toEqual(['One.', 'ok'])
  })

  it('of a copy of the session does not', async () => {
    const { chat, session } = await chatWith('One.')
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('One.')
    const { body } = await call<{ id: string }>('POST', `/api/sessions/${session}/fork`, { body: {} })
    await send(body.id, 'more')
    expect([chat.api.sentTexts, await hasTable(body.id, 'outbox')]).toEqual([['One.'], false])
  })

  it('costs a session without a chat no table, no row and no alarm', async () => {
    const { id } = await newSession()
    await send(id, 'hi')
    expect([await hasTable(id, 'outbox'), await hasTable(id, 'heard')]).toEqual([false, false])
  })
})

const refused = (status: number, description: string): AnswerOverride => ({ status, description })

describe('a platform', () => {
  it('that is busy is waited for as long as it says, with nothing but the alarm, and the order is kept', async () => {
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
    ['fails', refused(502, 'Bad Gateway')],
    ['answers with a page', { status: 503, raw: '<html>' }],
  ])('that %s is asked again, unmarked', async (_name, instead) => {
    const { chat, session } = await chatWith('Hello.')
    chat.api.overrideNext('sendMessage', instead, instead)
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('Hello.')
    await settleDeliveries(session)
    expect(chat.api.sentTexts).toEqual(['Hello.', 'Hello.', 'Hello.'])
    expect(chat.api.messageTexts).toEqual(['Hello.'])
  })

  it('that may have taken it gets it once more, marked, when it can be reached again', async () => {
    const { chat, session } = await chatWith('Hello.')
    chat.api.overrideNext('sendMessage', 'lost')
    await receiveMessage(chat, 'hi')
    await settleDeliveries(session)
    expect(chat.api.messageTexts).toEqual(['Hello.', `${duplicateMark}Hello.`])
    const order = chat.api.calls.map(({ method }) => method)
    // Something harmless goes first.
    expect(order.slice(order.indexOf('sendMessage') + 1)).toEqual(['sendChatAction', 'sendMessage'])
  })

  it('that cannot read the styles gets the same text without them', async () => {
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
    ['blocked', refused(403, 'Forbidden: bot was blocked by the user'), 1],
    ['no such chat', refused(400, 'Bad Request: chat not found'), 1],
    ['a token that is not valid any more', refused(401, 'Unauthorized'), 1],
    ['this part alone', refused(400, 'Bad Request: message is too long'), 3],
  ])('that refuses is not asked again: %s; the run says so', async (_name, instead, attempts) => {
    const { chat, session } = await chatWith(long(3))
    chat.api.overrideNext('sendMessage', instead)
    await receiveMessage(chat, 'hi')
    await settleDeliveries(session)
    expect(chat.api.sentTexts).toHaveLength(attempts)
    const run = await getLastRun(session)
    expect(run).toMatchObject({ exit_reason: 'answered', delivery_error: expect.stringContaining('HTTP 40') })
    expect(run['delivery_error']).toContain(attempts === 1 ? '(3 of 3 parts)' : '(1 of 3 parts)')
  })

  it('whose topic is gone gets it in the chat', async () => {
    const chat = await newChat([says('Hello.')], { require_mention: false })
    chat.api.overrideNext('sendMessage', refused(400, 'Bad Request: message thread not found'))
    await receiveMessage(chat, 'hi', { chat: { id: -70, type: 'supergroup' }, message_thread_id: 3, is_topic_message: true })
    await chat.api.waitForText('Hello.')
    expect(chat.api.callsOf('sendMessage').map(({ body }) => body.message_thread_id)).toEqual([3, undefined])
  })

  it('is not told what became too old, but one line for all of it', async () => {
    const chat = await newChat([says(long(2)), says('Second.')])
    const session = await getSessionId(chat)
    const busy: AnswerOverride = { status: 429, description: 'Too Many Requests', retryAfter: 300 }
    chat.api.overrideNext('sendMessage', busy)
    await receiveMessage(chat, 'hi')
    await until(() => chat.api.sentTexts.length === 1)
    await receiveMessage(chat, 'more')
    await until(async () => (await listOutboxStates(session)).length === 3)
    await kill(session)
    await older(session, 16 * 60_000)
    await startAlarm(session)
    await settleDeliveries(session)
    expect(chat.api.messageTexts).toEqual([expect.stringMatching(/^2 replies could not be delivered.*“Second\.”/)])
    expect(await listOutboxStates(session)).toEqual(['expired', 'expired', 'expired', 'sent'])
    expect((await getLastRun(session))['delivery_error']).toMatch(/^expired/)
  })

  it('that is slow keeps nobody from the next turn', async () => {
    const chat = await newChat([says('One.'), says('Two.')])
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

describe('the way to the platform', () => {
  it('is waited for, while D1 is away', async () => {
    const gate = new Gate()
    const chat = await newChat([says('Hel', gate, 'lo.')])
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

  it('is gone with the channel: what is left is dead, and the run says so', async () => {
    const gate = new Gate()
    const chat = await newChat([says('Hel', gate, 'lo.')])
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
  it('is looked after while the tenant is away, whatever is on its way', async () => {
    const gate = new Gate()
    const chat = await newChat([says('Hel', gate), says('Hello.')])
    await receiveMessage(chat, 'hi')
    await gate.waitUntilReached()
    const session = await getSessionId(chat)
    await kill(session)
    forgetSnapshot('default')
    outage.isTenantDown = true
    await ring(session)
    expect(await alarmOf(session)).not.toBeNull()
    outage.restore()
    await ring(session)
    await chat.api.waitForText('Hello.')
    expect(chat.api.sentTexts).toEqual(['Hello.'])
  })
})

describe('the sign that somebody types', () => {
  it('is there while a turn is at work, and not after it', async () => {
    const gate = new Gate()
    const chat = await newChat([says('Hel', gate, 'lo.')])
    await receiveMessage(chat, 'hi')
    await until(() => chat.api.callsOf('sendChatAction').length)
    gate.open()
    await chat.api.waitForText('Hello.')
    const typed = chat.api.callsOf('sendChatAction').length
    await scheduler.wait(4_500)
    expect(chat.api.callsOf('sendChatAction')).toHaveLength(typed)
  })
})

describe('what is said while a turn is open', () => {
  it.each([
    ['interrupt', ['Second.']],
    ['queue', ['First.', 'Second.']],
  ])('goes by the mode of the channel: %s', async (busyMode, sent) => {
    const gate = new Gate()
    const chat = await newChat([says('First', gate, '.'), says('Second.')], { busy_mode: busyMode })
    await receiveMessage(chat, 'a')
    await gate.waitUntilReached()
    await receiveMessage(chat, 'b')
    gate.open()
    await chat.api.waitForText('Second.')
    expect(chat.api.sentTexts).toEqual(sent)
  })

  it('of three that wait behind a turn, all are answered', async () => {
    const gate = new Gate()
    const chat = await newChat([says('0', gate), says('1'), says('2'), says('3')], { busy_mode: 'queue' })
    await receiveMessage(chat, 'a')
    await gate.waitUntilReached()
    for (const text of ['b', 'c', 'd']) await receiveMessage(chat, text)
    gate.open()
    await chat.api.waitForText('3')
    expect(chat.api.sentTexts).toEqual(['0', '1', '2', '3'])
  })
})

describe('an answer that is seen while it is written', () => {
  it('is one message, and ends as the answer', async () => {
    const gate = new Gate()
    const chat = await newChat([says('One ', gate, 'two.')], { streaming: true })
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('One')
    gate.open()
    await chat.api.waitForText('One two.')
    await settleDeliveries(await getSessionId(chat))
    expect(chat.api.sentTexts).toHaveLength(1)
    expect(chat.api.messageTexts).toEqual(['One two.'])
  })

  it('is not seen as long as it may be silence', async () => {
    const rows: string[] = []
    const preview = new Preview({
      editIntervalMs: async () => 1,
      ensureRow: (_run, text) => {
        rows.push(text)
        throw new Error('seen')
      },
      getRow: () => undefined,
      edit: async () => ({ of: 'gone', detail: '' }),
    })
    for (const text of ['\n', '[SIL', 'ENT]']) expect(preview.append('run', text)).toBeUndefined()
    await expect(preview.append('run', ' night')).rejects.toThrow('seen')
    expect(rows).toEqual(['\n[SILENT] night …'])
  })

  it('and ends in silence says so, whoever it was for', async () => {
    const gate = new Gate()
    const searches = calls({ name: 'search_files', input: { pattern: 'x' } })
    const looks = [...createTextParts('Looking.', gate), ...(searches as readonly ReplyPart[])]
    const chat = await newChat([says('Hello.'), looks, says('[SILENT]')], { streaming: true })
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('Hello.')
    const session = await getSessionId(chat)
    await settleDeliveries(session)
    const tenant = await bindings.TENANT.getByName('t/default').snapshot()
    const message = userText('A process has ended.', 'process')
    await objectOf(session).runs.submit(requestCommand(message, { tenant }))
    await chat.api.waitForText('Looking')
    gate.open()
    await chat.api.waitForText('No answer')
    await settleDeliveries(session)
    expect(chat.api.messageTexts).toEqual(['Hello.', '(The agent decided not to answer.)'])
  })

  it('is not edited any more once the platform is busy; the answer comes', async () => {
    const gates = [new Gate(), new Gate()] as const
    const chat = await newChat([says('One ', gates[0], 'two ', gates[1], 'three.')], { streaming: true })
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

  it('of a turn that is stopped ends where it was', async () => {
    const gate = new Gate()
    const chat = await newChat([says('One ', gate, 'two.')], { streaming: true })
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('One')
    const session = await getSessionId(chat)
    await until(async () => (await listOutboxStates(session))[0] === 'sent')
    await call('POST', `/api/sessions/${session}/stop`)
    await until(() => chat.api.messageTexts.join() === 'One')
    expect(chat.api.sentTexts).toHaveLength(1)
  })

  it('whose message is gone is sent as a new one', async () => {
    const gate = new Gate()
    const chat = await newChat([says('One ', gate, 'two.')], { streaming: true })
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

  it('that is longer than a message goes on in others', async () => {
    const gate = new Gate()
    const chat = await newChat([says('One ', gate, long(3))], { streaming: true })
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

describe('a call that a person has to allow', () => {
  async function asked(settings: object = {}) {
    const chat = await newChat([calls(append), says('Done.')], settings)
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
        () => chat.api.callsOf('answerCallbackQuery').find(({ body }) => body['callback_query_id'] === `p${nth}`)?.body.text,
      )
    }
    return { chat, session: await getSessionId(chat), press, buttons }
  }

  it('is asked about with buttons; pressed once, it runs once, and late presses are told so', async () => {
    const { chat, session, press, buttons } = await asked()
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

  it('is not decided by the buttons of an earlier one', async () => {
    const other = { ...append, input: { command: 'echo y >> count.txt' } }
    const chat = await newChat([calls(append), says('Done.'), calls(other), says('Left it.')])
    await call('PATCH', '/api/settings', { body: asking })
    const push = async (nth: number, label: string) => {
      const { body } = await until(() => chat.api.callsOf('sendMessage').filter((sent) => sent.body.reply_markup)[nth])
      const button = body.reply_markup?.inline_keyboard.flat().find(({ text }) => text === label)
      await postUpdate(chat, pressOf(button?.callback_data ?? '', anna, 101))
      const id = `p${presses}`
      return until(
        () => chat.api.callsOf('answerCallbackQuery').find(({ body: { callback_query_id: of } }) => of === id)?.body.text,
      )
    }
    await receiveMessage(chat, 'go')
    expect(await push(0, 'Allow once')).toContain('Taken')
    await chat.api.waitForText('Done.')
    await receiveMessage(chat, 'more')
    await chat.api.waitForText('echo y')
    expect(await push(0, 'Allow once')).toContain('Expired')
    expect(await push(1, 'Deny')).toContain('Taken')
    await chat.api.waitForText('Left it.')
    expect(await fileOf(await getSessionId(chat), 'count.txt')).toBe('x\n')
  })

  it('can be denied by an admin, also after the object died', async () => {
    const { chat, session, press } = await asked({ admins: ['12'] })
    await kill(session)
    expect(await press('Deny', bert)).toContain('Taken')
    await chat.api.waitForText('Done.')
    expect(await fileOf(session, 'count.txt')).toBe(404)
  })

  it('is not allowed by words', async () => {
    const { chat, session } = await asked()
    await receiveMessage(chat, 'yes')
    await ring(session)
    expect(await fileOf(session, 'count.txt')).toBe(404)
    expect(
      (await call<{ data: { session_id: string }[] }>('GET', '/api/approvals')).body.data.filter(
        (one) => one.session_id === session,
      ),
    ).toHaveLength(1)
  })

  it('asked about in a button that nobody made is expired', async () => {
    const { chat } = await asked()
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
    const chat = await newChat([calls(clarify), says('Fine.')], { busy_mode: 'queue' })
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

describe('a turn that breaks off and is said anew', () => {
  it('is one answer', async () => {
    const chat = await newChat([drops('Hel'), says('Hello.')])
    await receiveMessage(chat, 'hi')
    const session = await getSessionId(chat)
    await until(async () => (await listOutbox(session)).length)
    await settleDeliveries(session)
    expect(chat.api.sentTexts).toHaveLength(1)
  })
})
