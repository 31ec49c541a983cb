/** Tests the commands that manage conversations and show things, and what each command of the table does while a turn runs. */

import { beforeAll, describe, expect, it } from 'vitest'
import { type CommandSpec, commandTable } from '#agent/policy/slash-command/command-table.ts'
import { evict } from '../../durable/support/object.ts'
import {
  calls,
  Gate,
  hangs,
  listTexts,
  model,
  type ModelRequest,
  type Reply,
  says,
} from '../../support/scripted-model.ts'
import { applyMigrations, call, newKey, newSession, newTenant } from '../client.ts'
import { listMessages, type Run, send } from '../listen.ts'

beforeAll(applyMigrations)

async function sessionWith(...replies: readonly Reply[]) {
  const scripted = model(replies)
  const { id } = await newSession({ model: scripted.id })
  return { id, scripted }
}
const say = async (id: string, input: string, more: object = {}) =>
  (await call<Run>('POST', `/api/sessions/${id}/chat`, { body: { input }, ...more })).body.output ?? ''

const table: readonly CommandSpec[] = commandTable

/** Arguments with which a command answers, where it needs some. */
const argumentsOf: Readonly<Record<string, string>> = {
  heartbeat: 'clear',
  loop: 'clear',
  goal: 'show',
  subgoal: 'remove 1',
}

describe('GET /api/commands', () => {
  type Listed = { name: string; aliases: string[]; usage: string; scope: string; busy: string; group: string }
  it('lists the table in the order of /help, then the skills', async () => {
    const { body } = await call<{ data: Listed[] }>('GET', '/api/commands')
    const names = table.flatMap(({ name, isHidden }) => (isHidden ? [] : [name]))
    expect(body.data.filter(({ group }) => group !== 'skill').map(({ name }) => name)).toEqual(names)
    expect(body.data[0]).toMatchObject({ name: 'new', aliases: ['reset', 'clear'], scope: 'write', busy: 'interrupt' })
    expect(body.data.some(({ group }) => group === 'skill')).toBe(true)
  })

  it('lists what /help lists, for a key with all scopes', async () => {
    const { id } = await sessionWith()
    const help = await say(id, '/help')
    for (const { name, isHidden, isForChats } of table)
      expect(help.includes(`\n/${name}`) || help.startsWith(`/${name}`)).toBe(!isHidden && !isForChats)
    expect(await say(id, '/help bg')).toContain('/background PROMPT – ')
    expect(await say(id, '/help retry')).toContain('(not while a turn runs)')
  })
})

describe('while a turn runs', () => {
  const beside = table.filter(({ busy, isForChats }) => busy !== 'interrupt' && !isForChats)
  /** They send a message of their own. */
  const sending = ['steer', 'queue', 'background']

  it('every command works as its line in the table says, and stores no text', async () => {
    const gate = new Gate()
    const { id, scripted } = await sessionWith(hangs(gate))
    const running = send(id, 'long work')
    await gate.waitUntilReached()
    for (const { name, busy } of beside.filter((one) => !sending.includes(one.name))) {
      const answer = await say(id, `/${name} ${argumentsOf[name] ?? ''}`)
      expect([name, answer.startsWith('A turn is running.')]).toEqual([name, busy === 'refuse'])
    }
    expect(scripted.requests).toHaveLength(1)
    expect((await listMessages<{ content: string }>(id)).map(({ content }) => content)).toEqual(['long work'])
    gate.open()
    expect((await running).status).toBe('completed')
  })

  it.each(table.filter(({ busy }) => busy === 'interrupt'))('/$name stops it', async ({ name }) => {
    const gate = new Gate()
    const { id } = await sessionWith(says('Earlier.'), hangs(gate))
    await send(id, 'earlier')
    await say(id, '/new')
    const running = send(id, 'long work')
    await gate.waitUntilReached()
    await say(id, `/${name}`)
    expect((await running).status).toBe('cancelled')
  })
})

describe('/sessions and /resume', () => {
  it('bring an earlier conversation back, with nothing of the others', async () => {
    const { id, scripted } = await sessionWith(
      says('Hello Ann.'),
      says('Paris.'),
      says('You are Ann.'),
      says('Paris it was.'),
    )
    await send(id, 'I am Ann.')
    await say(id, '/title About names')
    await say(id, '/new Travel')
    await send(id, 'Where to?')
    expect(await say(id, '/sessions')).toMatch(/^Now: Travel\n1\. About names \(until .*\)\n\/resume N/)
    expect(await say(id, '/resume names')).toContain('You are back in the conversation: About names.')
    await evict(id)
    await send(id, 'Who am I?')
    expect(listTexts(scripted.requests[2] as ModelRequest)).toEqual([
      'user: I am Ann.',
      'assistant: Hello Ann.',
      'user: Who am I?',
    ])
    expect(await say(id, '/sessions')).toMatch(/^Now: About names\n1\. Travel/)
    await say(id, '/resume 1')
    await send(id, 'Where was it?')
    expect(listTexts(scripted.requests[3] as ModelRequest)).toEqual([
      'user: Where to?',
      'assistant: Paris.',
      'user: Where was it?',
    ])
    const compacted = (await listMessages<{ content: string; compacted: boolean }>(id)).map((one) => one.compacted)
    expect(compacted).toEqual([true, true, false, false, true, true, false, false])
    expect(await say(id, '/resume')).toContain('About names')
  })

  it('say when there is nothing, and what does not exist', async () => {
    const { id } = await sessionWith(says('One.'))
    expect(await say(id, '/resume')).toContain('There is no earlier conversation here.')
    await send(id, 'one')
    await say(id, '/new')
    expect(await say(id, '/resume 7')).toContain('No earlier conversation')
    expect(await say(id, '/resume 0')).toContain('No earlier conversation')
    expect(await say(id, '/sessions nothing like that')).toContain(
      'There is no earlier conversation here with these words',
    )
  })

  it('list other sessions to keys that may read', async () => {
    const tenant = await newTenant()
    const { id } = await newSession({ title: 'First' }, tenant.key)
    await newSession({ title: 'Second' }, tenant.key)
    expect(await say(id, '/sessions all', { key: tenant.key })).toMatch(/Other sessions:\n- Second \(api, /)
    const key = await newKey(tenant.id, ['chat'])
    const own = await newSession({ title: 'Third' }, key)
    expect(await say(own.id, '/sessions all', { key })).toContain('no other session that you may read')
  })
})

describe('commands that change or show', () => {
  it('/compress here N keeps exactly the last N messages with their answers, and /undo 2 shows what it takes out', async () => {
    const long = 'many words '.repeat(400)
    const { id, scripted } = await sessionWith(says(long), says(long), says('Three.'), says('SUMMARY'), says('Four.'))
    for (const text of ['first', 'second', 'third']) await send(id, text)
    expect(await say(id, '/compress here 0')).toBe('Usage: /compress [FOCUS|here N]')
    expect(await say(id, '/compress here 9')).toBe('There is nothing to compress.')
    expect(scripted.requests).toHaveLength(3)
    expect(await say(id, '/compress here 1')).toMatch(/^Compressed: about/)
    await send(id, 'fourth')
    const sent = listTexts(scripted.requests.at(-1) as ModelRequest)
    expect(sent[0]).toContain('SUMMARY')
    expect(sent.join()).not.toContain('many words')
    expect(sent[0]).toMatch(/\n\nthird$/)
    expect(sent.slice(1)).toEqual(['assistant: Three.', 'user: fourth'])
    expect(await say(id, '/undo 2')).toBe('Undone: 2 turns.\n\n> fourth\n\n> third')
  })

  it('/fork copies the conversation to a session of its own', async () => {
    const { id } = await sessionWith(says('One.'))
    await send(id, 'one')
    const [, copy = ''] = /(ses_\w+) \(The copy\)/.exec(await say(id, '/branch The copy')) ?? []
    expect((await listMessages<{ content: string }>(copy)).map(({ content }) => content)).toEqual(['one', 'One.'])
    expect((await call('GET', `/api/sessions/${copy}`)).body).toMatchObject({ parent_id: id, title: 'The copy' })
  })

  it('/rollback restores files and takes the turn out', async () => {
    const { id } = await sessionWith(
      calls({ name: 'write_file', input: { path: 'a.txt', content: 'x' } }),
      says('Written.'),
    )
    expect(await say(id, '/rollback')).toBe('There is no such state of the files.')
    await send(id, 'write')
    expect(await say(id, '/rollback')).toContain('Undone: 1 turn.')
    expect((await call('GET', `/api/sessions/${id}/files/a.txt`)).status).toBe(404)
    expect(await say(id, '/rollback x')).toBe('There is no such state of the files.')
  })

  it('/reasoning and /approvals change the session, and never loosen the policy', async () => {
    const { id } = await sessionWith()
    expect(await say(id, '/reasoning high')).toContain('The reasoning effort is now high.')
    expect(await say(id, '/reasoning much')).toBe('Usage: /reasoning [LEVEL|default]')
    expect(await say(id, '/reasoning default')).toContain('that of the model')
    expect(await say(id, '/approvals manual')).toBe('Approvals: manual, in this session.')
    expect(await say(id, '/approvals off')).toContain('approvals.mode is policy of the tenant')
  })

  it.each([
    ['/whoami', /^You are the key .*\nScopes: .*chat/],
    ['/version', /^Talaria \d+\.\d+\.\d+$/],
    ['/context', /^Context: about \d+ of \d+ tokens/],
    ['/insights 3', /^The last 3 days: \d+ turns/],
    ['/insights 1000', /^Usage: \/insights/],
    ['/agents', /^No subagent and no background process runs\.$/],
    ['/skills', /^\/[a-z0-9-]+ – /],
    ['/skills no such skill at all', /^There is no such skill\.$/],
    ['/sethome', /has a meaning in the chats of a channel alone/],
    ['/verbose all', /has a meaning in the chats of a channel alone/],
  ])('%s answers', async (command, expected) => {
    const { id, scripted } = await sessionWith()
    expect(await say(id, command)).toMatch(expected)
    expect(scripted.requests).toHaveLength(0)
  })
})
