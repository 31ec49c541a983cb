/** Tests named checkpoints: by people, by the agent, and what is restored. */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, listTexts, model, type Reply, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, call, newSession, request } from '../client.ts'
import { send } from '../listen.ts'

beforeAll(applyMigrations)

const tool = (name: string, input: object) => calls({ name, input })
const write = (content: string) => tool('write_file', { path: 'a.txt', content })

type Pending = { data: { id: string; tool: string; session_id: string }[] }

async function session(...replies: readonly Reply[]) {
  const scripted = model(replies)
  const { id } = await newSession({ model: scripted.id })
  const path = `/api/sessions/${id}`
  return {
    id,
    scripted,
    ask: (input = 'go') => send(id, input),
    read: async () => (await request('GET', `${path}/files/a.txt`)).text(),
    exists: async () => (await request('GET', `${path}/files/a.txt`)).ok,
    put: (text: string) => request('PUT', `${path}/files/a.txt`, { body: text }),
    create: async (name: string) => (await call('POST', `${path}/checkpoints`, { body: { name } })).status,
    list: async () =>
      (await call<{ data: { name: string | null; run_id: string | null; n: number }[] }>('GET', `${path}/checkpoints`))
        .body.data,
    rollback: (body: object) => call<{ undone: number }>('POST', `${path}/rollback`, { body }),
    diff: async (query: string) => (await call<{ diff: string }>('GET', `${path}/checkpoints/${query}`)).body.diff,
    results: () => listTexts(scripted.requests.at(-1)!).filter((text) => text.startsWith('tool:')),
  }
}

describe('a checkpoint that a person names', () => {
  it('restores the files, keeps the conversation, and stays', async () => {
    const { ask, read, put, create, list, rollback, diff } = await session(
      write('one\n'),
      says('1'),
      tool('terminal', { command: 'echo two > a.txt' }),
      says('2'),
    )
    await ask()
    expect(await create('good state')).toBe(201)
    expect(await create('good state')).toBe(409)
    await put('by hand\n')
    await ask()
    expect((await list()).map(({ n, name }) => [n, name])).toEqual([
      [1, null],
      [2, 'good state'],
      [3, null],
    ])
    expect(await diff('good%20state/diff')).toContain('-one\n+two')
    expect(await diff('3/diff?to=good%20state')).toContain('+one')
    const { body } = await rollback({ name: 'good state', all: true })
    expect([body.undone, await read()]).toEqual([0, 'one\n'])
    expect((await list()).at(0)?.name).toBe('good state')
    await put('again\n')
    await rollback({ name: 'good state', all: true })
    expect(await read()).toBe('one\n')
  })

  it('is left out by a rollback without a number', async () => {
    const { ask, read, create, rollback } = await session(write('one\n'), says('1'), write('two\n'), says('2'))
    await ask()
    await ask()
    await create('after')
    await rollback({})
    expect(await read()).toBe('one\n')
  })

  it.each([
    ['/rollback 1', 'one\n', 1],
    ['/rollback 2', '', 2],
    ['/rollback 3', 'two\n', 0],
  ])('is not counted by %s', async (command, text, undone) => {
    const { ask, exists, read, create } = await session(write('one\n'), says('1'), write('two\n'), says('2'))
    await ask()
    await create('between')
    await ask()
    await create('after')
    await ask('/checkpoint by command')
    const answer = (await ask(command)).output
    expect(answer).toContain(undone ? `Undone: ${undone} turn` : 'no such state')
    expect((await exists()) ? await read() : '').toBe(text)
  })

  it('is not taken for the turn that gave its name, once the files went back to it', async () => {
    const { ask, put, rollback } = await session(tool('checkpoint', { name: 'safe' }), write('one\n'), says('1'))
    await ask()
    expect((await rollback({ name: 'safe' })).body.undone).toBe(0)
    await put('by hand\n')
    expect((await ask('/rollback')).output).toContain('no such state')
  })

  it.each([[''], ['12'], ['x'.repeat(65)]])('cannot be named %j', async (name) => {
    expect(await (await session()).create(name)).toBe(400)
  })

  it('is named and restored by commands', async () => {
    const { ask, read, put } = await session(write('one\n'), says('1'))
    await ask()
    expect((await ask('/checkpoint first try')).output).toContain('/rollback first try')
    expect((await ask('/checkpoint 12')).output).toContain('Usage: /checkpoint')
    await put('two\n')
    expect((await ask('/rollback first try all')).output).toContain('Restored: a.txt. Undone: 0 turns')
    expect(await read()).toBe('one\n')
    expect((await ask('/rollback nothing')).output).toContain('no such state')
  })
})

describe('a checkpoint that the agent names', () => {
  it('is restored after a person has allowed it', async () => {
    const { ask, id, read, results } = await session(
      write('one\n'),
      tool('checkpoint', { name: 'safe' }),
      write('two\n'),
      tool('restore', { name: 'safe' }),
      says('Restored.'),
    )
    const running = ask()
    const pending = await until(async () =>
      (await call<Pending>('GET', '/api/approvals')).body.data.find((one) => one.session_id === id),
    )
    expect(pending.tool).toBe('restore')
    expect(await read()).toBe('two\n')
    await call('POST', `/api/approvals/${pending.id}`, { body: { decision: 'once' } })
    expect((await running).output).toBe('Restored.')
    expect(await read()).toBe('one\n')
    expect(results().at(-1)).toContain('"restored":1')
  })

  it('begins its turn when nothing was changed before, and stays when the turn is taken out', async () => {
    const { ask, exists, list } = await session(tool('checkpoint', { name: 'safe' }), write('one\n'), says('1'))
    await ask()
    expect((await ask('/rollback')).output).toContain('Restored: a.txt. Undone: 1 turn.')
    expect(await exists()).toBe(false)
    expect((await list()).map(({ name }) => name)).toEqual(['safe'])
  })

  it('does not divide its turn, and neither does one that a person names meanwhile', async () => {
    const { ask, id, create, exists, list, rollback } = await session(
      write('one\n'),
      tool('checkpoint', { name: 'safe' }),
      tool('restore', { name: 'safe' }),
      write('two\n'),
      says('2'),
    )
    const running = ask()
    const pending = await until(async () =>
      (await call<Pending>('GET', '/api/approvals')).body.data.find((one) => one.session_id === id),
    )
    expect(await create('meanwhile')).toBe(201)
    await call('POST', `/api/approvals/${pending.id}`, { body: { decision: 'deny' } })
    await running
    expect((await list()).map(({ name }) => name)).toEqual(['meanwhile', 'safe', null])
    expect((await rollback({})).body.undone).toBe(1)
    expect(await exists()).toBe(false)
  })

  it('that is unknown is answered with the names that there are', async () => {
    const { ask, results } = await session(
      tool('checkpoint', { name: 'safe' }),
      tool('checkpoint', { name: 'safe' }),
      says('ok'),
    )
    await ask()
    expect(results()).toEqual([
      expect.stringContaining('"created":"safe"'),
      expect.stringContaining('"created":"safe"'),
    ])
  })
})
