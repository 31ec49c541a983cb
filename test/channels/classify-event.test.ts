import { describe, expect, it } from 'vitest'
import type { InboundEvent } from '#channels/channel.ts'
import { classifyEvent, stripMention } from '#channels/classify-event.ts'
import { channelSettings } from '#channels/settings.ts'

const account = { id: '4711', name: 'TalariaBot' }
const sender = { id: '11', name: 'Anna' }
const bot = { id: '99', name: 'Other bot', isBot: true } as const
const direct: InboundEvent = {
  kind: 'message',
  key: '1',
  address: { chat: '11' },
  isGroup: false,
  sender,
  messageId: '7',
  text: 'hi',
  media: [],
  mentions: [],
}
const inGroup = (fields: Partial<Extract<InboundEvent, { kind: 'message' }>> = {}): InboundEvent => ({
  ...direct,
  address: { chat: '-100' },
  isGroup: true,
  ...fields,
})
const toBot = { mentions: ['4711'] }
const press: InboundEvent = {
  kind: 'press',
  key: '2',
  address: { chat: '-100' },
  isGroup: true,
  sender,
  pressId: '9',
  messageId: '7',
  data: '',
}

describe('classifyEvent', () => {
  const none = { ...channelSettings.parse({}), allow_users: [] as string[], allow_chats: [] as string[] }
  const group = { ...none, allow_chats: ['-100'] }

  type Rules = Parameters<typeof classifyEvent>[1]
  it.each<[string, InboundEvent, Rules, string]>([
    ['ignores everybody without settings', direct, none, 'ignore'],
    ['accepts an allowed person', direct, { ...none, allow_users: ['11'] }, 'accept'],
    ['accepts everybody with "*"', direct, { ...none, allow_users: ['*'] }, 'accept'],
    ['accepts an allowed direct chat', direct, { ...none, allow_chats: ['11'] }, 'accept'],
    ['ignores another person', direct, { ...none, allow_users: ['12'] }, 'ignore'],
    ['ignores a group of allowed people', inGroup(), { ...none, allow_users: ['11', '*'] }, 'ignore'],
    ['accepts a mention by name', inGroup({ mentions: ['talariabot'] }), group, 'accept'],
    ['accepts a mention by id', inGroup({ mentions: ['4711'] }), group, 'accept'],
    ['accepts a reply to the bot', inGroup({ quote: { messageId: '1', sender: account } }), group, 'accept'],
    ['accepts a press in a group', press, group, 'accept'],
    ['keeps what a guest of a public group says', inGroup({ ...toBot, isPublic: true }), group, 'unaddressed'],
    [
      'accepts a listed person of a public group',
      inGroup({ ...toBot, isPublic: true }),
      { ...group, allow_users: ['11'] },
      'accept',
    ],
    [
      'accepts an admin of a public group',
      inGroup({ ...toBot, isPublic: true }),
      { ...group, admins: ['11'] },
      'accept',
    ],
    ['keeps their other messages', inGroup({ isPublic: true }), { ...group, allow_users: ['11'] }, 'unaddressed'],
    [
      'ignores a bot that nobody has listed in a public group',
      inGroup({ ...toBot, isPublic: true, sender: bot }),
      { ...group, allow_bots: 'all' },
      'ignore',
    ],
    ['ignores a press in another group', press, none, 'ignore'],
    ['keeps a message without a mention', inGroup(), group, 'unaddressed'],
    [
      'keeps a reply to another person',
      inGroup({ quote: { messageId: '1', sender: { id: '12', name: 'Bert' } } }),
      group,
      'unaddressed',
    ],
    ['keeps a mention of another person', inGroup({ mentions: ['bert'] }), group, 'unaddressed'],
    ['accepts all messages without require_mention', inGroup(), { ...group, require_mention: false }, 'accept'],
    ['accepts all messages of a free chat', inGroup(), { ...group, free_chats: ['-100'] }, 'accept'],
    [
      'accepts a name of the bot as a word',
      inGroup({ text: 'hey Hermes, hi' }),
      { ...group, mention_names: ['hermes'] },
      'accept',
    ],
    [
      'keeps a name within a word',
      inGroup({ text: 'thermestat' }),
      { ...group, mention_names: ['hermes'] },
      'unaddressed',
    ],
    ['takes names literally', inGroup({ text: 'aaa' }), { ...group, mention_names: ['.*'] }, 'unaddressed'],
    ['ignores a bot', inGroup({ sender: bot, mentions: ['4711'] }), group, 'ignore'],
    [
      'ignores a bot in a direct chat',
      { ...direct, sender: bot },
      { ...none, allow_users: ['*'], allow_bots: 'all' },
      'ignore',
    ],
    [
      'accepts a bot that mentions us',
      inGroup({ sender: bot, mentions: ['4711'] }),
      { ...group, allow_bots: 'mentions' },
      'accept',
    ],
    ['accepts a command', inGroup({ text: ' /STOP now' }), group, 'accept'],
    ['accepts a command to us', inGroup({ text: '/stop@talariabot' }), group, 'accept'],
    ['keeps a command to another bot', inGroup({ text: '/stop@OtherBot' }), group, 'unaddressed'],
    ['keeps an unknown command', inGroup({ text: '/play song' }), group, 'unaddressed'],
    ['keeps a path', inGroup({ text: '/tmp is full' }), group, 'unaddressed'],
    ['ignores a command of a bot', inGroup({ sender: bot, text: '/stop' }), { ...group, allow_bots: 'all' }, 'ignore'],
    ['keeps nothing of a bot', inGroup({ sender: bot }), { ...group, allow_bots: 'all' }, 'ignore'],
    [
      'accepts all of a bot where all is accepted',
      inGroup({ sender: bot }),
      { ...group, allow_bots: 'all', require_mention: false },
      'accept',
    ],
    [
      'accepts a person by another id',
      { ...direct, sender: { ...sender, aliases: ['+49'] } },
      { ...none, allow_users: ['+49'] },
      'accept',
    ],
  ])('%s', (_name, event, rules, expected) => expect(classifyEvent(event, rules, account)).toBe(expected))

  it('finds no mention while the account is unknown', () => {
    expect(classifyEvent(inGroup({ mentions: ['talariabot'] }), group, undefined)).toBe('unaddressed')
  })
})

describe('stripMention', () => {
  it('removes the name of the bot at the beginning, and no other', () => {
    expect(stripMention('@talariabot: hi @bert', account)).toBe('hi @bert')
    expect(stripMention('@bert hi', account)).toBe('@bert hi')
    expect(stripMention('@TalariaBot', account)).toBe('@TalariaBot')
  })
})
