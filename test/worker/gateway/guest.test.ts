/**
 * Tests that a guest of a channel reaches nothing but the own chat: with tools, commands, buttons and texts, on Telegram
 * and on Slack, against a tenant that has something to hide in each place.
 */

import { beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import {
  bert,
  type ChatFixture,
  createChat,
  createUpdate,
  getSessionId,
  postUpdate,
  receiveMessage,
} from '../../support/chat.ts'
import { createSlackChat } from '../../support/slack-chat.ts'
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

/** The answer of a tool to the guest. */
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

/** The answer to a message of the guest without a model call. */
async function trySaying(text: string): Promise<string> {
  const { api, scripted } = world.chat
  const [sent, asked] = [api.sentTexts.length, scripted.requests.length]
  await receiveMessage(world.chat, text, guest)
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

const nothingFound =
  '{"mode":"discovery","query":"zanzibar","results":[],"count":0,"sessions_found":0,"hint":"Nothing found: try fewer or other words.","reach":"Only the conversations of this chat are searched."}'
const noSession = ({ ownerSession }: World) =>
  `{"error":"No session ${ownerSession}. Find its id with query, or call without arguments."}`
const noMemory = /^\{"error":"There is no tool named memory\. There are: [a-z_, ]+\."\}$/
const noJobs =
  '{"error":"This conversation may not manage jobs: its key or person needs the scope \\"jobs\\".","success":false}'
const noFile = (path: string) =>
  `{"error":"File not found: ${path}. Look for it with search_files.","similar_files":[]}`

type Expected = string | RegExp | ((world: World) => string)
/** A pattern of the whole text. */
function patternOf(expected: Expected): RegExp {
  if (expected instanceof RegExp) return expected
  const text = typeof expected === 'string' ? expected : expected(world)
  return new RegExp(`^${text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`)
}

const tools: readonly [what: string, name: string, input: (world: World) => object, expected: Expected][] = [
  ['search a word of the owner', 'session_search', () => ({ query: hidden }), nothingFound],
  [
    'list recent sessions',
    'session_search',
    () => ({}),
    '{"mode":"browse","sessions":[],"count":0,"reach":"Only the conversations of this chat are searched."}',
  ],
  ['read a session by its id', 'session_search', ({ ownerSession }) => ({ session_id: ownerSession }), noSession],
  [
    'read a session by its link',
    'session_search',
    ({ ownerSession }) => ({ session_id: `@session:${ownerSession}` }),
    noSession,
  ],
  [
    'read around a message',
    'session_search',
    ({ ownerSession }) => ({ session_id: ownerSession, around_message_id: 1 }),
    noSession,
  ],
  ['read the memory', 'memory', () => ({ action: 'read', target: 'memory' }), noMemory],
  ['read a profile', 'memory', () => ({ action: 'read', target: 'user' }), noMemory],
  ['write the memory', 'memory', () => ({ action: 'add', target: 'memory', content: 'guests rule' }), noMemory],
  ['list jobs', 'cronjob', () => ({ action: 'list' }), noJobs],
  [
    'make a job',
    'cronjob',
    () => ({ action: 'create', schedule: 'every 1h', prompt: 'spy', deliver: 'telegram:11' }),
    noJobs,
  ],
  ['run the job of the owner', 'cronjob', () => ({ action: 'run', job_id: `${hidden}-job` }), noJobs],
  ['remove the job of the owner', 'cronjob', () => ({ action: 'remove', job_id: `${hidden}-job` }), noJobs],
  [
    'write a skill',
    'skill_manage',
    () => ({ action: 'create', name: 'guest-skill', content: '---\nname: guest-skill\ndescription: d\n---\nx' }),
    '{"error":"The sender may not change skills, because they act in all sessions: it takes a key with the scope write, or an admin of the channel.","success":false}',
  ],
  ['read a file of the owner', 'read_file', () => ({ path: 'plan.txt' }), noFile('plan.txt')],
  ['read a file of Anna', 'read_file', () => ({ path: '/workspace/anna.txt' }), noFile('/workspace/anna.txt')],
  ['leave the workspace', 'read_file', () => ({ path: '../../anna.txt' }), noFile('../../anna.txt')],
  [
    'search all files',
    'search_files',
    () => ({ pattern: hidden, path: '.' }),
    '{"matches":[],"total_count":0,"truncated":false}',
  ],
]

const nothingWaits = 'Nothing waits for approval.'
const onlyTighten =
  'approvals.mode is policy of the tenant: a session may only tighten it. PATCH /api/settings changes it.'
const noConversation = 'There is no earlier conversation here. /sessions all lists other sessions.'
const forAdmins = (command: string, id = '12') =>
  `You may not use ${command}: it is for admins here. The owner of this bot makes you one by adding your id, ${id}, to the setting admins of the channel.`

const sayings: readonly [text: string | ((world: World) => string), expected: Expected][] = [
  ['/insights', forAdmins('/insights')],
  ['/fork', forAdmins('/fork')],
  ['/branch mine', forAdmins('/fork')],
  ['/sethome', forAdmins('/sethome')],
  ['/sethome off', forAdmins('/sethome')],
  ['/approvals off', onlyTighten],
  ['/approvals smart', onlyTighten],
  [
    '/sessions all',
    /^Now: hi\nThere is no earlier conversation here\.\n\nThere is no other session that you may read\.$/,
  ],
  [
    `/sessions all ${hidden}`,
    /^Now: hi\nThere is no earlier conversation here with these words\.\n\nThere is no other session that you may read\.$/,
  ],
  [({ ownerSession }) => `/resume ${ownerSession}`, noConversation],
  [`/resume About ${hidden}`, noConversation],
  [
    '/memory',
    /^Memory: The sender may not read the memory of this tenant: it takes the scope read\.\s+Profile: The sender may not read/,
  ],
  ['/memory pending', nothingWaits],
  ['/memory approve all', nothingWaits],
  ['/approve', nothingWaits],
  ['/approve all always', nothingWaits],
  ['/deny all', nothingWaits],
  ['/status', /^Session: ses_\w+\nTitle: hi\nStatus: idle\n/],
  ['/whoami', /^You are 12 on telegram\.\nScopes: chat\nCommands: (?!.*(insights|fork|sethome|pause))/],
  ['/agents', 'No subagent and no background process runs.'],
  ['/pause', forAdmins('/pause')],
  ['/pause off', forAdmins('/pause')],
  ['/voice tts', 'Voice: tts – all answers are also spoken.'],
  ['/platform', /^Platform: telegram\nConnection: ch_\w+, active\nChat: telegram:12, a direct chat\n/],
]

const presses3: readonly [what: string, data: (world: World) => string][] = [
  ['the button of Anna', ({ annaButton }) => annaButton],
  ['the button of Anna, with her id', ({ annaButton }) => `${annaButton}:11`],
  ['an invented button', () => 'ask:1:0'],
]

/** In the group of the owner's channel, beside Anna's pending approval. */
const inGroup = ['/approve@TalariaBot', '/approve@TalariaBot all session', '/approve', '/deny all']
const group = { chat: { id: -77, type: 'supergroup' } }

describe('a guest of a channel', () => {
  beforeAll(async () => {
    await applyMigrations()
    world = await createWorld()
  })

  it.each(tools)('cannot %s', async (_what, name, input, expected) => {
    const answer = await tryTool(name, input(world))
    expect(answer).toMatch(patternOf(expected))
    expect(answer).not.toContain(`${hidden} plan`)
    expect(answer).not.toContain(`Keep ${hidden}`)
    expect(answer).not.toContain(`is ${hidden}`)
    expect(answer).not.toContain(`says ${hidden}`)
  })

  it.each(sayings)('gets no more than the own chat by %s', async (text, expected) => {
    const answer = await trySaying(typeof text === 'string' ? text : text(world))
    expect(answer).toMatch(patternOf(expected))
    expect(answer.replaceAll(/"[^"]*"/g, '')).not.toContain(hidden)
  })

  itInTurn.each(inGroup)('decides nothing in a group by %s', async (text) => {
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
    expect(answer.body.text).toBe(nothingWaits)
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
    expect(await tryPressing(data(world))).toBe('Expired: this is not waiting for an answer any more.')
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

const slackSayings: readonly [text: string, expected: Expected][] = [
  ['!insights', forAdmins('/insights', 'U2')],
  ['!fork', forAdmins('/fork', 'U2')],
  ['!sethome', forAdmins('/sethome', 'U2')],
  ['!pause', forAdmins('/pause', 'U2')],
  ['!approvals off', forAdmins('/approvals', 'U2')],
  [`!resume About ${hidden}`, forAdmins('/resume', 'U2')],
  ['!approve', nothingWaits],
  ['!approve all always', nothingWaits],
  ['!deny all', nothingWaits],
  ['!whoami', /^You are U2 on slack\.\nScopes: chat\nCommands: (?!.*(insights|fork|sethome|pause))/],
]

describe('a guest of a free channel of Slack', () => {
  let slack: Awaited<ReturnType<typeof createSlackChat>>
  let times = 100
  const anna = { user: 'U1', channel: 'C2' }
  const send = (text: string, more: object = {}) => slack.send({ user: 'U2', text, ts: `${++times}.1`, ...more })
  const answerTo = async (text: string, more: object = {}) => {
    const sent = slack.api.texts.length
    await send(text, more)
    return until(() => slack.api.texts[sent])
  }

  beforeAll(async () => {
    await applyMigrations()
    world = await createWorld()
    slack = await createSlackChat(world.tenant.key, { free_chats: ['C1', 'C2'] })
    replies.push(says(`Noted ${hidden}.`), calls({ name: 'terminal', input: { command: `echo ${hidden} > anna.txt` } }))
    await send(`Anna says ${hidden}`, { ...anna, ts: '1.1' })
    await until(() => slack.api.texts.includes(`Noted ${hidden}.`))
    await send('go', { ...anna, ts: '1.2', thread_ts: '1.1', parent_user_id: 'U1' })
    await until(() => slack.api.texts.some((text) => text.includes('May terminal be called')))
  })

  // The chat reaches its own threads.
  it.each(tools.filter(([what]) => what !== 'list recent sessions'))(
    'cannot %s',
    async (_what, name, input, expected) => {
      const { requests } = world.chat.scripted
      const before = requests.length
      replies.push(calls({ name, input: input(world) }), says(`Tried ${before}.`))
      await send('try it')
      await until(() => slack.api.texts.includes(`Tried ${before}.`))
      expect(String(requests.at(-1)?.messages.at(-1)?.content)).toMatch(patternOf(expected))
    },
  )

  it.each(slackSayings)('gets no more than the own chat by %s', async (text, expected) =>
    expect(await answerTo(text)).toMatch(patternOf(expected)),
  )

  it('decides nothing in the thread of another person', async () => {
    const inThread = { channel: 'C2', thread_ts: '1.1', parent_user_id: 'U1' }
    for (const text of ['!approve', '!approve all always', '!deny all'])
      expect(await answerTo(text, inThread)).toBe('Only who asked, or an admin, may answer this.')
    expect(JSON.stringify((await call('GET', '/api/approvals', { key: world.tenant.key })).body)).toContain('anna.txt')
  })
})
