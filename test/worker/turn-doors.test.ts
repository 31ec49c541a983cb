/** Tests what people in chats, senders of webhooks, subagents and jobs can do at each door, with approvals off. */

import { afterAll, beforeAll, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { pngBytes } from '../backends/media/fixtures.ts'
import { jobTenant } from '../durable/tenant/jobs/support.ts'
import { bert, createChat, receiveMessage } from '../support/chat.ts'
import { vendors } from '../support/media-vendors.ts'
import { type ChatMessage, model, type Model, says, until } from '../support/scripted-model.ts'
import { hiddenText, obedient, order, type TurnDoor, turnDoors, type TurnPrincipal } from '../support/turn-doors.ts'
import { applyMigrations, call, newSession, newTenant, request } from './client.ts'
import { firstRows } from '../support/long.ts'

beforeAll(applyMigrations)
afterAll(() => replaceClock())
beforeAll(() =>
  vendors.begin(() =>
    Response.json({ created: 1, data: [{ b64_json: btoa(String.fromCharCode(...pngBytes('made'))) }] }),
  ),
)

type World = {
  readonly id: string
  readonly key: string
  readonly scripted: Model
  readonly write: (text: string) => Promise<unknown>
}

const free = { approvals: { mode: 'off', unattended: 'allow' } }
const person = (guest: object = {}) =>
  async function begin(key: string): Promise<Pick<World, 'scripted' | 'write'>> {
    const chat = await createChat(obedient, { admins: ['11'], jobs: 'admins' }, key)
    return { scripted: chat.scripted, write: (text) => receiveMessage(chat, text, guest) }
  }

const beginnings: Readonly<Record<TurnPrincipal, (key: string) => Promise<Pick<World, 'scripted' | 'write'>>>> = {
  'chat admin': person(),
  'chat guest': person({ from: bert, chat: { id: 12, type: 'private' } }),
  'webhook sender': async (key) => {
    const secret = 'a-secret-of-a-webhook'
    const fields = { name: 'CI', signature: 'gitlab', secret, prompt: '{text}' }
    const made = await call<{ webhook_url: string }>('POST', '/api/webhooks', { key, body: fields })
    const path = new URL(made.body.webhook_url).pathname
    let events = 0
    const headers = () => ({
      'x-gitlab-token': secret,
      'x-gitlab-event': 'Push Hook',
      'x-gitlab-event-uuid': `event-${++events}`,
    })
    const write = async (text: string) => {
      const answer = await request('POST', path, { key: null, body: { text }, headers: headers() })
      await answer.body?.cancel()
    }
    return { scripted: await setModel(key), write }
  },
  child: async (key) => {
    const scripted = await setModel(key)
    const { id } = await newSession({}, key)
    const delegate = (goal: string) => order({ name: 'delegate_task', input: { goal } })
    const write = (text: string) => call('POST', `/api/sessions/${id}/chat`, { key, body: { input: delegate(text) } })
    return { scripted, write }
  },
  job: async (key) => {
    let jobs = 0
    const scripted = await setModel(key)
    const write = async (prompt: string) => {
      const body = { name: `the job ${++jobs}`, schedule: 'every 9h', prompt }
      const { body: job } = await call<{ id: string }>('POST', '/api/jobs', { key, body })
      await call('POST', `/api/jobs/${job.id}/run`, { key })
    }
    return { scripted, write }
  },
}

async function setModel(key: string): Promise<Model> {
  const scripted = model(obedient)
  await call('PATCH', '/api/settings', { key, body: { model: { default: scripted.id } } })
  return scripted
}

async function createWorld(principal: TurnPrincipal): Promise<World> {
  const { key } = principal === 'job' ? await jobTenant() : await newTenant()
  await call('PATCH', '/api/settings', { key, body: free })
  const { id } = await newSession({ model: model([says('Noted.')]).id }, key)
  await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: `Remember ${hiddenText}.` } })
  await call('PUT', `/api/sessions/${id}/goal`, { key, body: { text: 'x', state: 'draft' } })
  await until(async () => (await textAt('/api/search?q=zanzibar', key)).includes(id))
  return { id, key, ...(await beginnings[principal](key)) }
}

const textAt = async (path: string, key: string) => (await request('GET', path, { key })).text()

/** The texts that the model has got since, and the results of calls among them. */
const readSince = ({ scripted }: World, before: number): readonly ChatMessage[] =>
  scripted.requests.slice(before).flatMap(({ messages }) => messages.slice(-1))

async function passes(door: TurnDoor, principal: TurnPrincipal, world: World): Promise<boolean> {
  const { attempt, shows, result } = door
  if (!attempt) return false
  const { id, key, scripted, write } = world
  const tried = attempt(id, principal)
  const before = scripted.requests.length
  if (tried.call) {
    await write(order(tried.call))
    await until(async () => resultsOf(world, before).length > 0 || (await approve(world)))
    await until(() => resultsOf(world, before).length > 0)
  } else
    for (const line of tried.lines) {
      await write(line)
      await new Promise((resolve) => setTimeout(resolve, 300))
    }
  // A subagent has a parent, which goes on afterwards.
  if (shows)
    return until(async () => (await textAt(shows(id).path, key)).includes(shows(id).part), 1_500).catch(() => false)
  return resultsOf(world, before).some((text) => result?.test(text))
}

/** Some calls ask in every mode. In a chat its person allows them. */
async function approve({ key, write }: World): Promise<boolean> {
  const { body } = await call<{ data: object[] }>('GET', '/api/approvals', { key })
  if (body.data.length) await write('/approve')
  return body.data.length > 0
}

const resultsOf = (world: World, before: number): readonly string[] =>
  readSince(world, before).flatMap(({ role, content }) => (role === 'tool' ? [String(content)] : []))

// Those whose words count least come first.
const principals = [
  'chat guest',
  'webhook sender',
  'child',
  'job',
  'chat admin',
] as const satisfies readonly TurnPrincipal[]

it.each(firstRows(2, principals))(
  'a %s passes the doors that are open for it',
  { timeout: 180_000 },
  async (principal) => {
    const world = await createWorld(principal)
    const passed: string[] = []
    for (const [name, door] of Object.entries(turnDoors)) if (await passes(door, principal, world)) passed.push(name)
    const open = Object.entries(turnDoors).filter((entry) => entry[1].open.includes(principal))
    expect(passed).toEqual(open.map(([name]) => name))
  },
)
