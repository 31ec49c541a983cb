/** Tests that requests extend the previous one byte for byte and carry cache marks, so that provider caches work. */

import { beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { calls, model, says } from '../../support/scripted-model.ts'
import { applyMigrations, newSession } from '../../worker/client.ts'
import { send } from '../../worker/listen.ts'
import { evict } from '../support/object.ts'

beforeAll(applyMigrations)

const mark = /,"cache_control":\{[^}]*\}/g
const marksIn = (body: string) => body.match(mark)?.length ?? 0
const bare = (body: string) => body.replaceAll(mark, '')
/** Removes the end of the list of messages. */
const beginning = (body: string) => bare(body).slice(0, -2)

const write = (path: string) => calls({ name: 'write_file', input: { path, content: 'alpha' } })

/** Runs three turns with tools and an eviction in between. */
async function talk(id: string, settings: object = {}) {
  const session = await newSession({ model: id, settings })
  const runs = [await send(session.id, 'write it')]
  runs.push(await send(session.id, 'and another'))
  await evict(session.id)
  runs.push(await send(session.id, 'and what was it?'))
  return runs
}

const script = () => [write('a.txt'), says('Written.'), write('b.txt'), says('That too.'), says('Alpha.')]

describe('requests of a session', () => {
  it('extend the previous request byte for byte, across turns and evictions', async () => {
    const scripted = model(script())
    await talk(scripted.id)
    expect(scripted.requestTexts).toHaveLength(5)
    scripted.requestTexts
      .slice(1)
      .forEach((body, n) => expect(body.startsWith(beginning(scripted.requestTexts[n]!))).toBe(true))
    expect(scripted.requestTexts.some((body) => marksIn(body) > 0)).toBe(false)
  })

  itInTurn('to a model with cache marks have at most four, and differ in nothing else', async () => {
    const name = 'anthropic/claude-cache-1'
    const scripted = model(script(), name)
    const runs = await talk(`openrouter/${name}`)
    expect(scripted.requestTexts).toHaveLength(5)
    for (const body of scripted.requestTexts) {
      expect(marksIn(body)).toBeGreaterThanOrEqual(2)
      expect(marksIn(body)).toBeLessThanOrEqual(4)
      expect(body).toContain('"cache_control":{"type":"ephemeral"}')
    }
    scripted.requestTexts
      .slice(1)
      .forEach((body, n) => expect(bare(body).startsWith(beginning(scripted.requestTexts[n]!))).toBe(true))
    const [first] = scripted.requests
    for (const { messages, tools } of scripted.requests) {
      expect(messages[0]).toEqual(first?.messages[0])
      expect(tools).toEqual(first?.tools)
    }
    // Tokens that were read from the cache are counted apart.
    expect(runs[0]?.usage).toMatchObject({ input: 120, cached_read: 80 })
  })

  itInTurn('follow the cache time of the settings, or have no marks', async () => {
    const name = 'anthropic/claude-cache-2'
    const scripted = model([], name)
    const long = await newSession({ model: `openrouter/${name}`, settings: { prompt_caching: { ttl: '1h' } } })
    await send(long.id, 'hi')
    const off = await newSession({ model: `openrouter/${name}`, settings: { prompt_caching: { enabled: false } } })
    await send(off.id, 'hi')
    expect(scripted.requestTexts[0]).toContain('"cache_control":{"type":"ephemeral","ttl":"1h"}')
    expect(marksIn(scripted.requestTexts[1]!)).toBe(0)
  })
})
