/** Tests the API of checkpoints and rollback. */

import { beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { calls, Gate, model, says } from '../support/scripted-model.ts'
import { countRows, evict, inObject, kill } from '../durable/support/object.ts'
import { call, applyMigrations, newSession, type ErrorBody, request } from './client.ts'
import { listLines, send } from './listen.ts'

beforeAll(async () => {
  await applyMigrations()
  await call('PATCH', '/api/settings', { body: { approvals: { mode: 'off' } } })
})

const write = (path: string, content: string) => calls({ name: 'write_file', input: { path, content } })
const shell = (command: string) => calls({ name: 'terminal', input: { command } })

/** A session whose turns are these: each one tool call and an answer. */
async function session(...turns: readonly ReturnType<typeof calls>[]): Promise<string> {
  const scripted = model(turns.flatMap((turn, i) => [turn, says(`done ${i + 1}`)]))
  const { id } = await newSession({ model: scripted.id })
  for (let i = 1; i <= turns.length; i++) await send(id, `ask ${i}`)
  return id
}

type Listed = { readonly n: number; readonly at: string; readonly files: string[]; readonly run_id: string }
const list = async (id: string) => (await call<{ data: Listed[] }>('GET', `/api/sessions/${id}/checkpoints`)).body.data
const file = async (id: string, path: string) => {
  const answer = await request('GET', `/api/sessions/${id}/files/${path}`)
  const text = await answer.text()
  return answer.status === 200 ? text : answer.status
}
const put = (id: string, path: string, body: string) => request('PUT', `/api/sessions/${id}/files/${path}`, { body })
const rollback = (id: string, body: object = {}) =>
  call<ErrorBody & { restored: string[]; kept: string[]; undone: number; messages: string[] }>(
    'POST',
    `/api/sessions/${id}/rollback`,
    { body },
  )

describe('checkpoints', () => {
  it('exist only for turns that changed files, newest first', async () => {
    const id = await session(
      write('a.txt', '1'),
      shell('ls; cat a.txt'),
      shell('echo 2 > a.txt; mkdir d; echo 3 > d/b'),
    )
    const data = await list(id)
    expect(data.map(({ n, files }) => [n, files])).toEqual([
      [1, ['a.txt', 'd/b']],
      [2, ['a.txt']],
    ])
    expect(data.every(({ at }) => Math.abs(Date.parse(at) - Date.now()) < 600_000)).toBe(true)
  })

  it('write no row for a turn that changes nothing', async () => {
    const id = await session(shell('ls'))
    const tables = await inObject(id, (_object, { storage }) =>
      storage.sql
        .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE name IN ('kept', 'checkpoint')")
        .toArray(),
    )
    expect(tables).toEqual([])
    const changing = await session(write('a', '1'))
    expect([await countRows(changing, 'checkpoint'), await countRows(changing, 'kept')]).toEqual([1, 1])
  })

  it('show the changes since, with binary files by name', async () => {
    const id = await session(write('a.txt', 'one\n'), shell("echo two > a.txt; echo new > n.txt; printf 'a\\0b' > bin"))
    const diff = async (n: number) => (await call(`GET`, `/api/sessions/${id}/checkpoints/${n}/diff`)).body
    expect(await diff(1)).toEqual({
      diff: '--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-one\n+two\n--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1,1 @@\n+new\n',
      files: [
        { path: 'a.txt', added: 1, removed: 1 },
        { path: 'n.txt', added: 1, removed: 0 },
      ],
      binary: ['bin'],
      left_out: [],
      truncated: false,
    })
    expect((await diff(2))['diff']).toContain('--- /dev/null\n+++ b/a.txt\n')
    for (const n of ['3', '0', 'x']) {
      const { status } = await call('GET', `/api/sessions/${id}/checkpoints/${n}/diff`)
      expect([n, status]).toEqual([n, 404])
    }
  })
})

describe('rollback', () => {
  it('restores the files before the last changing turn and removes later turns', async () => {
    const id = await session(write('a', '1'), write('a', '2'), shell('ls'))
    const { status, body } = await rollback(id)
    expect([status, body]).toEqual([
      200,
      { restored: ['a'], kept: [], left_out: [], undone: 2, messages: ['ask 3', 'ask 2'] },
    ])
    expect(await file(id, 'a')).toBe('1')
    expect(await listLines(id)).toEqual([
      'user: ask 1',
      'assistant: → write_file',
      expect.any(String),
      'assistant: done 1',
    ])
    expect((await list(id)).map(({ n, files }) => [n, files])).toEqual([[1, ['a']]])
  })

  itInTurn('restores the nth checkpoint', async () => {
    const id = await session(write('a', '1'), write('a', '2'), write('b', '3'))
    expect((await rollback(id, { n: 3 })).body).toMatchObject({ restored: ['a', 'b'], undone: 3 })
    expect([await file(id, 'a'), await file(id, 'b')]).toEqual([404, 404])
    expect([await listLines(id), await list(id)]).toEqual([[], []])
    expect((await rollback(id)).body.error).toMatchObject({ code: 'not_found', param: 'n' })
  })

  it('keeps files that a person changed since, except with all', async () => {
    const id = await session(shell('echo agent > a; echo agent > b'))
    await put(id, 'a', 'person')
    expect((await rollback(id)).body).toMatchObject({ restored: ['b'], kept: ['a'] })
    expect([await file(id, 'a'), await file(id, 'b')]).toEqual(['person', 404])
    const other = await session(shell('echo agent > a; echo agent > b'))
    await put(other, 'a', 'person')
    await put(other, 'c', 'person')
    expect((await rollback(other, { all: true })).body).toMatchObject({ restored: ['a', 'b', 'c'], kept: [] })
    expect([await file(other, 'a'), await file(other, 'c')]).toEqual([404, 404])
  })

  it('of one file keeps the other files and the conversation', async () => {
    const id = await session(write('a', '1'), shell('echo 2 > a; echo 2 > b'))
    const before = await listLines(id)
    expect((await rollback(id, { path: 'a' })).body).toMatchObject({ restored: ['a'], undone: 0, messages: [] })
    expect([await file(id, 'a'), await file(id, 'b')]).toEqual(['1', '2\n'])
    expect(await listLines(id)).toEqual(before)
    expect(await list(id)).toHaveLength(2)
  })

  it('is refused while a turn runs', async () => {
    const gate = new Gate()
    const scripted = model([write('a', '1'), says('done'), says('x', gate, 'y')])
    const { id } = await newSession({ model: scripted.id })
    await send(id, 'one')
    const running = send(id, 'two')
    await gate.waitUntilReached()
    const refused = await rollback(id)
    expect([refused.status, refused.body.error.code]).toEqual([409, 'conflict'])
    gate.open()
    await running
    expect((await rollback(id)).body).toMatchObject({ undone: 2 })
  })

  it('survives a crash of the object', async () => {
    const id = await session(write('a', '1'), write('a', '2'))
    await evict(id)
    await rollback(id)
    await kill(id)
    expect(await file(id, 'a')).toBe('1')
    expect((await listLines(id))[0]).toBe('user: ask 1')
    expect(await listLines(id)).toHaveLength(4)
  })

  it('interrupted by a crash restores both files and conversation or neither', async () => {
    const id = await session(write('a', '1'), write('a', '2'))
    const going = rollback(id).catch(() => undefined)
    await kill(id)
    await going
    const found = [await file(id, 'a'), (await listLines(id)).length, (await list(id)).length]
    expect([
      ['2', 8, 2],
      ['1', 4, 1],
    ]).toContainEqual(found)
  })

  it('allows new turns afterwards', async () => {
    const id = await session(write('a', '1'), write('a', '2'))
    await rollback(id)
    const { output } = await send(id, 'and now')
    expect(output).toBe('ok')
    expect((await listLines(id)).at(-2)).toBe('user: and now')
  })

  it.each([
    [{ n: 0 }, 'n'],
    [{ n: 'x' }, 'n'],
    [{ path: '' }, 'path'],
    [{ everything: true }, 'everything'],
  ])('%j is refused by name', async (body, param) => {
    const { id } = await newSession()
    const answer = await rollback(id, body)
    expect([answer.status, answer.body.error.param]).toEqual([400, param])
  })
})
