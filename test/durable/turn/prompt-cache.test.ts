/** What a provider's cache needs: requests that begin like the one before, byte for byte, with marks where they are read. */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, model, says } from '../../support/scripted-model.ts'
import { migrated, newSession } from '../../worker/client.ts'
import { say } from '../../worker/listen.ts'
import { evict } from '../support/object.ts'

beforeAll(migrated)

const mark = /,"cache_control":\{[^}]*\}/g
const marksIn = (body: string) => body.match(mark)?.length ?? 0
const bare = (body: string) => body.replaceAll(mark, '')
/** Without what closes the list of messages. */
const beginning = (body: string) => bare(body).slice(0, -2)

const write = (path: string) => calls({ name: 'write_file', input: { path, content: 'alpha' } })

/** Three turns with tools, with an eviction between them. */
async function talk(id: string, settings: object = {}) {
  const session = await newSession({ model: id, settings })
  const runs = [await say(session.id, 'write it')]
  runs.push(await say(session.id, 'and another'))
  await evict(session.id)
  runs.push(await say(session.id, 'and what was it?'))
  return runs
}

const script = () => [write('a.txt'), says('Written.'), write('b.txt'), says('That too.'), says('Alpha.')]

describe('requests of a session', () => {
  it('begin like the one before, in all turns, and after an eviction', async () => {
    const scripted = model(script())
    await talk(scripted.id)
    expect(scripted.bodies).toHaveLength(5)
    scripted.bodies.slice(1).forEach((body, n) => expect(body.startsWith(beginning(scripted.bodies[n]!))).toBe(true))
    expect(scripted.bodies.some((body) => marksIn(body) > 0)).toBe(false)
  })

  it('to a model that reads marks carry at most four, and differ in nothing else', async () => {
    const name = 'anthropic/claude-cache-1'
    const scripted = model(script(), name)
    const runs = await talk(`openrouter/${name}`)
    expect(scripted.bodies).toHaveLength(5)
    for (const body of scripted.bodies) {
      expect(marksIn(body)).toBeGreaterThanOrEqual(2)
      expect(marksIn(body)).toBeLessThanOrEqual(4)
      expect(body).toContain('"cache_control":{"type":"ephemeral"}')
    }
    scripted.bodies
      .slice(1)
      .forEach((body, n) => expect(bare(body).startsWith(beginning(scripted.bodies[n]!))).toBe(true))
    const [first] = scripted.asked
    for (const { messages, tools } of scripted.asked) {
      expect(messages[0]).toEqual(first?.messages[0])
      expect(tools).toEqual(first?.tools)
    }
    // What was read from the cache is counted apart.
    expect(runs[0]?.usage).toMatchObject({ input: 120, cached_read: 80 })
  })

  it('are marked for as long as the settings say, or not at all', async () => {
    const name = 'anthropic/claude-cache-2'
    const scripted = model([], name)
    const long = await newSession({ model: `openrouter/${name}`, settings: { prompt_caching: { ttl: '1h' } } })
    await say(long.id, 'hi')
    const off = await newSession({ model: `openrouter/${name}`, settings: { prompt_caching: { enabled: false } } })
    await say(off.id, 'hi')
    expect(scripted.bodies[0]).toContain('"cache_control":{"type":"ephemeral","ttl":"1h"}')
    expect(marksIn(scripted.bodies[1]!)).toBe(0)
  })
})
