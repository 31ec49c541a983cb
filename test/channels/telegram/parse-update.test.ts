import { describe, expect, it } from 'vitest'
import type { InboundEvent } from '../../../src/channels/channel.ts'
import { classifyEvent, stripMention } from '../../../src/channels/classify-event.ts'
import { parseUpdate } from '../../../src/channels/telegram/parse-update.ts'
import { telegram } from '../../../src/channels/telegram/telegram.ts'

const anna = { id: 11, is_bot: false, first_name: 'Anna', last_name: 'B' }
const direct = { id: 11, type: 'private' }
const group = { id: -100_123, type: 'supergroup', title: 'G' }
const said = (fields: object) =>
  parseUpdate({ update_id: 1, message: { message_id: 7, date: 1, chat: direct, from: anna, text: 'hi', ...fields } })
const account = { id: '4711', name: 'TalariaBot' }

describe('an update', () => {
  it('of a direct chat is a message', () => {
    expect(said({})).toEqual({
      of: 'message',
      key: '1',
      place: { chat: '11' },
      isGroup: false,
      person: { id: '11', name: 'Anna B' },
      message: '7',
      text: 'hi',
      mentions: [],
    })
  })

  it('of a button is a press', () => {
    const callback_query = { id: '9', from: anna, message: { message_id: 140, date: 1, chat: direct }, data: 'ask:1:0' }
    expect(parseUpdate({ update_id: 2, callback_query })).toEqual({
      of: 'press',
      key: '2',
      place: { chat: '11' },
      isGroup: false,
      person: { id: '11', name: 'Anna B' },
      press: '9',
      message: '140',
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
    ['nothing but a number', { update_id: 1 }],
    ['no update', 'hello'],
    ['no number', { message: { message_id: 7, chat: direct, from: anna, text: 'hi' } }],
    [
      'another bot',
      {
        update_id: 1,
        message: { message_id: 7, chat: group, from: { id: 5, is_bot: true, first_name: 'b' }, text: 'hi' },
      },
    ],
    [
      'somebody who joined',
      { update_id: 1, message: { message_id: 7, chat: group, from: anna, new_chat_members: [{}] } },
    ],
    ['a strange shape', { update_id: 1, message: { message_id: 'x', chat: 5, from: [], text: {} } }],
    ['a list', [{ update_id: 1 }]],
  ])('that is %s is none of our business', (_name, body) => expect(parseUpdate(body)).toBeUndefined())

  it.each([
    ['a topic', { chat: group, message_thread_id: 5, is_topic_message: true }, { chat: '-100123', thread: '5' }],
    ['the general topic', { chat: group, message_thread_id: 1, is_topic_message: true }, { chat: '-100123' }],
    ['a reply in a group without topics', { chat: group, message_thread_id: 5 }, { chat: '-100123' }],
  ])('knows its place: %s', (_name, fields, place) => expect(said(fields)?.address).toEqual(place))

  it('tells what is attached and cannot be read', () => {
    const photo = said({ text: undefined, caption: 'look', photo: [{}] })
    expect(photo).toMatchObject({ text: 'look\n[attached, and not readable here: photo]' })
    expect(said({ text: undefined, voice: {} })).toMatchObject({ text: '[attached, and not readable here: voice]' })
  })
})

describe('who is listened to', () => {
  const rules = { allow_users: [] as string[], allow_chats: [] as string[], require_mention: true }
  const inGroup = (fields: object = {}) => said({ chat: group, ...fields }) as InboundEvent
  const inDirect = () => said({}) as InboundEvent
  const mention = { text: '@TalariaBot hi', entities: [{ type: 'mention', offset: 0, length: 11 }] }
  const allowed = { ...rules, allow_chats: ['-100123'] }

  type Rules = Parameters<typeof classifyEvent>[1]
  it.each<[string, InboundEvent, Rules, string]>([
    ['nobody, where nobody is named', inDirect(), rules, 'ignore'],
    ['a person who is named', inDirect(), { ...rules, allow_users: ['11'] }, 'take'],
    ['everybody', inDirect(), { ...rules, allow_users: ['*'] }, 'take'],
    ['somebody else', inDirect(), { ...rules, allow_users: ['12'] }, 'ignore'],
    ['a group, for its people', inGroup(mention), { ...rules, allow_users: ['11', '*'] }, 'ignore'],
    ['a group that is named', inGroup(mention), allowed, 'take'],
    ['a group, unmentioned', inGroup(), allowed, 'overhear'],
    ['a group, unmentioned, where that is enough', inGroup(), { ...allowed, require_mention: false }, 'take'],
    ['a reply to us', inGroup({ reply_to_message: { from: { id: 4711 } } }), allowed, 'take'],
    ['a reply to somebody else', inGroup({ reply_to_message: { from: { id: 12 } } }), allowed, 'overhear'],
    [
      'a command for us',
      inGroup({ text: '/x@talariabot', entities: [{ type: 'bot_command', offset: 0, length: 13 }] }),
      allowed,
      'take',
    ],
    [
      'somebody else who is named',
      inGroup({ text: '@bert hi', entities: [{ type: 'mention', offset: 0, length: 5 }] }),
      allowed,
      'overhear',
    ],
  ])('%s', (_name, heard, settings, verdict) => expect(classifyEvent(heard, settings, account)).toBe(verdict))

  it('nobody is known to have been named by those who do not know themselves', () => {
    expect(classifyEvent(inGroup(mention), allowed, undefined)).toBe('overhear')
  })

  it('leaves out our name at the beginning, and nothing else', () => {
    expect(stripMention('@talariabot: hi @bert', account)).toBe('hi @bert')
    expect(stripMention('@bert hi', account)).toBe('@bert hi')
    expect(stripMention('@TalariaBot', account)).toBe('@TalariaBot')
  })
})

describe('what goes out', () => {
  it('is text with entities, each within the limits', () => {
    const chunks = telegram.render(`**bold** ${'😀 word '.repeat(2_000)}`, 'markdown')
    expect(chunks.length).toBeGreaterThan(3)
    for (const { text } of chunks) expect(text.length).toBeLessThanOrEqual(4_000)
    expect(chunks[0]?.spans).toEqual([{ type: 'bold', offset: 0, length: 4 }])
  })

  it('is not read as markdown where it is plain', () => {
    expect(telegram.render('a *b* `c`', 'plain')).toEqual([{ text: 'a *b* `c`', spans: [] }])
  })

  it('is nothing where nothing is said', () => expect(telegram.render(' \n', 'markdown')).toEqual([]))
})
