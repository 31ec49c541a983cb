import { describe, expect, it } from 'vitest'
import { parseUpdate } from '#channels/telegram/parse-update.ts'

const anna = { id: 11, is_bot: false, first_name: 'Anna', last_name: 'B' }
const direct = { id: 11, type: 'private' }
const group = { id: -100_123, type: 'supergroup', title: 'G' }
const parseMessage = (fields: object) =>
  parseUpdate({ update_id: 1, message: { message_id: 7, date: 1, chat: direct, from: anna, text: 'hi', ...fields } })

describe('parseUpdate', () => {
  it('parses a message of a direct chat', () => {
    expect(parseMessage({})).toEqual({
      kind: 'message',
      key: '1',
      address: { chat: '11' },
      isGroup: false,
      sender: { id: '11', name: 'Anna B' },
      messageId: '7',
      text: 'hi',
      media: [],
      mentions: [],
    })
  })

  it('parses the press of a button', () => {
    const callback_query = { id: '9', from: anna, message: { message_id: 140, date: 1, chat: direct }, data: 'ask:1:0' }
    expect(parseUpdate({ update_id: 2, callback_query })).toEqual({
      kind: 'press',
      key: '2',
      address: { chat: '11' },
      isGroup: false,
      sender: { id: '11', name: 'Anna B' },
      pressId: '9',
      messageId: '140',
      data: 'ask:1:0',
    })
  })

  it.each([
    [
      'a post of a channel',
      { update_id: 1, channel_post: { message_id: 7, chat: { id: -1, type: 'channel' }, text: 'x' } },
    ],
    ['an unknown kind', { update_id: 1, chat_boost: {} }],
    ['an update without content', { update_id: 1 }],
    ['a text', 'hello'],
    ['a message without an update id', { message: { message_id: 7, chat: direct, from: anna, text: 'hi' } }],
    [
      'a new member of a group',
      { update_id: 1, message: { message_id: 7, chat: group, from: anna, new_chat_members: [{}] } },
    ],
    ['fields of other types', { update_id: 1, message: { message_id: 'x', chat: 5, from: [], text: {} } }],
    ['a list', [{ update_id: 1 }]],
  ])('ignores %s', (_name, body) => expect(parseUpdate(body)).toBeUndefined())

  it.each([
    ['a topic', { chat: group, message_thread_id: 5, is_topic_message: true }, { chat: '-100123', thread: '5' }],
    ['the general topic', { chat: group, message_thread_id: 1, is_topic_message: true }, { chat: '-100123' }],
    ['a reply in a group without topics', { chat: group, message_thread_id: 5 }, { chat: '-100123' }],
  ])('finds the address of %s', (_name, fields, address) => expect(parseMessage(fields)?.address).toEqual(address))

  it('writes content that is neither text nor a file into the text', () => {
    expect(parseMessage({ text: undefined, sticker: { file_id: 's', emoji: '👍' } })).toMatchObject({
      text: '[sticker 👍]',
      media: [],
    })
    const here = parseMessage({ text: undefined, location: { latitude: 1.5, longitude: -2 } })
    expect(here).toMatchObject({ text: '[location: 1.5, -2]' })
  })

  it('ignores a file whose fields have other types, and keeps the text', () => {
    expect(parseMessage({ document: { file_id: 5 }, photo: 'x' })).toMatchObject({ text: 'hi', media: [] })
  })

  it('finds mentions by name, by command and by id', () => {
    const text = '@TalariaBot /x@Bert and Carl'
    const entities = [
      { type: 'mention', offset: 0, length: 11 },
      { type: 'bot_command', offset: 12, length: 7 },
      { type: 'text_mention', offset: 24, length: 4, user: { id: 13 } },
    ]
    expect(parseMessage({ text, entities })).toMatchObject({ mentions: ['talariabot', 'bert', '13'] })
    const photo = { text: undefined, caption: text, caption_entities: entities, photo: [{}] }
    expect(parseMessage(photo)).toMatchObject({ mentions: ['talariabot', 'bert', '13'] })
  })

  it('finds the message that is replied to, but not the one that opened the topic', () => {
    const from = { id: 4711, is_bot: true, first_name: 'T' }
    const reply = parseMessage({ reply_to_message: { message_id: 6, from, text: 'before' } })
    expect(reply).toMatchObject({
      quote: { messageId: '6', sender: { id: '4711', name: 'T', isBot: true }, text: 'before' },
    })
    const photo = [{ file_id: 'small' }, { file_id: 'large' }]
    const toFiles = { message_id: 6, from, photo, voice: { file_id: 'v' }, document: 'wrong' }
    expect(parseMessage({ reply_to_message: toFiles })).toMatchObject({
      quote: {
        media: [
          { kind: 'image', reference: 'large' },
          { kind: 'voice', reference: 'v' },
        ],
      },
      media: [],
    })
    const topic = { chat: group, message_thread_id: 5, is_topic_message: true }
    expect(parseMessage({ ...topic, reply_to_message: { message_id: 5, from } })).not.toHaveProperty('quote')
  })
})

describe('the text of a message', () => {
  const textOf = (fields: object) => (parseMessage(fields) as { readonly text?: string } | undefined)?.text
  const link = (offset: number, length: number, url = 'https://a.example/x') => ({
    type: 'text_link',
    offset,
    length,
    url,
  })

  it.each([
    [
      'behind its words, by UTF-16 offsets',
      '📰 read the bulletin please',
      [link(12, 8)],
      '📰 read the bulletin (https://a.example/x) please',
    ],
    [
      'of two links',
      'one two',
      [link(0, 3), link(4, 3, 'https://b.example/')],
      'one (https://a.example/x) two (https://b.example/)',
    ],
    ['not twice', 'https://a.example/x', [link(0, 19)], 'https://a.example/x'],
    ['only where there is one', 'bold text', [{ type: 'bold', offset: 0, length: 4 }], 'bold text'],
  ])('has the address of a link %s', (_name, text, entities, expected) => {
    expect(textOf({ text, entities })).toBe(expected)
    expect(textOf({ text: undefined, caption: text, caption_entities: entities, photo: [{ file_id: 'f' }] })).toBe(
      expected,
    )
  })

  it('has the address of a link in a quoted message', () => {
    const reply_to_message = { message_id: 3, from: anna, text: 'see it', entities: [link(0, 3)] }
    expect(parseMessage({ reply_to_message })).toMatchObject({ quote: { text: 'see (https://a.example/x) it' } })
    const quote = { text: 'it', position: 4, entities: [link(0, 2)] }
    expect(parseMessage({ reply_to_message, quote })).toMatchObject({ quote: { text: 'it (https://a.example/x)' } })
  })

  it('stays when an entity is wrong', () => {
    expect(textOf({ text: 'hi', entities: [{ type: 'text_link' }] })).toBe('hi')
  })

  it.each([
    [
      'a channel',
      { type: 'channel', chat: { id: -1001, title: 'News', type: 'channel' } },
      '[Forwarded from News:]\nhi',
    ],
    ['a person', { type: 'user', sender_user: anna }, '[Forwarded from Anna B:]\nhi'],
    ['a hidden person', { type: 'hidden_user', sender_user_name: 'Eve]\n# x' }, '[Forwarded from Eve x:]\nhi'],
    ['a group', { type: 'chat', sender_chat: { id: -5, title: 'Team' } }, '[Forwarded from Team:]\nhi'],
    ['somebody', { type: 'new' }, '[Forwarded:]\nhi'],
  ])('says that it comes from %s', (_name, forward_origin, expected) => {
    expect(textOf({ forward_origin })).toBe(expected)
  })

  it('of a forwarded file or command is marked too', () => {
    const forward_origin = { type: 'hidden_user', sender_user_name: 'Bo' }
    expect(textOf({ forward_origin, text: '/stop' })).toBe('[Forwarded from Bo:]\n/stop')
    expect(textOf({ forward_origin, text: undefined, photo: [{ file_id: 'f' }] })).toBe('[Forwarded from Bo:]\n')
    expect(parseMessage({ forward_origin, text: undefined })).toBe(undefined)
  })

  it.each([
    [
      'a poll',
      { poll: { question: 'When?', options: [{ text: 'now' }, { text: 'later' }] } },
      '[poll: When?, now, later]',
    ],
    [
      'a venue, whose location is in it',
      {
        venue: { location: { latitude: 1, longitude: 2 }, title: 'Cafe', address: 'Main 5' },
        location: { latitude: 1, longitude: 2 },
      },
      '[location: Cafe, Main 5, 1, 2]',
    ],
    ['dice', { dice: { emoji: '🎲', value: 4 } }, '[dice: 🎲, 4]'],
    ['a text that looks like a mark', { text: '[Forwarded from Bo:] x' }, '[Forwarded from Bo:] x'],
  ])('has %s', (_name, fields, expected) => {
    expect(textOf({ text: undefined, ...fields })).toBe(expected)
  })
})
