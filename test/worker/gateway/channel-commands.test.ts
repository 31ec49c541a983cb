/** Tests the commands that concern a chat of a channel: `/platform`, `/pause`, `/save` and `/voice`. */

import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { createSkippingClock } from '../../support/clock.ts'
import { opusBytes } from '../../backends/media/fixtures.ts'
import {
  anna,
  bert,
  type ChatFixture,
  createChat,
  createMessage,
  createUpdate,
  getLastRun,
  getSessionId,
  postUpdate,
  receiveMessage,
} from '../../support/chat.ts'
import { sentTo, vendors } from '../../support/media-vendors.ts'
import { calls, Gate, model, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, call, newSession, newTenant, request } from '../client.ts'
import type { Run } from '../listen.ts'

beforeAll(applyMigrations)

const ofBert = { from: bert, chat: { id: 12, type: 'private' } }
const readFile = async (session: string, path: string, key: string) =>
  (await request('GET', `/api/sessions/${session}/files/${path}`, { key })).text()

async function newChat(replies: Parameters<typeof createChat>[0], settings: object = {}) {
  const { key } = await newTenant()
  return { key, chat: await createChat(replies, settings, key) }
}

describe('/platform', () => {
  it('names platform, connection and chat', async () => {
    const { chat } = await newChat([])
    await receiveMessage(chat, '/platform')
    await chat.api.waitForText('Platform: telegram')
    const [text] = chat.api.messageTexts
    expect(text).toContain(`Connection: ${chat.channel}, active`)
    expect(text).toContain('Chat: telegram:11, a direct chat')
    expect(text).toContain('files up to 50 MB')
  })

  it('has no meaning beyond chats', async () => {
    const { id } = await newSession()
    const { body } = await call<Run>('POST', `/api/sessions/${id}/chat`, { body: { input: '/platform' } })
    expect(body.output).toContain('has a meaning in the chats of a channel alone')
  })
})

describe('choices as buttons', () => {
  let pressed = 0
  const press = (chat: ChatFixture, data: string, from: object = anna, id = 11) =>
    postUpdate(
      chat,
      createUpdate({
        callback_query: {
          id: `c${++pressed}`,
          from,
          message: { message_id: 101, date: 1, chat: { id, type: 'private' } },
          data,
        },
      }),
    )
  const lastButtons = (chat: ChatFixture) =>
    chat.api.callsOf('sendMessage').at(-1)?.body.reply_markup?.inline_keyboard.flat() ?? []
  const labelsOf = (chat: ChatFixture) => lastButtons(chat).map(({ text }) => text)
  const dataOf = (chat: ChatFixture, label: string) =>
    lastButtons(chat).find(({ text }) => text === label)?.callback_data ?? ''
  const open = async (chat: ChatFixture, command: string, ...labels: readonly string[]) => {
    await receiveMessage(chat, command, { message_id: 1_000 + pressed })
    await until(() => labels.every((label) => labelsOf(chat).includes(label)))
  }

  it.each([
    ['/busy', 'queue', 'While a turn runs: queue.'],
    ['/footer', 'on', 'Footer: on.'],
    ['/verbose', 'all', 'Progress: all.'],
    ['/reasoning', 'high', 'The reasoning effort is now high.'],
  ])('%s shows its values, and a press chooses one', async (command, label, answer) => {
    const { chat } = await newChat([], { admins: ['11'] })
    await open(chat, command, label)
    await press(chat, dataOf(chat, label))
    await chat.api.waitForText(answer)
    await chat.api.waitForText(`→ ${command} ${label}`)
    expect(labelsOf(chat)).not.toContain(label)
  })

  it('/model shows the usable models in pages', async () => {
    const { chat, key } = await newChat([], { admins: ['11'] })
    const [provider = ''] = chat.scripted.id.split('/')
    const models = Object.fromEntries(
      Array.from({ length: 12 }, (_, n) => [`${provider}/own-${n}`, { context_window: 100_000 }]),
    )
    expect((await call('PATCH', '/api/settings', { key, body: { models } })).status).toBe(200)
    await open(chat, '/model', 'default', 'More »')
    expect(labelsOf(chat)).toHaveLength(9)
    const first = labelsOf(chat)
    await press(chat, dataOf(chat, 'More »'))
    await until(() => labelsOf(chat).includes('« Back'))
    expect(labelsOf(chat).filter((label) => first.includes(label) && label !== 'More »')).toEqual([])
    await press(chat, dataOf(chat, '« Back'))
    await until(() => labelsOf(chat).includes('default'))
    await press(chat, dataOf(chat, 'default'))
    await chat.api.waitForText('The model is now')
  })

  it('/sessions shows the earlier conversations', async () => {
    const { chat } = await newChat([says('One.')])
    await receiveMessage(chat, 'Hello')
    await chat.api.waitForText('One.')
    await receiveMessage(chat, '/title Tea')
    await receiveMessage(chat, '/new')
    await open(chat, '/sessions', '1. Tea')
    await press(chat, dataOf(chat, '1. Tea'))
    await chat.api.waitForText('You are back in the conversation: Tea.')
    expect(chat.scripted.requests).toHaveLength(1)
  })

  it('only the person who asked may choose, and a press has the rights of that person', async () => {
    const { chat } = await newChat([], { allow_users: ['11', '12'] })
    await open(chat, '/busy', 'queue')
    const data = dataOf(chat, 'queue')
    await press(chat, data, bert)
    await until(() => chat.api.callsOf('answerCallbackQuery').some(({ body }) => /Only who asked/.test(`${body.text}`)))
    await receiveMessage(chat, '/busy', ofBert)
    expect(chat.api.messageTexts.filter((text) => text.includes('While a turn runs: queue'))).toEqual([])
  })
})

describe('/busy and /footer', () => {
  it('a chat chooses what a message does while a turn runs', async () => {
    const gate = new Gate()
    const [first = '', ...rest] = says('One.') as readonly string[]
    const { chat } = await newChat([[first, gate, ...rest], says('Two.')], { busy_mode: 'interrupt' })
    await receiveMessage(chat, '/busy queue')
    await chat.api.waitForText('While a turn runs: queue.')
    await receiveMessage(chat, 'one', { message_id: 8 })
    await gate.waitUntilReached()
    await receiveMessage(chat, 'two', { message_id: 9 })
    gate.open()
    await chat.api.waitForText('Two.')
    expect(chat.api.messageTexts).toContain('One.')
    for (const [text, answer] of [
      ['/busy', 'While a turn runs: queue.'],
      ['/busy default', 'While a turn runs: as the channel is set.'],
      ['/busy nonsense', '/busy [interrupt|queue|steer|default]'],
    ] as const) {
      await receiveMessage(chat, text)
      await chat.api.waitForText(answer)
    }
  })

  it('an answer ends with model, context and cost', async () => {
    const { chat } = await newChat([says('Plain.'), says('With it.'), says('Again plain.')])
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('Plain.')
    await receiveMessage(chat, '/footer on')
    await chat.api.waitForText('Footer: on.')
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('With it.')
    expect(chat.api.messageTexts.find((text) => text.startsWith('With it.'))).toMatch(
      /^With it\.\n\n\S+, \d+ tokens of context, (?:cost unknown|[\d.]+ USD)$/,
    )
    await receiveMessage(chat, '/footer off')
    await chat.api.waitForText('Footer: off.')
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('Again plain.')
    expect(chat.api.messageTexts).toEqual(expect.arrayContaining(['Plain.', 'Again plain.']))
  })
})

describe('/undo', () => {
  it('deletes the answer that has just left, and no older one', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    onTestFinished(() => replaceClock())
    const { chat } = await newChat([says('Older.'), says('Wrong.')])
    await receiveMessage(chat, 'one', { message_id: 8 })
    await chat.api.waitForText('Older.')
    clock.pass(60_000)
    await receiveMessage(chat, 'two', { message_id: 9 })
    await chat.api.waitForText('Wrong.')
    await receiveMessage(chat, '/undo 2', { message_id: 10 })
    await chat.api.waitForText('Undone: 2 turns.')
    await until(() => !chat.api.messageTexts.includes('Wrong.'))
    expect(chat.api.messageTexts).toContain('Older.')
  })
})

describe('/pause', () => {
  const statusOf = async ({ channel }: ChatFixture, key: string) =>
    (await call<{ status: string }>('GET', `/api/channels/${channel}`, { key })).body.status

  it('pauses the channel for everybody, until an admin ends it', async () => {
    const { key, chat } = await newChat([says('Back.')], { admins: ['11'] })
    await receiveMessage(chat, '/pause')
    await chat.api.waitForText('is paused')
    expect(await statusOf(chat, key)).toBe('paused')
    // Nobody is answered, and only an admin is heard.
    for (const text of ['hello', '/status', '/pause', '/pause on'])
      expect((await postUpdate(chat, createUpdate({ message: createMessage(text) }))).status).toBe(200)
    await receiveMessage(chat, '/pause off', ofBert)
    expect(await statusOf(chat, key)).toBe('paused')
    await receiveMessage(chat, '/pause off')
    await chat.api.waitForText('answers again')
    expect(await statusOf(chat, key)).toBe('active')
    await receiveMessage(chat, 'hello')
    await chat.api.waitForText('Back.')
    expect([chat.api.sentTexts.length, chat.scripted.requests.length]).toEqual([3, 1])
  })

  it('stands in the audit log with the person', async () => {
    const { key, chat } = await newChat([], { admins: ['11'] })
    await receiveMessage(chat, '/pause')
    await chat.api.waitForText('is paused')
    const { body } = await call<{ data: { kind: string; actor: string }[] }>('GET', '/api/audit', { key })
    expect(body.data).toContainEqual(
      expect.objectContaining({ kind: 'channel.changed', actor: `person:${chat.channel}:11` }),
    )
  })

  it('is refused to others, and says how it is used', async () => {
    const { key, chat } = await newChat([], { admins: ['11'] })
    await receiveMessage(chat, '/pause', ofBert)
    await chat.api.waitForText('You may not use /pause')
    await receiveMessage(chat, '/pause for lunch')
    await chat.api.waitForText('Usage: /pause [off]')
    expect(await statusOf(chat, key)).toBe('active')
  })
})

describe('/save', () => {
  const write = calls({ name: 'write_file', input: { path: 'a.txt', content: 'a' } })

  it('sends a chat what was said, and nothing that only the agent saw', async () => {
    const { key, chat } = await newChat([write, says('It is **written**.')])
    await receiveMessage(chat, 'write it')
    await chat.api.waitForText('It is written.')
    await receiveMessage(chat, '/save')
    await until(() => chat.api.sentFiles.length > 0)
    const session = await getSessionId(chat)
    const [sent] = chat.api.sentFiles
    expect(chat.api.sentTexts.at(-1)).toBe(`Saved: exports/${sent?.name}`)
    const text = await readFile(session, `exports/${sent?.name}`, key)
    expect(text).toMatch(/## User.*write it.*## Assistant.*It is \*\*written\*\*\./s)
    expect(text).not.toContain('write_file')
    expect(chat.scripted.requests).toHaveLength(2)
  })

  it.each([
    ['json', /^\{"format":"talaria\.session"/],
    ['html', /^<!doctype html>/i],
  ])('writes %s', async (format, expected) => {
    const scripted = model([says('Hi.')])
    const { id } = await newSession({ model: scripted.id })
    const say = async (input: string) =>
      (await call<Run>('POST', `/api/sessions/${id}/chat`, { body: { input } })).body.output ?? ''
    await say('hello')
    const [, path = ''] = /^Saved: (exports\/\S+)$/.exec(await say(`/save ${format}`)) ?? []
    expect(path.endsWith(`.${format}`)).toBe(true)
    const file = await request('GET', `/api/sessions/${id}/files/${path}`)
    expect(await file.text()).toMatch(expected)
  })

  it('masks secrets in a chat, and for a key that wants it', async () => {
    const { key, chat } = await newChat([says('ok')])
    const secret = 'sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789'
    await receiveMessage(chat, `keep ${secret}`)
    await chat.api.waitForText('ok')
    await receiveMessage(chat, '/save json')
    await until(() => chat.api.sentFiles.length > 0)
    const session = await getSessionId(chat)
    expect(await readFile(session, `exports/${chat.api.sentFiles[0]?.name}`, key)).not.toContain(secret)
    const say = async (input: string) =>
      (await call<Run>('POST', `/api/sessions/${session}/chat`, { key, body: { input } })).body.output ?? ''
    const saved = async (input: string) => readFile(session, (await say(input)).replace('Saved: ', ''), key)
    expect(await saved('/save html redact')).not.toContain(secret)
    expect(await saved('/save html')).toContain(secret)
  })

  it.each([
    ['/save', /no conversation/],
    ['/save pdf', /Usage: \/save/],
    ['/save md html', /Usage: \/save/],
  ])('answers %s in an empty session', async (input, expected) => {
    const { id } = await newSession()
    const { body } = await call<Run>('POST', `/api/sessions/${id}/chat`, { body: { input } })
    expect(body.output).toMatch(expected)
  })
})

describe('/voice', () => {
  beforeEach(() =>
    vendors.begin(({ url }) =>
      url.endsWith('/audio/transcriptions')
        ? Response.json({ text: 'how are you' })
        : new Response(opusBytes(['spoken'])),
    ),
  )
  /** Rows of a chat are sent in order. */
  const waitForAnswers = async (chat: ChatFixture) => {
    await receiveMessage(chat, '/platform')
    await chat.api.waitForText('Platform:')
  }
  const spoken = () => sentTo('/audio/speech').map(({ input }) => input)
  const said = { text: undefined, voice: { file_id: 'voice-1', mime_type: 'audio/ogg', duration: 2 } }

  it('tts speaks every answer behind its text, without code and addresses', async () => {
    const { chat } = await newChat([says('See **this**:\n```js\nlet a\n```\nat https://x.test/a'), says('Quiet.')])
    await receiveMessage(chat, '/voice tts')
    await chat.api.waitForText('Voice: tts')
    await receiveMessage(chat, 'hello')
    await until(() => chat.api.callsOf('sendVoice').length === 1)
    expect(spoken()).toEqual(['See this:\n\nat'])
    await receiveMessage(chat, '/voice off')
    await chat.api.waitForText('Voice: off')
    await receiveMessage(chat, 'hello again')
    await chat.api.waitForText('Quiet.')
    await waitForAnswers(chat)
    expect([chat.api.callsOf('sendVoice').length, spoken().length]).toEqual([1, 1])
  })

  it('on speaks the answers to voice messages alone', async () => {
    const { chat } = await newChat([says('By text.'), says('By voice.')])
    chat.api.files.set('voice-1', new TextEncoder().encode('OggS and so on'))
    await receiveMessage(chat, '/voice on')
    await receiveMessage(chat, 'hello')
    await chat.api.waitForText('By text.')
    await receiveMessage(chat, '', said)
    await until(() => chat.api.callsOf('sendVoice').length === 1)
    expect(spoken()).toEqual(['By voice.'])
  })

  it('costs nothing but the voice when the vendor fails', async () => {
    const { key, chat } = await newChat([says('The text.')])
    await receiveMessage(chat, '/voice tts')
    await chat.api.waitForText('Voice: tts')
    vendors.begin(() => Response.json({ error: { message: 'no' } }, { status: 400 }))
    await receiveMessage(chat, 'hello')
    await chat.api.waitForText('The text.')
    await waitForAnswers(chat)
    expect(chat.api.callsOf('sendVoice')).toHaveLength(0)
    expect(await getLastRun(await getSessionId(chat), key)).not.toHaveProperty('delivery_error')
  })

  it('is refused where nobody can speak', async () => {
    const { key, chat } = await newChat([])
    await call('PATCH', '/api/settings', { key, body: { tts: { provider: 'elevenlabs' } } })
    await receiveMessage(chat, '/voice on')
    await chat.api.waitForText('Speech is not configured here')
    await receiveMessage(chat, '/voice')
    await chat.api.waitForText('Voice: off')
    await receiveMessage(chat, '/voice loud')
    await chat.api.waitForText('Usage: /voice')
    expect(spoken()).toEqual([])
  })
})
