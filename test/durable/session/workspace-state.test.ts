/** Tests what the model is told about the workspace when a turn starts. */

import { beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { marksOfMessage } from '#agent/untrusted/result-marks.ts'
import { calls, listTexts, model, type Reply, says } from '#test/support/scripted-model.ts'
import { applyMigrations, call, newKey, newSession, newTenant, request } from '#test/worker/client.ts'
import { listMessages } from '#test/worker/listen.ts'

beforeAll(applyMigrations)

const run = (command: string, more: object = {}) => calls({ name: 'terminal', input: { command, ...more } })

async function setUp(replies: readonly Reply[], settings: object = {}) {
  const { id: tenantId, key } = await newTenant()
  const scripted = model(replies)
  const { id } = await newSession({ model: scripted.id, settings }, key)
  const path = `/api/sessions/${id}`
  return {
    id,
    key,
    tenantId,
    ask: (input: string, as = key) => call('POST', `${path}/chat`, { key: as, body: { input } }),
    put: (file: string, text: string) => request('PUT', `${path}/files/${file}`, { key, body: text }),
    /** The newest message of a user, as the model got it last. */
    readLast: () => listTexts(scripted.requests.at(-1)!).findLast((text) => text.startsWith('user:')) ?? '',
  }
}

const repository = run('git init && git add . && git commit -m first')

describe('a turn in a repository', () => {
  it('begins with branch and changes, told when they have changed', async () => {
    const { ask, put, readLast } = await setUp([repository, says('1'), says('2'), says('3'), says('4')])
    await put('a.txt', 'one\n')
    await ask('Begin')
    expect(readLast()).toBe('user: Begin')
    await ask('Go on')
    expect(readLast()).toContain('Branch: main')
    expect(readLast()).toContain('No changes that are not committed.')
    await ask('And on')
    expect(readLast()).toBe('user: And on')
    await put('new "name".txt', 'x')
    await ask('Look')
    expect(readLast()).toContain('Changes that are not committed: 1\n?? ')
  })

  itInTurn('stays within its budget', async () => {
    const { ask, put, readLast } = await setUp([
      repository,
      says('1'),
      run('for i in $(seq 60); do echo x > a-long-name-of-a-file-that-is-new-$i.txt; done'),
      says('2'),
      says('3'),
    ])
    await put('a.txt', 'one\n')
    await ask('Begin')
    await ask('Write')
    await ask('Look')
    expect(readLast()).toContain('Changes that are not committed: 60')
    expect(readLast()).toContain('… and 30 more')
    expect(readLast().length).toBeLessThan(2_500)
  })

  it('is not described to who may run no commands, nor where it is switched off', async () => {
    const one = await setUp([repository, says('1'), says('2')])
    await one.put('a.txt', 'one\n')
    await one.ask('Begin')
    await call('PATCH', '/api/settings', {
      key: one.key,
      body: { roles: { guest: { scopes: ['chat', 'read'], toolsets: ['file'] } } },
    })
    await one.ask('Go on', await newKey(one.tenantId, ['chat', 'read'], { role: 'guest' }))
    expect(one.readLast()).toBe('user: Go on')
    const off = await setUp([repository, says('1'), says('2')], { agent: { workspace_state: false } })
    await off.put('a.txt', 'one\n')
    await off.ask('Begin')
    await off.ask('Go on')
    expect(off.readLast()).toBe('user: Go on')
  })
})

describe('a turn beside a process', () => {
  it('begins with the process', async () => {
    const { ask, readLast, put } = await setUp([
      run('while [ ! -e go ]; do sleep 0.02; done', { background: true }),
      says('Started.'),
      says('It runs.'),
    ])
    await ask('Start')
    await ask('Is it running?')
    expect(readLast()).toMatch(/Running process proc_\w+: while \[ ! -e go \]/)
    await put('go', 'x')
  })
})

describe('the marks of the state', () => {
  it('are those of the message', () => {
    const state = { text: 'Branch: main', nonce: 'n', marks: { isPrivate: true as const } }
    expect(marksOfMessage({ role: 'user', content: [], state })).toEqual({ isPrivate: true })
    expect(marksOfMessage({ role: 'user', content: [] })).toEqual({})
  })
})

it('is no part of what readers of the session get', async () => {
  const { ask, put, id, key } = await setUp([repository, says('1'), says('2')])
  await put('a.txt', 'one\n')
  await ask('Begin')
  await ask('Go on')
  expect(JSON.stringify(await listMessages(id, key))).not.toContain('Branch:')
})
