import { describe, expect, it } from 'vitest'
import { parseUpdate } from '../../../src/channels/telegram/parse-update.ts'

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
    ['an edit', { update_id: 1, edited_message: { message_id: 7, chat: direct, from: anna, text: 'hi' } }],
    [
      'a post of a channel',
      { update_id: 1, channel_post: { message_id: 7, chat: { id: -1, type: 'channel' }, text: 'x' } },
    ],
    ['an unknown kind', { update_id: 1, chat_boost: {} }],
    ['an update without content', { update_id: 1 }],
    ['a text', 'hello'],
    ['a message without an update id', { message: { message_id: 7, chat: direct, from: anna, text: 'hi' } }],
    [
      'a message of another bot',
      {
        update_id: 1,
        message: { message_id: 7, chat: group, from: { id: 5, is_bot: true, first_name: 'b' }, text: 'hi' },
      },
    ],
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

  it('names attachments that the model cannot read', () => {
    const photo = parseMessage({ text: undefined, caption: 'look', photo: [{}] })
    expect(photo).toMatchObject({ text: 'look\n[attached, and not readable here: photo]' })
    expect(parseMessage({ text: undefined, voice: {} })).toMatchObject({
      text: '[attached, and not readable here: voice]',
    })
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

  it('finds the author of the message that is replied to', () => {
    const reply = parseMessage({ reply_to_message: { from: { id: 4711 } } })
    expect(reply).toMatchObject({ repliesToSender: '4711' })
  })
})
