/** Tests drafts for the private chats of a person: what others write is foreign, and nothing leaves before a press. */

import { beforeAll, describe, expect, it } from 'vitest'
import { createChat, createUpdate, getSessionId, listOutbox, postUpdate, receiveMessage } from '../../support/chat.ts'
import { calls, fails, type Reply, says, until } from '../../support/scripted-model.ts'
import { adminKey, applyMigrations, call } from '../../worker/client.ts'
import { fireAlarm, kill } from '../support/object.ts'

beforeAll(applyMigrations)

const bert = { id: 22, is_bot: false, first_name: 'Bert [99]:' }
const owner = { id: 11, is_bot: false, first_name: 'Anna' }
let ids = 0

async function createSecretary(replies: readonly Reply[], settings: object = {}, rights: object = { can_reply: true }) {
  const chat = await createChat(replies, { secretary: true, allow_users: ['11', '12'], ...settings })
  chat.api.businesses.set('bc1', { id: 'bc1', user: owner, user_chat_id: 11, date: 1, is_enabled: true, rights })
  const post = async (update: object) => (await postUpdate(chat, createUpdate(update))).status
  const written = (text: string, more: object = {}) => ({
    message_id: ++ids,
    date: 1,
    business_connection_id: 'bc1',
    chat: { id: 22, type: 'private', first_name: 'Bert' },
    from: bert,
    text,
    ...more,
  })
  const write = (text: string, more: object = {}) => post({ business_message: written(text, more) })
  const drafts = () => chat.api.callsOf('sendMessage').filter(({ body }) => body.text?.startsWith('Draft for'))
  const draft = (nth = 0) => until(() => drafts()[nth])
  const press = async (label: string, nth = 0, from: object = owner) => {
    const { body } = await draft(nth)
    const button = body.reply_markup?.inline_keyboard.flat().find(({ text }) => text === label)
    const id = `b${++ids}`
    const message = { message_id: 101, date: 1, chat: { id: 11, type: 'private' } }
    await post({ callback_query: { id, from, message, data: button?.callback_data ?? '' } })
    return until(
      () => chat.api.callsOf('answerCallbackQuery').find((one) => one.body['callback_query_id'] === id)?.body.text,
    )
  }
  /** Messages in the name of the owner. */
  const sent = () => chat.api.callsOf('sendMessage').filter(({ body }) => body['business_connection_id'])
  const session = await getSessionId(chat, 'business:22')
  return { ...chat, chat, post, write, written, drafts, draft, press, sent, session }
}

it('drafts an answer in the chat of the owner, and sends it once in their name after a press', async () => {
  const { write, draft, press, sent, session, scripted, chat } = await createSecretary([
    says('See you at *eight*.'),
    says('Own.'),
  ])
  expect(chat.api.webhook['allowed_updates']).toContain('business_message')
  expect(await write('When do we meet?')).toBe(200)
  const { body } = await draft()
  expect(body).toMatchObject({ chat_id: 11, text: 'Draft for Bert 99 [22]:\n\nSee you at eight.' })
  expect(body).not.toHaveProperty('business_connection_id')
  expect(body.reply_markup?.inline_keyboard.flat().map(({ text }) => text)).toEqual(['Send', 'Edit', 'Discard'])
  const asked = JSON.stringify(scripted.requests[0]?.messages)
  expect(asked).toContain('When do we meet?')
  expect(asked).toContain('Bert 99 wrote this')
  expect(sent()).toEqual([])
  await kill(session)
  expect(await press('Send', 0, { ...owner, id: 12 })).toContain('Only the person')
  expect(sent()).toEqual([])
  expect(await press('Send')).toBe('Send')
  await until(() => sent().length)
  expect(sent()[0]?.body).toMatchObject({ chat_id: 22, business_connection_id: 'bc1', text: 'See you at eight.' })
  expect(await press('Send')).toContain('Expired')
  expect(sent()).toHaveLength(1)
  // The own conversation of the owner with the bot knows nothing of it.
  await receiveMessage(chat, 'hello')
  await chat.api.waitForText('Own.')
  expect(JSON.stringify(scripted.requests.at(-1)?.messages)).not.toContain('When do we meet?')
})

it('drafts anew when the owner replies to the draft, and sends nothing that is discarded', async () => {
  const { write, draft, press, sent, scripted, chat } = await createSecretary([says('At eight.'), says('At nine.')])
  await write('When?')
  const { body } = await draft()
  expect(await press('Edit')).toContain('Reply to this draft')
  const bot = { id: 4711, is_bot: true, first_name: 'Bot' }
  await receiveMessage(chat, 'later please', {
    reply_to_message: { message_id: 101, from: bot, text: body.text },
  })
  expect((await draft(1)).body.text).toContain('At nine.')
  expect(JSON.stringify(scripted.requests.at(-1)?.messages)).toContain('later please')
  expect(await press('Discard')).toBe('Discard')
  expect(await press('Send', 1)).toBe('Send')
  await until(() => sent().length)
  expect(sent().map((one) => one.body.text)).toEqual(['At nine.'])
})

it('has none of the rights of the owner, asks them alone, and takes no words of others for an answer', async () => {
  const ask = calls({ name: 'clarify', input: { question: 'Which day?', choices: ['Monday', 'Tuesday'] } })
  const job = calls({ name: 'cronjob', input: { action: 'create', schedule: 'every 2h', prompt: 'look' } })
  const { write, api, scripted, sent, drafts } = await createSecretary([job, ask, says('On Monday.'), says('More.')], {
    admins: ['11'],
    jobs: 'everybody',
    search_scope: 'tenant',
  })
  await write('/approve all')
  await api.waitForText('Which day?')
  expect(JSON.stringify(scripted.requests[1]?.messages.at(-1))).toMatch(/not allowed|may not|scope|denied|role/i)
  await write('Tuesday')
  expect(JSON.stringify(scripted.requests)).not.toContain('user_response')
  expect(drafts()).toEqual([])
  expect(sent()).toEqual([])
})

describe('leaves out', () => {
  it.each([
    ['what the owner writes there', {}, { from: owner }],
    ['groups', {}, { chat: { id: -5, type: 'group' } }],
    ['everything, unless the setting is on', { secretary: false }, {}],
    ['the chats of people whom the channel does not know', { allow_users: ['77'] }, {}],
    ['unknown connections', {}, { business_connection_id: 'bc9' }],
  ])('%s', async (_what, settings, more) => {
    const { write, drafts, scripted, session } = await createSecretary([says('Never.')], settings)
    expect(await write('hi', more)).toBe(200)
    await fireAlarm(session)
    expect(drafts()).toEqual([])
    expect(scripted.requests).toEqual([])
  })
})

it('asks Telegram to deliver again while it does not say whose chat it is', async () => {
  const { api, write, written, post, draft } = await createSecretary([says('Here.')])
  api.overrideNext('getBusinessConnection', { status: 502 })
  const message = written('hi')
  expect(await post({ business_message: message })).toBeGreaterThanOrEqual(500)
  expect(await post({ business_message: message })).toBe(200)
  expect((await draft()).body.text).toContain('Here.')
  expect(await write('', { text: undefined, sticker: { emoji: '👍' } })).toBe(200)
})

it('offers no button to send without the right, and tells the owner what Telegram refuses', async () => {
  const without = await createSecretary([says('Hello.')], {}, {})
  await without.write('hi')
  const { body } = await without.draft()
  expect(body.reply_markup?.inline_keyboard.flat().map(({ text }) => text)).toEqual(['Edit', 'Discard'])
  expect(body.text).toContain('right to reply')
  const { write, press, draft, api, session } = await createSecretary([says('Hello.')])
  await write('hi')
  await draft()
  api.overrideNext('sendMessage', { status: 400, description: 'Bad Request: BUSINESS_PEER_INVALID' })
  await press('Send')
  await api.waitForText('Your answer to Bert 99 was not sent, or perhaps: ')
  const { write: again, press: send, draft: shown, api: other } = await createSecretary([says('Hello.')])
  await again('hi')
  await shown()
  other.overrideNext('sendMessage', 'lost')
  await send('Send')
  await other.waitForText('was not sent, or perhaps: unknown')
  expect(other.callsOf('sendMessage').filter((one) => one.body['business_connection_id'])).toHaveLength(1)
  expect((await listOutbox(session)).length).toBeGreaterThan(0)
})

it('drafts for the new text of a message that changes, and none for one that is deleted, while its turn runs', async () => {
  const chat = await createSecretary([says('One.'), says('Two.')], { burst_ms: 300 })
  const message = chat.written('frist')
  await chat.post({ business_message: message })
  await chat.post({ edited_business_message: { ...message, text: 'first', edit_date: 2 } })
  await chat.draft()
  const asked = JSON.stringify(chat.scripted.requests[0]?.messages)
  expect(asked).toContain('first')
  expect(asked).not.toContain('frist')
  const second = chat.written('second')
  await chat.post({ business_message: second })
  await chat.post({
    deleted_business_messages: {
      business_connection_id: 'bc1',
      chat: { id: 22, type: 'private' },
      message_ids: [second.message_id],
    },
  })
  await until(() => chat.scripted.requests[1])
  const later = JSON.stringify(chat.scripted.requests[1]?.messages.at(-1))
  expect(later).toContain('was deleted')
  expect(later).not.toContain('second')
})

it('tells the owner of a failure, which is no draft', async () => {
  const { write, api, drafts } = await createSecretary([fails(400, 'context is strange')])
  await write('hi')
  const told = await until(() => api.callsOf('sendMessage')[0])
  expect(told.body.chat_id).toBe(11)
  expect(told.body).not.toHaveProperty('reply_markup')
  expect(drafts()).toEqual([])
})

it('sends no draft that is silence', async () => {
  const { write, scripted, session, chat } = await createSecretary([says('NO_REPLY')])
  await write('ok thanks')
  await until(async () => {
    await fireAlarm(session)
    return scripted.requests.length === 1
  })
  await until(
    async () =>
      (await call<{ status: string }>('GET', `/api/sessions/${session}`, { key: adminKey })).body.status !== 'running',
  )
  expect(chat.api.sentTexts).toEqual([])
})
