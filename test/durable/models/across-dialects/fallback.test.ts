/**
 * A fallback in the middle of a turn, after reasoning, calls and images, for every pair of dialects: the fallback
 * continues, and in the next turn the first model has everything.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pixelPng } from '#test/agent/providers/support/requests.ts'
import { deployment } from '#test/support/deployment.ts'
import { firstRows } from '#test/support/long.ts'
import { call, applyMigrations, request } from '#test/worker/client.ts'
import type { Run } from '#test/worker/listen.ts'
import { binding } from '../../chaos/binding.ts'
import { linesOf, notesIn, createChaosSession, findTranscriptErrors } from '../../chaos/chaos-session.ts'
import { type Call, settingsFor, createFakeModel, type FakeAnswer, dialectFakes } from './fake-model.ts'

beforeAll(() => void (deployment.ai = binding))
afterAll(() => void delete deployment.ai)
beforeAll(applyMigrations)

const look = (id: string): Call => ({ id, name: 'read_file', input: { path: 'dot.png' } })
const note = (id: string, content: string): Call => ({
  id,
  name: 'todo',
  input: { todos: [{ id: '1', content, status: 'pending' }] },
})
const says = (text: string): FakeAnswer => ({ thought: 'So.', text })
const url = `data:image/png;base64,${pixelPng}`
const countOf = (text: string, part: string) => text.split(part).length - 1

/** All pairs. Those of the first round have each dialect once on both sides. */
const pairs = dialectFakes.slice(1).flatMap((_, round) =>
  dialectFakes.map((first, nth) => {
    const second = dialectFakes[(nth + round + 1) % dialectFakes.length] ?? first
    return { names: `${first.wire.name} → ${second.wire.name}`, first, second }
  }),
)

describe('a fallback to another dialect in the middle of a turn', () => {
  it.each(firstRows(dialectFakes.length, pairs))(
    'sends the steps so far in its dialect, and the first one gets those of the fallback: $names',
    async (pair) => {
      const gone = pair.first.wire.error(404, 'The model `x` does not exist.')
      const first = createFakeModel(pair.first, (nth) => {
        if (nth === 0) return { thought: 'I must look.', calls: [look('call_1'), note('call_2', 'from the first')] }
        return nth === 1 ? gone : says('Back with the first.')
      })
      const second = createFakeModel(pair.second, (nth) =>
        nth === 0 ? { thought: 'I go on.', calls: [note('call_1', 'from the second')] } : says('Done by the second.'),
      )
      const session = await createChaosSession(first, {
        ...settingsFor(first, second),
        fallback_providers: [second.id],
      })
      const ask = async (input: string, more: object = {}) =>
        (await call<Run>('POST', `/api/sessions/${session.id}/chat`, { key: session.key, body: { input, ...more } }))
          .body
      const bytes = Uint8Array.from(atob(pixelPng), (char) => char.charCodeAt(0))
      await request('PUT', `/api/sessions/${session.id}/files/dot.png`, { key: session.key, body: bytes })

      const run = await ask('What is it?', { attachments: [{ type: 'image', url }] })
      expect({ output: run.output, did: notesIn(run) }).toEqual({
        output: 'Done by the second.',
        did: [`fall back to ${second.id}`],
      })
      expect(await ask('And now?')).toMatchObject({ output: 'Back with the first.', notes: [] })

      expect([...first.faults, ...second.faults]).toEqual([])
      expect([first.asked(), second.asked()]).toEqual([3, 2])
      // The one that took over had the picture and the results; the first one has all of the second's.
      const images = (body: string | undefined) => countOf(body ?? '', pixelPng)
      const showsResults = pair.second.wire.name === 'workers-ai' ? 1 : 2
      expect(images(second.bodies[0])).toBe(showsResults)
      expect(second.bodies[0]).toContain('from the first')
      expect(first.bodies[2]).toContain('from the second')
      expect(first.bodies[2]).toContain('Done by the second.')
      expect(findTranscriptErrors(await linesOf(session))).toEqual([])
    },
  )
})
