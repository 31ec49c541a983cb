/** Tests references in messages: their calls run before the model is asked, with the rights of the sender. */

import { beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { calls, listTexts, model, type Reply, says } from '#test/support/scripted-model.ts'
import { applyMigrations, call, newKey, newSession, newTenant, request } from '#test/worker/client.ts'

beforeAll(applyMigrations)

const commit = 'git init && git add . && git commit -m first'

async function setUp(replies: readonly Reply[] = []) {
  const { id: tenantId, key } = await newTenant()
  const scripted = model([...replies, says('One.'), says('Two.')])
  const { id } = await newSession({ model: scripted.id }, key)
  const path = `/api/sessions/${id}`
  const ask = (input: string, as = key, more: object = {}) =>
    call('POST', `${path}/chat`, { key: as, body: { input, ...more } })
  const put = (file: string, text: string) => request('PUT', `${path}/files/${file}`, { key, body: text })
  const read = (n: number) => listTexts(scripted.requests[n]!)
  return { tenantId, key, path, scripted, ask, put, read }
}

describe('a message with a reference', () => {
  it('brings the lines of a file before the model is asked, and again when it is retried', async () => {
    const { ask, put, read, scripted, path, key } = await setUp()
    await put('notes.md', 'one\ntwo\nthree\n')
    await ask('What does @file:notes.md:2-3 say?')
    expect(scripted.requests).toHaveLength(1)
    const texts = read(0)
    expect(texts.slice(-3, -1)).toEqual(['user: What does @file:notes.md:2-3 say?', 'assistant: → read_file'])
    expect(texts.at(-1)).toContain('two')
    expect(texts.at(-1)).not.toContain('one')
    await call('POST', `${path}/retry`, { key, body: {} })
    expect(read(1).at(-1)).toContain('two')
  })

  it('tells of a file that is not there', async () => {
    const { ask, read } = await setUp()
    await ask('Read @file:missing.md')
    expect(read(0).at(-1)).toContain('not found')
  })

  itInTurn('stays text where the turn has no such tool', async () => {
    const { tenantId, key, ask, put, read } = await setUp()
    await put('notes.md', 'one\n')
    await call('PATCH', '/api/settings', {
      key,
      body: { roles: { guest: { scopes: ['chat', 'read'], toolsets: ['todo'] } } },
    })
    const narrow = await newKey(tenantId, ['chat', 'read'], { role: 'guest' })
    await ask('Read @file:notes.md', narrow)
    expect(read(0).at(-1)).toBe('user: Read @file:notes.md')
  })

  it('shows the changes of a repository', async () => {
    const { ask, put, read } = await setUp([calls({ name: 'terminal', input: { command: commit } }), says('Done.')])
    await put('a.txt', 'before\n')
    await ask('Begin')
    await put('a.txt', 'after\n')
    await ask('Review @diff')
    expect(read(2).at(-1)).toContain('+after')
  })
})
