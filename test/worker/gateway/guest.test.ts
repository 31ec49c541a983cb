/**
 * Tests that a guest of a channel reaches nothing but the own chat: 48 attempts with tools, commands, buttons and texts in a group, against
 * a tenant that has something to hide in each place.
 */

import { beforeAll, describe, expect, it } from 'vitest'
import {
  bert,
  type ChatFixture,
  createChat,
  createUpdate,
  getSessionId,
  postUpdate,
  receiveMessage,
} from '../../support/chat.ts'
import { calls, model, type Reply, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, call, newSession, newTenant, request } from '../client.ts'
import { listMessages, type Run } from '../listen.ts'

/** Stands in every place that a guest must not reach. */
const hidden = 'zanzibar'
const guest = { from: bert, chat: { id: 12, type: 'private' } }

type World = {
  readonly chat: ChatFixture
  readonly tenant: { readonly id: string; readonly key: string }
  readonly ownerSession: string
  readonly guestSession: string
  readonly annaButton: string
}

/** The next replies of the model, for guest and owner alike. */
const replies: Reply[] = []
let world: World

/** The owner has a session with files, memory, a setting, a job and a role; Anna has a chat with a pending approval. */
async function createWorld(): Promise<World> {
  const tenant = await newTenant()
  const { key } = tenant
  const chat = await createChat(() => replies.shift() ?? says('ok'), {}, key)
  const own = model([
    calls({ name: 'write_file', input: { path: 'plan.txt', content: `the ${hidden} plan` } }),
    says('written'),
  ])
  const { id: ownerSession } = await newSession({ model: own.id, title: `About ${hidden}` }, key)
  await call<Run>('POST', `/api/sessions/${ownerSession}/chat`, { key, body: { input: `Keep ${hidden} secret.` } })
  await request('POST', '/api/memory', { key, body: { target: 'memory', content: `The word is ${hidden}.` } })
  await call('PATCH', '/api/settings', {
    key,
    body: {
      agent: { soul: 'You help.' },
      approvals: { mode: 'manual', rules: [{ do: 'ask', tool: 'terminal', match: '*' }] },
    },
  })
  await call('POST', '/api/jobs', { key, body: { name: `${hidden}-job`, prompt: 'x', schedule: 'every 9h' } })
  const isIndexed = async () =>
    (await call<{ data: object[] }>('GET', `/api/search?q=${hidden}`, { key })).body.data.length > 0
  await until(isIndexed)
  replies.push(says(`Noted ${hidden}.`), calls({ name: 'terminal', input: { command: `echo ${hidden} > anna.txt` } }))
  await receiveMessage(chat, `Anna says ${hidden}`)
  await chat.api.waitForText('Noted')
  await receiveMessage(chat, 'go')
  await chat.api.waitForText('May terminal be called')
  const [asked] = chat.api.callsOf('sendMessage').filter(({ body }) => body.reply_markup)
  const annaButton = asked?.body.reply_markup?.inline_keyboard.flat()[0]?.callback_data ?? ''
  replies.push(says('Hello Bert.'))
  await receiveMessage(chat, 'hi', guest)
  await chat.api.waitForText('Hello Bert.')
  return { chat, tenant, ownerSession, guestSession: await getSessionId(chat, '12'), annaButton }
}

/** What a tool answers the guest. */
async function tryTool(name: string, input: object): Promise<string> {
  const { chat } = world
  const before = chat.scripted.requests.length
  replies.push(calls({ name, input }), says('Tried.'))
  await receiveMessage(chat, 'try it', guest)
  await until(() => chat.scripted.requests.length >= before + 2)
  const result = String(chat.scripted.requests.at(-1)?.messages.at(-1)?.content)
  const sent = () => chat.api.callsOf('sendMessage').filter(({ body }) => body.text === 'Tried.').length
  tried++
  await until(() => sent() >= tried)
  return result
}
let tried = 0

/** What a message of the guest is answered without a model call. */
async function trySaying(text: string, more: object = guest): Promise<string> {
  const { api, scripted } = world.chat
  const [sent, asked] = [api.sentTexts.length, scripted.requests.length]
  await receiveMessage(world.chat, text, more)
  const answer = await until(() => api.sentTexts[sent])
  expect(scripted.requests).toHaveLength(asked)
  return answer
}

async function tryPressing(data: string): Promise<string> {
  const id = `press-${++presses}`
  const message = { message_id: 5, date: 1, chat: guest.chat }
  await postUpdate(world.chat, createUpdate({ callback_query: { id, from: bert, message, data } }))
  const pressed = () =>
    world.chat.api.callsOf('answerCallbackQuery').find(({ body }) => body['callback_query_id'] === id)
  return String((await until(pressed)).body.text)
}
let presses = 0

const tools: readonly [what: string, name: string, input: (world: World) => object, expected: RegExp][] = [
  ['search a word of the owner', 'session_search', () => ({ query: hidden }), /no|chat/i],
  ['list recent sessions', 'session_search', () => ({}), /chat/i],
  [
    'read a session by its id',
    'session_search',
    ({ ownerSession }) => ({ session_id: ownerSession }),
    /no such|not|unknown|no session/i,
  ],
  [
    'read a session by its link',
    'session_search',
    ({ ownerSession }) => ({ session_id: `@session:${ownerSession}` }),
    /no such|not|unknown|no session/i,
  ],
  [
    'read around a message',
    'session_search',
    ({ ownerSession }) => ({ session_id: ownerSession, around_message_id: 1 }),
    /no such|not|unknown|no session/i,
  ],
  ['read the memory', 'memory', () => ({ action: 'read', target: 'memory' }), /./],
  ['read a profile', 'memory', () => ({ action: 'read', target: 'user' }), /./],
  ['write the memory', 'memory', () => ({ action: 'add', target: 'memory', content: 'guests rule' }), /./],
  ['list jobs', 'cronjob', () => ({ action: 'list' }), /./],
  [
    'make a job',
    'cronjob',
    () => ({ action: 'create', schedule: 'every 1h', prompt: 'spy', deliver: 'telegram:11' }),
    /./,
  ],
  ['run the job of the owner', 'cronjob', () => ({ action: 'run', job_id: `${hidden}-job` }), /./],
  ['remove the job of the owner', 'cronjob', () => ({ action: 'remove', job_id: `${hidden}-job` }), /./],
  [
    'write a skill',
    'skill_manage',
    () => ({ action: 'create', name: 'guest-skill', content: '---\nname: guest-skill\ndescription: d\n---\nx' }),
    /./,
  ],
  [
    'read a file of the owner',
    'read_file',
    () => ({ path: 'plan.txt' }),
    /not found|no such|does not exist|not exist/i,
  ],
  ['read a file of Anna', 'read_file', () => ({ path: '/workspace/anna.txt' }), /./],
  ['leave the workspace', 'read_file', () => ({ path: '../../anna.txt' }), /./],
  ['search all files', 'search_files', () => ({ pattern: hidden, path: '.' }), /./],
]

const sayings: readonly [text: string | ((world: World) => string), expected: RegExp, more?: object][] = [
  ['/insights', /You may not use \/insights/],
  ['/fork', /You may not use \/fork/],
  ['/branch mine', /You may not use \/fork/],
  ['/sethome', /You may not use \/sethome/],
  ['/sethome off', /You may not use \/sethome/],
  ['/approvals off', /policy of the tenant/],
  ['/approvals smart', /policy of the tenant/],
  ['/sessions all', /no other session that you may read|Other sessions/],
  [`/sessions all ${hidden}`, /no other session/],
  [({ ownerSession }) => `/resume ${ownerSession}`, /no earlier conversation/i],
  [`/resume About ${hidden}`, /no earlier conversation/i],
  ['/memory', /Memory/],
  ['/memory pending', /Nothing waits|/],
  ['/memory approve all', /Nothing waits/],
  ['/approve', /Nothing waits/],
  ['/approve all always', /Nothing waits/],
  ['/deny all', /Nothing waits/],
  ['/status', /Status: idle/],
  ['/whoami', /Scopes: chat\n/],
  ['/agents', /No subagent/],
  ['/pause', /You may not use \/pause/],
  ['/pause off', /You may not use \/pause/],
  ['/voice tts', /./],
  ['/platform', /Chat: telegram:12, a direct chat/],
]

const presses3: readonly [what: string, data: (world: World) => string][] = [
  ['the button of Anna', ({ annaButton }) => annaButton],
  ['the button of Anna, with her id', ({ annaButton }) => `${annaButton}:11`],
  ['an invented button', () => 'ask:1:0'],
]

/** In the group of the owner's channel, beside Anna's pending approval. */
const inGroup: readonly [text: string, expected: RegExp][] = [
  ['/approve@TalariaBot', /Nothing waits/],
  ['/approve@TalariaBot all session', /Nothing waits/],
]
const group = { chat: { id: -77, type: 'supergroup' } }

describe('a guest of a channel', () => {
  beforeAll(async () => {
    await applyMigrations()
    world = await createWorld()
  })

  it('is tested with 48 attempts', () =>
    expect(tools.length + sayings.length + presses3.length + inGroup.length + 2).toBe(48))

  it.each(tools)('cannot %s', async (_what, name, input, expected) => {
    const answer = await tryTool(name, input(world))
    expect(answer).toMatch(expected)
    expect(answer).not.toContain(`${hidden} plan`)
    expect(answer).not.toContain(`Keep ${hidden}`)
    expect(answer).not.toContain(`is ${hidden}`)
    expect(answer).not.toContain(`says ${hidden}`)
  })

  it.each(sayings)('gets no more than the own chat by %s', async (text, expected, more) => {
    const answer = await trySaying(typeof text === 'string' ? text : text(world), more)
    expect(answer).toMatch(expected)
    expect(answer.replaceAll(/"[^"]*"/g, '')).not.toContain(hidden)
  })

  it.each(inGroup)('decides nothing in a group by %s', async (text, expected) => {
    const { api } = world.chat
    const sentThere = () => api.callsOf('sendMessage').filter(({ body }) => body.chat_id === group.chat.id)
    if (!sentThere().length) {
      replies.push(calls({ name: 'terminal', input: { command: `echo in the group ${hidden}` } }))
      await receiveMessage(world.chat, '@TalariaBot go', {
        ...group,
        entities: [{ type: 'mention', offset: 0, length: 11 }],
      })
      await until(() => sentThere().some(({ body }) => body.reply_markup))
    }
    const before = sentThere().length
    const entities = [{ type: 'bot_command', offset: 0, length: text.split(' ')[0]?.length }]
    await receiveMessage(world.chat, text, { ...group, from: bert, entities })
    const answer = await until(() => sentThere()[before])
    expect(answer.body.text).toMatch(expected)
  })

  it('summarises the own conversation alone by /compress here', async () => {
    const { api, scripted } = world.chat
    const [asked, sent] = [scripted.requests.length, api.sentTexts.length]
    await receiveMessage(world.chat, '/compress here 1', guest)
    await until(() => api.sentTexts[sent])
    const sentToModel = JSON.stringify(scripted.requests.slice(asked))
    for (const other of [`${hidden} plan`, `Keep ${hidden}`, `is ${hidden}`, `says ${hidden}`])
      expect(sentToModel).not.toContain(other)
  })

  it('gets the own conversation alone by /save', async () => {
    const { api } = world.chat
    const before = api.sentFiles.length
    await trySaying('/save json')
    const file = await until(() => api.sentFiles[before])
    const { key } = world.tenant
    const saved = await request('GET', `/api/sessions/${world.guestSession}/files/exports/${file.name}`, { key })
    const text = await saved.text()
    expect(text).toContain('Hello Bert.')
    for (const other of ['Noted', 'tool_calls', `says ${hidden}`]) expect(text).not.toContain(other)
  })

  it.each(presses3)('decides nothing by %s', async (_what, data) => {
    expect(await tryPressing(data(world))).toMatch(/Expired|Only who asked/)
  })

  it('has changed nothing of the tenant', async () => {
    const { tenant, ownerSession } = world
    const { key } = tenant
    const get = async (path: string) => JSON.stringify((await call('GET', path, { key })).body)
    expect(await get('/api/settings')).toContain('"mode":"manual"')
    expect(await get('/api/jobs')).not.toContain('spy')
    expect(await get('/api/jobs')).toContain(`${hidden}-job`)
    expect(await get('/api/memory')).not.toContain('guests rule')
    expect(await get('/v1/skills')).not.toContain('guest-skill')
    expect(await get('/api/approvals')).toContain(hidden)
    expect((await listMessages(ownerSession, key)).length).toBe(4)
    const rules = (await call<{ approvals: { rules: object[] } }>('GET', '/api/settings', { key })).body.approvals.rules
    expect(rules).toEqual([{ do: 'ask', tool: 'terminal', match: '*' }])
  })
})
