/** Tests tool results that are too long for the transcript, with models that repeat call ids. */

import { beforeAll, describe, expect, it } from 'vitest'
import { type ModelRequest, calls, model, type Reply, says } from '../../support/scripted-model.ts'
import { applyMigrations, newSession } from '../../worker/client.ts'
import { listMessages, send } from '../../worker/listen.ts'

beforeAll(applyMigrations)

/** A list whose account of itself has more than 100 000 characters. */
const long = (letter: string, id: string): Reply => {
  const content = letter.repeat(4_000)
  const todos = Array.from({ length: 30 }, (_, n) => ({ id: `${n}`, content, status: 'pending' }))
  return calls({ id, name: 'todo', input: { todos } })
}
const pathsIn = ({ messages }: ModelRequest) =>
  [...JSON.stringify(messages).matchAll(/\/tmp\/results\/[\w.-]+/g)].map(([path]) => path)

describe('a result that was too long', () => {
  it('can still be read when a later turn has used the id of its call again', async () => {
    let first = ''
    const scripted = model((asked, nth) => {
      if (nth === 0) return long('a', 'call_1')
      if (nth === 1) return says('Done.')
      if (nth === 2) return long('b', 'call_1')
      first = pathsIn(asked)[0] ?? ''
      return nth === 3 ? calls({ id: 'call_1', name: 'read_file', input: { path: first, limit: 1 } }) : says('Done.')
    })
    const { id } = await newSession({ model: scripted.id, settings: { compression: { enabled: false } } })
    await send(id, 'go')
    await send(id, 'again')
    const paths = pathsIn(scripted.requests.at(-1) as ModelRequest)
    expect(new Set(paths).size).toBe(2)
    expect(first).toMatch(/^\/tmp\/results\/call_1-\w+\.txt$/)
    const results = (await listMessages<{ role: string; content: string }>(id)).filter(({ role }) => role === 'tool')
    expect(results.at(-1)?.content).toContain('aaaa')
  })

  it('is spilled sooner when the groups of its batch have brought much already', async () => {
    // Lists are one thing: calls that write it come one after the other, each a group of its own.
    const list = (letter: string) => {
      const content = letter.repeat(4_000)
      const todos = Array.from({ length: 20 }, (_, n) => ({ id: `${n}`, content, status: 'pending' }))
      return { id: letter, name: 'todo', input: { todos } }
    }
    const scripted = model([calls(list('a'), list('b'), list('c'), list('d')), says('Done.')])
    const { id } = await newSession({ model: scripted.id, settings: { compression: { enabled: false } } })
    await send(id, 'go')
    const results = (await listMessages<{ role: string; content: string }>(id)).filter(({ role }) => role === 'tool')
    expect(results.map(({ content }) => content.includes('persisted_output'))).toEqual([false, false, true, true])
  })

  it('of an id full of dots and slashes stays in its folder', async () => {
    const scripted = model([long('a', '../../work/x'), says('Done.')])
    const { id } = await newSession({ model: scripted.id, settings: { compression: { enabled: false } } })
    await send(id, 'go')
    expect(pathsIn(scripted.requests.at(-1) as ModelRequest)).toEqual([
      expect.stringMatching(/^\/tmp\/results\/[\w-]+\.txt$/),
    ])
  })
})
