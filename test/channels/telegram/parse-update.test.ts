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
