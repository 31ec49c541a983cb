/** Tests bursts, confirmations while busy, progress, home chats and jobs of people in chats. */

import { beforeAll, describe, expect, it } from 'vitest'
import { evict, fireAlarm } from '../../durable/support/object.ts'
import {
  bert,
  createChat,
  createMessage,
  createUpdate,
  getSessionId,
  postUpdate,
  receiveMessage,
} from '../../support/chat.ts'
import { calls, Gate, hangs, listTexts, type ModelRequest, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, call, newTenant } from '../client.ts'
import { listLines } from '../listen.ts'

beforeAll(applyMigrations)

const lastTexts = (requests: readonly ModelRequest[]) => requests.map((request) => listTexts(request).at(-1))

/** Runs the alarm until the text is in the chat. */
async function waitWithAlarm(chat: Awaited<ReturnType<typeof createChat>>, text: string): Promise<void> {
  const session = await getSessionId(chat)
  await until(async () => {
    await fireAlarm(session)
    return chat.api.messageTexts.some((one) => one.includes(text))
  })
}

describe('messages within burst_ms', () => {
  it('of one person are one message, also after the object was evicted', async () => {
    const chat = await createChat([says('Understood.')], { burst_ms: 300 })
    await receiveMessage(chat, 'first')
    await evict(await getSessionId(chat))
    await receiveMessage(chat, 'second')
    expect(chat.scripted.requests).toHaveLength(0)
    await waitWithAlarm(chat, 'Understood.')
    expect(lastTexts(chat.scripted.requests)).toEqual(['user: first\nsecond'])
    expect(await listLines(await getSessionId(chat))).toEqual(['user: first\nsecond', 'assistant: Understood.'])
  })

  it('count once, however often they are delivered', async () => {
    const chat = await createChat([says('Understood.')], { burst_ms: 300 })
    const update = createUpdate({ message: createMessage('once') })
    for (let n = 0; n < 3; n++) expect((await postUpdate(chat, update)).status).toBe(200)
    await waitWithAlarm(chat, 'Understood.')
    expect((await postUpdate(chat, update)).status).toBe(200)
    await fireAlarm(await getSessionId(chat))
    expect(lastTexts(chat.scripted.requests)).toEqual(['user: once'])
  })

  it('go before a command, which is not held back', async () => {
    const gate = new Gate()
    const chat = await createChat([hangs(gate)], { burst_ms: 10_000 })
    await receiveMessage(chat, 'work')
    await receiveMessage(chat, '/status')
    await chat.api.waitForText('Status: running')
    await receiveMessage(chat, '/stop')
    await chat.api.waitForText('Stopped: the turn.')
    expect(lastTexts(chat.scripted.requests)).toEqual(['user: work'])
  })
})

describe('a message during a turn', () => {
  it.each([
    ['queue', 'this comes after the turn'],
    ['steer', 'reads this with its next step'],
  ])('with busy_mode %s is confirmed once where the settings say so', async (mode, confirmation) => {
    const gate = new Gate()
    const chat = await createChat([hangs(gate), says('Next.'), says('Last.')], { busy_mode: mode, busy_notice: true })
    await receiveMessage(chat, 'work')
    await gate.waitUntilReached()
    await receiveMessage(chat, 'more')
    await receiveMessage(chat, 'and more')
    await chat.api.waitForText(confirmation)
    gate.open()
    await chat.api.waitForText(mode === 'queue' ? 'Last.' : 'Next.')
    expect(chat.api.sentTexts.filter((text) => text.startsWith('Noted'))).toHaveLength(1)
  })

  it('that is queued has a turn of its own, in order', async () => {
    const gate = new Gate()
    const chat = await createChat([hangs(gate), says('To b.'), says('To c.')], { busy_mode: 'queue' })
    await receiveMessage(chat, 'a')
    await gate.waitUntilReached()
    await receiveMessage(chat, 'b')
    await receiveMessage(chat, 'c')
    await receiveMessage(chat, '/status')
    await chat.api.waitForText('Queued: 2 turns')
    gate.open()
    await chat.api.waitForText('To c.')
    expect(lastTexts(chat.scripted.requests)).toEqual(['user: a', 'user: b', 'user: c'])
  })

  it('that comes after /stop is answered, and /stop is no message', async () => {
    const gate = new Gate()
    const chat = await createChat([hangs(gate), says('Fresh.')])
    await receiveMessage(chat, 'work')
    await gate.waitUntilReached()
    await receiveMessage(chat, '/stop')
    await receiveMessage(chat, 'something else')
    await chat.api.waitForText('Fresh.')
    expect(JSON.stringify(chat.scripted.requests)).not.toContain('/stop')
  })
})

describe('several approvals', () => {
  it.each([{}, { busy_mode: 'queue' }, { busy_mode: 'steer' }])(
    'are decided oldest first by /approve, and the rest by /deny all with its reason: %o',
    async (settings) => {
      const { key } = await newTenant()
      // The first one still runs when the others are denied.
      const echo = (id: string) => ({ id, name: 'terminal', input: { command: `sleep 0.2; echo ${id} >> log.txt` } })
      const chat = await createChat([calls(echo('a'), echo('b'), echo('c')), says('Done.')], settings, key)
      const rules = [{ do: 'ask', tool: 'terminal', match: '*' }]
      await call('PATCH', '/api/settings', { key, body: { approvals: { mode: 'manual', rules } } })
      await receiveMessage(chat, 'go')
      await until(() => chat.api.callsOf('sendMessage').filter(({ body }) => body.reply_markup).length === 3)
      await receiveMessage(chat, '/approve')
      await receiveMessage(chat, '/deny all not on a Friday')
      await chat.api.waitForText('Done.')
      const results = chat.scripted.requests.at(-1)?.messages.filter(({ role }) => role === 'tool') ?? []
      expect(results.map(({ content }) => String(content).includes('not on a Friday'))).toEqual([false, true, true])
      expect(String(results[0]?.content)).toContain('"exit_code":0')
    },
  )
})

describe('an answer to a question', () => {
  it.each([{}, { busy_mode: 'queue' }, { busy_mode: 'steer' }])(
    'is taken while another call of the turn runs, and once: %o',
    async (settings) => {
      const asks = calls(
        { id: 'q', name: 'clarify', input: { question: 'Which colour?' } },
        { id: 'w', name: 'terminal', input: { command: 'sleep 0.5; echo done' } },
      )
      const chat = await createChat([asks, says('Done.')], settings)
      await receiveMessage(chat, 'paint')
      await chat.api.waitForText('Which colour?')
      await receiveMessage(chat, 'blue')
      await chat.api.waitForText('Done.')
      const asked = chat.scripted.requests.at(-1)?.messages ?? []
      const results = asked.filter(({ role }) => role === 'tool').map(({ content }) => String(content))
      expect(results).toEqual([
        expect.stringContaining('"user_response":"blue"'),
        expect.stringContaining('"exit_code":0'),
      ])
      expect(asked.filter(({ role }) => role === 'user')).toHaveLength(1)
      expect(chat.scripted.requests).toHaveLength(2)
    },
  )
})

describe('a sentence that contains a silence token', () => {
  it('is sent', async () => {
    const chat = await createChat([says('I told him NO_REPLY.')])
    await receiveMessage(chat, 'what?')
    await chat.api.waitForText('I told him NO_REPLY.')
    expect(chat.api.sentTexts).toEqual(['I told him NO_REPLY.'])
  })
})

describe('progress', () => {
  it('is one message that names the calls, edited as they end', async () => {
    const gate = new Gate()
    const todo = calls({ id: 'c1', name: 'todo', input: {} })
    const terminal = calls({ id: 'c2', name: 'terminal', input: { command: 'echo hello' } })
    const chat = await createChat([todo, terminal, hangs(gate)], { progress: 'all' })
    await receiveMessage(chat, 'work')
    await gate.waitUntilReached()
    await chat.api.waitForText('✓ terminal: echo hello')
    gate.open()
    await chat.api.waitForText('released')
    expect(chat.api.messageTexts.filter((text) => text.includes('✓ todo'))).toHaveLength(1)
    expect(chat.api.sentTexts.at(-1)).toBe('released')
  })

  it('is switched by /verbose for one chat', async () => {
    const todo = calls({ name: 'todo', input: {} })
    const chat = await createChat([todo, says('One.'), todo, says('Two.')])
    await receiveMessage(chat, 'work')
    await chat.api.waitForText('One.')
    expect(chat.api.sentTexts).toEqual(['One.'])
    await receiveMessage(chat, '/verbose new')
    await chat.api.waitForText('Progress: new.')
    await receiveMessage(chat, 'work')
    await chat.api.waitForText('▸ todo')
    await chat.api.waitForText('Two.')
  })
})

describe('/sethome', () => {
  type Job = { id: string; error?: { message: string; param: string } }
  const jobFor = (key: string, deliver: string) =>
    call<Job>('POST', '/api/jobs', { key, body: { name: `to ${deliver}`, prompt: 'x', schedule: 'every 9h', deliver } })

  it('lets jobs deliver to the platform, which is refused before', async () => {
    const { key } = await newTenant()
    const chat = await createChat([says('The report.')], { allow_users: ['11'] }, key)
    const early = await jobFor(key, 'telegram')
    expect([early.status, early.body.error?.param]).toEqual([400, 'deliver'])
    expect(early.body.error?.message).toContain('/sethome')
    await receiveMessage(chat, '/sethome')
    await chat.api.waitForText('This chat is now the home of telegram')
    const { status, body } = await jobFor(key, 'telegram')
    expect(status).toBe(201)
    await call('POST', `/api/jobs/${body.id}/run`, { key, body: {} })
    await waitWithAlarm(chat, 'The report.')
    await receiveMessage(chat, '/sethome off')
    await chat.api.waitForText('telegram has no home any more.')
    expect((await jobFor(key, 'telegram')).status).toBe(400)
  })

  it('is for admins where there are any, and for nobody whom only "*" lets in', async () => {
    const open = await createChat([], {})
    await receiveMessage(open, '/sethome')
    await open.api.waitForText('You may not use /sethome')
    const chat = await createChat([], { allow_users: ['11'], admins: ['12'] })
    await receiveMessage(chat, '/sethome')
    await chat.api.waitForText('You may not use /sethome')
    expect([open.api.sentTexts.length, chat.api.sentTexts.length]).toEqual([1, 1])
  })
})

describe('the scope jobs', () => {
  const make = { name: 'cronjob', input: { action: 'create', schedule: 'every 2h', prompt: 'look', name: 'guest' } }

  it.each([
    ['nobody', [], false],
    ['admins', [], false],
    ['admins', ['12'], true],
    ['everybody', [], true],
  ] as const)('with the setting %s and admins %j: %s', async (jobs, admins, isMade) => {
    const { key } = await newTenant()
    const chat = await createChat([calls(make), says('Tried.')], { jobs, admins }, key)
    await receiveMessage(chat, 'make a job', { from: bert, chat: { id: 12, type: 'private' } })
    await chat.api.waitForText('Tried.')
    const { body } = await call<{ data: { deliver: string }[] }>('GET', '/api/jobs', { key })
    expect(body.data.map(({ deliver }) => deliver)).toEqual(isMade ? ['origin'] : [])
  })

  it('is given by a key with the scope approve alone', async () => {
    const { id, key: owner } = await newTenant()
    const { body: made } = await call<{ key: string }>('POST', '/api/admin/keys', {
      body: { tenant_id: id, scopes: ['chat', 'read', 'write', 'jobs'] },
    })
    const chat = await createChat([], {}, owner)
    const patch = (key: string) =>
      call('PATCH', `/api/channels/${chat.channel}`, { key, body: { settings: { jobs: 'everybody' } } })
    expect((await patch(made.key)).status).toBe(403)
    expect((await patch(owner)).status).toBe(200)
  })
})
