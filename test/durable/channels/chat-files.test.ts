import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { lines, pdfWith } from '#test/backends/support/pdf.ts'
import { channelSettings } from '#channels/settings.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createConnections } from '#db/channel-connections.ts'
import { calls, Gate, model, says, until } from '../../support/scripted-model.ts'
import {
  bert,
  type ChatFixture,
  createChat,
  createMessage,
  createUpdate,
  getLastRun,
  getSessionId,
  postUpdate,
  receiveMessage,
  settleDeliveries,
} from '../../support/chat.ts'
import { applyMigrations, bindings, call, newTenant, request } from '../../worker/client.ts'
import { listLines } from '../../worker/listen.ts'
import { kill } from '../support/object.ts'

beforeAll(applyMigrations)

const outside = globalThis.fetch
/** Every transcription says the same. */
beforeAll(() => {
  globalThis.fetch = (input: RequestInfo | URL, init?: RequestInit) => {
    const url = input instanceof Request ? input.url : String(input)
    return url.endsWith('/audio/transcriptions')
      ? Promise.resolve(Response.json({ text: 'hello there' }))
      : outside(input, init)
  }
})
afterAll(() => {
  globalThis.fetch = outside
})

/** One pixel. */
const png = Uint8Array.from(
  atob('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='),
  (char) => char.charCodeAt(0),
)
const bytesOf = (text: string) => new TextEncoder().encode(text)
const contentOf = (chat: ChatFixture) => JSON.stringify(chat.scripted.requests.at(-1)?.messages.at(-1)?.content)

describe('a message with files', () => {
  it('gives an image to the model, and puts the file into the workspace', async () => {
    const chat = await createChat([says('A pixel.')])
    chat.api.files.set('photo-1', png)
    const photo = [{ file_id: 'small' }, { file_id: 'photo-1', file_size: png.length }]
    await receiveMessage(chat, '', { text: undefined, caption: 'what is this?', photo })
    await chat.api.waitForText('A pixel.')
    expect(contentOf(chat)).toContain('what is this?')
    expect(contentOf(chat)).toContain('data:image/png;base64,')
    const [path] = /uploads\/[\w/.-]+/.exec(contentOf(chat)) ?? []
    const file = await request('GET', `/api/sessions/${await getSessionId(chat)}/files/${path}`)
    expect(new Uint8Array(await file.arrayBuffer())).toEqual(png)
  })

  it('gives the model the file that a person of a group replies to, and names the others', async () => {
    const chat = await createChat([says('A pixel.')])
    chat.api.files.set('photo-2', png)
    const group = { chat: { id: -80, type: 'supergroup' } }
    const photo = [{ file_id: 'photo-2', file_size: png.length }]
    await receiveMessage(chat, '', { ...group, text: undefined, photo })
    await receiveMessage(chat, '@TalariaBot what is this?', {
      ...group,
      entities: [{ type: 'mention', offset: 0, length: 11 }],
      reply_to_message: { message_id: 6, from: bert, photo },
    })
    await chat.api.waitForText('A pixel.')
    expect(contentOf(chat)).toContain('Anna: [photo]')
    expect(contentOf(chat)).toContain('[In reply to Bert: (photo)]\\nwhat is this?')
    expect(contentOf(chat)).toMatch(/\[File of the message replied to: uploads.*data:image\/png;base64,/s)
  })

  it('gives the model the file of a message of another chat, in a direct chat too', async () => {
    const chat = await createChat([says('A pixel.')])
    chat.api.files.set('photo-3', png)
    const origin = { type: 'channel', date: 1, chat: { id: -9, type: 'channel', title: 'News' }, message_id: 5 }
    const photo = [{ file_id: 'photo-3', file_size: png.length }]
    await receiveMessage(chat, 'what is this?', { external_reply: { origin, photo } })
    await chat.api.waitForText('A pixel.')
    expect(contentOf(chat)).toContain('[In reply to News: (photo)]\\nwhat is this?')
    expect(contentOf(chat)).toContain('data:image/png;base64,')
  })

  it('puts a short text into the message, and what is said in sound', async () => {
    const chat = await createChat([says('Read.')])
    chat.api.files.set('doc-1', bytesOf('a,b\n1,2'))
    chat.api.files.set('doc-2', Uint8Array.from([0, 1, 2, 3]))
    const document = { file_id: 'doc-1', file_name: '../t able.csv', mime_type: 'text/csv' }
    await receiveMessage(chat, '', { text: undefined, document, audio: { file_id: 'doc-2', mime_type: 'audio/mpeg' } })
    await chat.api.waitForText('Read.')
    expect(contentOf(chat)).toContain('a,b\\n1,2')
    expect(contentOf(chat)).not.toContain('..')
    expect(contentOf(chat)).toMatch(/\(audio\/mpeg\).*contains:\]\\nhello there/)
  })

  it('says what a binary is, and that a command reads no files', async () => {
    const chat = await createChat([says('Read.')])
    chat.api.files.set('doc-1', Uint8Array.from([0, 1, 2, 3]))
    chat.api.files.set('doc-2', bytesOf('a,b'))
    await receiveMessage(chat, '', {
      text: undefined,
      caption: 'this',
      document: { file_id: 'doc-1', file_name: 'a.bin' },
    })
    await chat.api.waitForText('Read.')
    expect(contentOf(chat)).toMatch(/a\.bin contains:\]\\n\(It is binary\. .*as text/)
    const document = { file_id: 'doc-2', file_name: 'b.csv' }
    await receiveMessage(chat, '', { text: undefined, caption: '/status', document, message_id: 9 })
    await until(() => chat.api.messageTexts.some((text) => /Status: .*The attached file was not read/s.test(text)))
    expect(chat.scripted.requests).toHaveLength(1)
  })

  const documentOf = (id: string, name: string, type: string) => ({
    text: undefined,
    caption: 'sum it up',
    document: { file_id: id, file_name: name, mime_type: type },
  })

  it('gives a PDF as such to a model that takes it, and its text to others', async () => {
    const { key } = await newTenant()
    const chat = await createChat([says('By text.')], {}, key)
    const bytes = await pdfWith([lines('Annual report')])
    chat.api.files.set('pdf-1', bytes)
    await receiveMessage(chat, '', documentOf('pdf-1', 'report.pdf', 'application/pdf'))
    await chat.api.waitForText('By text.')
    expect(contentOf(chat)).toMatch(/report\.pdf \(application\/pdf\).*Annual report/)
    const reader = model([says('As a file.')], 'gpt-4o-for-chat-pdf')
    await call('PATCH', '/api/settings', { key, body: { model: { default: reader.id } } })
    await receiveMessage(chat, 'once more', { message_id: 9 })
    await chat.api.waitForText('As a file.')
    expect(reader.requestTexts[0]).toContain(`data:application/pdf;base64,${encodeBase64Bytes(bytes)}`)
    expect(reader.requestTexts[0]).not.toContain('Annual report')
  })

  it('shows what documents contain up to a budget, in their own encodings, and why one cannot be read', async () => {
    const chat = await createChat([says('One.'), says('Two.'), says('Three.')])
    chat.api.files.set(
      'csv',
      Uint8Array.from('Stra\u00dfe;M\u00fcller\n', (char) => char.charCodeAt(0)),
    )
    chat.api.files.set('log', bytesOf('x'.repeat(70_000)))
    chat.api.files.set(
      'zip',
      Uint8Array.from('PK\x03\x04\0\0PK\x01\x02\0\0\0\0\x01\0\0', (char) => char.charCodeAt(0)),
    )
    await receiveMessage(chat, '', documentOf('csv', 'a.csv', 'text/comma-separated-values'))
    await chat.api.waitForText('One.')
    expect(contentOf(chat)).toContain('Straße;Müller')
    await receiveMessage(chat, '', { ...documentOf('log', 'a.log', 'application/octet-stream'), message_id: 9 })
    await chat.api.waitForText('Two.')
    expect(contentOf(chat)).toMatch(/x{60000}\\n\[10000 more characters of uploads/)
    await receiveMessage(chat, '', { ...documentOf('zip', 'a.zip', 'application/zip'), message_id: 10 })
    await chat.api.waitForText('Three.')
    expect(contentOf(chat)).toContain('protected by a password')
  })

  it('shows the model what a voice message says, and no binary', async () => {
    const chat = await createChat([says('I hear you.')])
    chat.api.files.set('voice-1', bytesOf('OggS and so on'))
    const voice = { file_id: 'voice-1', mime_type: 'audio/ogg', duration: 2 }
    await receiveMessage(chat, '', { text: undefined, voice })
    await chat.api.waitForText('I hear you.')
    expect(contentOf(chat)).toContain('[Said in it:]\\nhello there')
    expect(contentOf(chat)).not.toContain('OggS')
  })

  it('keeps the text when a file cannot be read, and tells the model and the person', async () => {
    const chat = await createChat([says('Without it, then.')])
    const broken = { status: 400, description: 'Bad Request: file is too big' }
    chat.api.overrideNext('getFile', broken)
    await receiveMessage(chat, '', { text: undefined, caption: 'sum this up', document: { file_id: 'big' } })
    await chat.api.waitForText('Without it, then.')
    expect(contentOf(chat)).toMatch(/sum this up.*could not be read.*file is too big/s)
    expect(chat.api.messageTexts.some((text) => text.includes('I could not read the document'))).toBe(true)
  })

  it('is answered before its file is read, and read after the object died', async () => {
    const chat = await createChat([says('Seen.')])
    chat.api.files.set('photo-1', png)
    const gate = new Gate()
    chat.api.overrideNext('getFile', gate)
    const update = createUpdate({ message: createMessage('', { text: undefined, photo: [{ file_id: 'photo-1' }] }) })
    expect((await postUpdate(chat, update)).status).toBe(200)
    await gate.waitUntilReached()
    const session = await getSessionId(chat)
    await kill(session)
    expect((await postUpdate(chat, update)).status).toBe(200)
    await chat.api.waitForText('Seen.')
    await settleDeliveries(session)
    expect([chat.api.sentTexts, chat.scripted.requests.length]).toEqual([['Seen.'], 1])
    gate.open()
  })

  it('is one message with the other parts of its album', async () => {
    const chat = await createChat([says('Two pixels.')])
    for (const id of ['photo-1', 'photo-2']) chat.api.files.set(id, png)
    const part = (id: string, more: object) => ({
      text: undefined,
      photo: [{ file_id: id }],
      media_group_id: 'g1',
      ...more,
    })
    await receiveMessage(chat, '', part('photo-1', { caption: 'both' }))
    await receiveMessage(chat, '', part('photo-2', { message_id: 8 }))
    await chat.api.waitForText('Two pixels.')
    expect(contentOf(chat).match(/data:image\/png/g)).toHaveLength(2)
    expect(chat.scripted.requests).toHaveLength(1)
  })
})

describe('an answer with files', () => {
  it('sends those that it names by MEDIA, beside its text', async () => {
    const write = calls({ id: 'c1', name: 'write_file', input: { path: 'out/list.csv', content: 'a,b' } })
    const chat = await createChat([write, says('Here it is.\nMEDIA:out/list.csv\nMEDIA:out/missing.csv')])
    await receiveMessage(chat, 'make a list')
    await chat.api.waitForText('Here it is.')
    await settleDeliveries(await getSessionId(chat))
    expect(chat.api.sentTexts).toEqual(['Here it is.'])
    expect(chat.api.sentFiles).toEqual([{ name: 'list.csv', bytes: 3 }])
    expect(await getLastRun(await getSessionId(chat))).not.toHaveProperty('delivery_error')
  })
})

describe('an answer with a file that the agent may not read', () => {
  it('does not send it, and says so', async () => {
    const write = calls({ id: 'c1', name: 'write_file', input: { path: 'out/list.csv', content: 'a,b' } })
    const chat = await createChat([write, says('Here it is.\nMEDIA:out/list.csv')], {}, (await newTenant()).key)
    await call('PATCH', '/api/settings', { key: chat.key, body: { toolsets: { disabled: ['read_file'] } } })
    await receiveMessage(chat, 'make a list')
    await chat.api.waitForText('is not attached')
    expect(chat.api.sentFiles).toEqual([])
  })
})

describe('an answer with a file that may hold secrets', () => {
  it('does not send it, and says so', async () => {
    const write = calls({ id: 'c1', name: 'write_file', input: { path: 'deploy/server.key', content: 'secret' } })
    const chat = await createChat([write, says('Here it is.\nMEDIA:deploy/server.key')])
    await receiveMessage(chat, 'make a key')
    await chat.api.waitForText('is not attached')
    await settleDeliveries(await getSessionId(chat))
    expect(chat.api.sentFiles).toEqual([])
    expect(chat.api.sentTexts).toEqual([
      'Here it is.',
      expect.stringMatching(/^deploy\/server\.key is not attached: .*secrets/),
    ])
  })
})

describe('a file that the platform refuses', () => {
  const write = calls({ id: 'c1', name: 'write_file', input: { path: 'out/list.csv', content: 'a,b' } })

  it.each([
    ['too large', { status: 413, description: 'Request Entity Too Large' }],
    ['of a kind that it does not take', { status: 400, description: 'Bad Request: wrong file type' }],
  ])('because it is %s is named in the chat with its path', async (_what, refusal) => {
    const chat = await createChat([write, says('Here it is.\nMEDIA:out/list.csv')])
    chat.api.overrideNext('sendDocument', refusal)
    await receiveMessage(chat, 'make a list')
    await chat.api.waitForText('list.csv')
    await settleDeliveries(await getSessionId(chat))
    expect(chat.api.callsOf('sendDocument')).toHaveLength(1)
    expect(chat.api.messageTexts).toEqual([
      'Here it is.',
      expect.stringMatching(/^list\.csv.*(out\/list\.csv|\/files\/)/),
    ])
    expect(await getLastRun(await getSessionId(chat))).not.toHaveProperty('delivery_error')
  })

  it('is told about once, also when the chat refuses that too', async () => {
    const chat = await createChat([write, says('Here it is.\nMEDIA:out/list.csv')])
    chat.api.overrideNext('sendDocument', { status: 413, description: 'Request Entity Too Large' })
    chat.api.overrideNext('sendMessage', { status: 200, raw: '{"ok":true,"result":{"message_id":7}}' }, { status: 400 })
    await receiveMessage(chat, 'make a list')
    const session = await getSessionId(chat)
    await settleDeliveries(session)
    expect(chat.api.callsOf('sendDocument')).toHaveLength(1)
    expect(chat.api.sentTexts).toHaveLength(2)
    expect(await getLastRun(session)).toHaveProperty('delivery_error')
  })
})

describe('an edited message', () => {
  const edit = (chat: Parameters<typeof postUpdate>[0], text: string, message = 7) =>
    postUpdate(chat, createUpdate({ edited_message: createMessage(text, { message_id: message }) }))

  it('begins no turn, neither before nor after that of its message', async () => {
    const chat = await createChat([says('Berlin, then.')])
    expect((await edit(chat, 'nobody asked')).status).toBe(200)
    expect(chat.scripted.requests).toEqual([])
    await receiveMessage(chat, 'weather in Bern')
    await chat.api.waitForText('Berlin, then.')
    await settleDeliveries(await getSessionId(chat))
    expect((await edit(chat, 'weather in Berlin')).status).toBe(200)
    expect(await listLines(await getSessionId(chat))).toEqual(['user: weather in Bern', 'assistant: Berlin, then.'])
    expect(chat.scripted.requests).toHaveLength(1)
  })

  it('reaches the turn that answers it', async () => {
    const gate = new Gate()
    const chat = await createChat([says('Bern', gate, ' is sunny.'), says('Berlin is grey.')])
    await receiveMessage(chat, 'weather in Bern')
    await gate.waitUntilReached()
    expect((await edit(chat, 'weather in Berlin')).status).toBe(200)
    expect((await edit(chat, 'another message', 99)).status).toBe(200)
    gate.open()
    await chat.api.waitForText('Berlin is grey.')
    expect(contentOf(chat)).toContain('[My message now reads:]')
    expect(contentOf(chat)).not.toContain('another message')
  })
})

describe('a group that becomes a supergroup', () => {
  it('keeps its conversation under the new id, also where only the old one was allowed', async () => {
    const settings = { allow_chats: ['-5'], require_mention: false, group_sessions: 'chat' }
    const chat = await createChat([says('One.'), says('Two.')], settings)
    await receiveMessage(chat, 'first', { chat: { id: -5, type: 'group' } })
    await chat.api.waitForText('One.')
    const moved = createMessage('', { text: undefined, chat: { id: -5, type: 'group' }, migrate_to_chat_id: -1005 })
    expect((await postUpdate(chat, createUpdate({ message: moved }))).status).toBe(200)
    await receiveMessage(chat, 'second', { chat: { id: -1005, type: 'supergroup' }, message_id: 8 })
    await chat.api.waitForText('Two.')
    expect(await listLines(await getSessionId(chat, '-5'))).toHaveLength(4)
    expect(chat.api.callsOf('sendMessage').map(({ body }) => body.chat_id)).toEqual([-5, -1005])
    expect(await settingsOf(chat.channel)).toMatchObject({
      allow_chats: ['-5', '-1005'],
      moved_chats: { '-1005': '-5' },
    })
  })

  const moveOf = (from: number, to: number) =>
    createUpdate({
      message: createMessage('', { text: undefined, chat: { id: from, type: 'group' }, migrate_to_chat_id: to }),
    })
  const settingsOf = async (channel: string) =>
    channelSettings.parse((await createConnections(bindings.DB, 'default').get(channel))?.settings)

  it.each([
    ['that is not allowed', { allow_chats: ['-7'] }],
    ['where nobody has written, although all are allowed', { allow_chats: ['*'] }],
  ])('is ignored %s', async (_name, settings) => {
    const chat = await createChat([], settings)
    expect((await postUpdate(chat, moveOf(-8, -1008))).status).toBe(200)
    const { allow_chats: allowed, moved_chats: kept } = await settingsOf(chat.channel)
    expect([allowed, kept]).toEqual([settings.allow_chats, {}])
  })

  it('keeps a conversation of a chat that only "*" allows', async () => {
    const chat = await createChat([says('One.')], { require_mention: false, group_sessions: 'chat' })
    await receiveMessage(chat, 'first', { chat: { id: -9, type: 'group' } })
    await chat.api.waitForText('One.')
    await until(async () => {
      await postUpdate(chat, moveOf(-9, -1009))
      return Object.keys((await settingsOf(chat.channel)).moved_chats).length
    })
    expect(await settingsOf(chat.channel)).toMatchObject({ allow_chats: ['*'], moved_chats: { '-1009': '-9' } })
  })

  it('does not undo changes of the settings that its isolate has not seen, and keeps 1000 moves', async () => {
    const moved = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`-2${n}`, `-1${n}`]))
    const chat = await createChat([], { allow_chats: ['-5'] })
    await createConnections(bindings.DB, 'default').update(chat.channel, { settings: { moved_chats: moved } })
    // The first one fetches the bot's account, and the second one leaves the connection in the cache.
    for (const text of ['x', 'y'])
      await postUpdate(chat, createUpdate({ message: createMessage(text, { chat: { id: -5, type: 'group' } }) }))
    await createConnections(bindings.DB, 'default').update(chat.channel, { settings: { allow_chats: ['-5', '-6'] } })
    await postUpdate(chat, moveOf(-5, -1005))
    const { allow_chats: allowed, moved_chats: kept } = await settingsOf(chat.channel)
    expect(allowed).toEqual(['-5', '-6', '-1005'])
    const names = Object.keys(kept)
    expect([names.length, names.includes('-20'), names.at(-1)]).toEqual([1_000, false, '-1005'])
  })

  it('gets an answer that was on its way', async () => {
    const chat = await createChat([says('One.')], {
      allow_chats: ['-6'],
      require_mention: false,
      group_sessions: 'chat',
    })
    chat.api.overrideNext('sendMessage', { status: 400, description: 'group chat was upgraded', movedTo: -1006 })
    await receiveMessage(chat, 'first', { chat: { id: -6, type: 'group' } })
    await chat.api.waitForText('One.')
    expect(chat.api.callsOf('sendMessage').map(({ body }) => body.chat_id)).toEqual([-6, -1006])
  })
})

describe('a reply', () => {
  it('shows the model what it replies to', async () => {
    const chat = await createChat([says('Because.')])
    const replied = {
      message_id: 3,
      date: 1,
      chat: { id: 11, type: 'private' },
      from: { id: 12, is_bot: false, first_name: 'Bert' },
      text: 'no\nway',
    }
    await receiveMessage(chat, 'why?', { reply_to_message: replied })
    await chat.api.waitForText('Because.')
    expect(contentOf(chat)).toContain('[In reply to Bert: no way]\\nwhy?')
  })
})
