/** Tests that the agent does not replace files that somebody else has changed, and that its next turn hears of them. */

import { beforeAll, describe, expect, it } from 'vitest'
import { evict } from '../durable/support/object.ts'
import { calls, model, type Reply, says } from '../support/scripted-model.ts'
import { applyMigrations, call, newSession, request } from './client.ts'
import { send } from './listen.ts'

beforeAll(async () => {
  await applyMigrations()
  await call('PATCH', '/api/settings', { body: { approvals: { mode: 'off' } } })
})

const read = (path: string) => calls({ name: 'read_file', input: { path } })
const write = (path: string, content: string) => calls({ name: 'write_file', input: { path, content } })
const replace = (path: string, old_string: string, new_string: string) =>
  calls({ name: 'patch', input: { mode: 'replace', path, old_string, new_string } })
const shell = (command: string) => calls({ name: 'terminal', input: { command } })

async function open(...replies: readonly Reply[]) {
  const scripted = model(replies)
  const { id } = await newSession({ model: scripted.id })
  const at = (path: string) => `/api/sessions/${id}/files/${path}`
  return {
    id,
    say: (text: string) => send(id, text),
    /** The last message of the nth request to the model, with what stands behind it. */
    lastMessage: (nth: number) => {
      const asked = scripted.requests[nth]
      return asked ? JSON.stringify(asked.messages.at(-1)?.content) : undefined
    },
    put: (path: string, body: string) => request('PUT', at(path), { body }),
    remove: (path: string) => request('DELETE', at(path)),
    move: (from: string, to: string) => request('POST', `${at(from)}/move`, { body: { to } }),
    text: async (path: string) => (await request('GET', at(path))).text(),
  }
}

describe('a file that somebody else has changed since the agent has read it', () => {
  it('is not replaced until the agent has read it again, also after the object was restarted', async () => {
    const session = await open(
      read('plan.md'),
      says('read'),
      write('plan.md', 'mine\n'),
      read('plan.md'),
      write('plan.md', 'yours and mine\n'),
      says('written'),
    )
    await session.put('plan.md', 'first\n')
    await session.say('read it')
    await session.put('plan.md', 'yours\n')
    await evict(session.id)
    await session.say('write it')
    expect(session.lastMessage(2)).toContain('"/workspace/plan.md\\" (changed)')
    expect(session.lastMessage(3)).toContain('plan.md was changed since you last read or wrote it')
    expect(session.lastMessage(4)).toContain('1|yours')
    expect(await session.text('plan.md')).toBe('yours and mine\n')
  })

  it('that the agent has written itself, likewise', async () => {
    const session = await open(write('a.txt', 'agent'), says('ok'), write('a.txt', 'agent again'), says('refused'))
    await session.say('write')
    await session.put('a.txt', 'person')
    await session.say('again')
    expect(await session.text('a.txt')).toBe('person')
  })

  it('is patched as it is, and the result says so', async () => {
    const session = await open(
      read('a.txt'),
      says('ok'),
      replace('a.txt', 'two', '2'),
      replace('a.txt', 'one', '1'),
      says('ok'),
    )
    await session.put('a.txt', 'one\ntwo\n')
    await session.say('read')
    await session.put('a.txt', 'zero\none\ntwo\n')
    await session.say('patch')
    expect(session.lastMessage(3)).toContain('Somebody else has changed /workspace/a.txt')
    expect(await session.text('a.txt')).toBe('zero\n1\n2\n')
  })

  it('is not deleted by a patch', async () => {
    const patch = '*** Begin Patch\n*** Delete File: a.txt\n*** End Patch'
    const session = await open(
      read('a.txt'),
      says('ok'),
      calls({ name: 'patch', input: { mode: 'patch', patch } }),
      says('ok'),
    )
    await session.put('a.txt', 'one\n')
    await session.say('read')
    await session.put('a.txt', 'two\n')
    await session.say('delete')
    expect(await session.text('a.txt')).toBe('two\n')
  })
})

describe('a turn', () => {
  it('hears once of files that were made, moved and deleted, and shows readers of the message nothing of it', async () => {
    const session = await open(says('one'), says('two'), says('three'))
    await session.put('a.txt', 'a')
    await session.put('b.txt', 'b')
    await session.say('first')
    await session.put('c.txt', 'c')
    await session.remove('a.txt')
    await session.move('b.txt', 'd.txt')
    await session.say('second')
    await session.say('third')
    expect(session.lastMessage(0)).toBe('"first"')
    for (const news of ['c.txt\\" (created)', 'a.txt\\" (deleted)', 'b.txt\\" (deleted)', 'd.txt\\" (created)'])
      expect(session.lastMessage(1)).toContain(news)
    expect(session.lastMessage(2)).toBe('"third"')
    const { body } = await call<{ data: { role: string; content: string }[] }>(
      'GET',
      `/api/sessions/${session.id}/messages`,
    )
    expect(JSON.stringify(body)).not.toContain('(created)')
  })

  it('hears nothing of its own changes and of files that were saved as they are', async () => {
    const session = await open(
      write('a.txt', 'one'),
      shell('echo two > a.txt; echo three > b.txt'),
      says('ok'),
      write('a.txt', 'three'),
      says('ok'),
    )
    await session.say('first')
    await session.put('b.txt', 'three\n')
    await session.say('second')
    expect(session.lastMessage(3)).toBe('"second"')
    expect(await session.text('a.txt')).toBe('three')
  })
})
