/**
 * Tests one session of twenty turns that changes the dialect in each turn: every request is valid for its provider.
 */

import { afterAll, beforeAll, expect, it } from 'vitest'
import { pixelPng } from '#test/agent/providers/support/requests.ts'
import { deployment } from '#test/support/deployment.ts'
import { call, applyMigrations, request } from '#test/worker/client.ts'
import type { Run } from '#test/worker/listen.ts'
import { binding } from '../../chaos/binding.ts'
import { linesOf, createChaosSession, findTranscriptErrors } from '../../chaos/chaos-session.ts'
import { type Call, settingsFor, createFakeModel, type FakeAnswer, dialectFakes } from './fake-model.ts'

beforeAll(() => void (deployment.ai = binding))
afterAll(() => void delete deployment.ai)
beforeAll(applyMigrations)

const turns = 20
const url = `data:image/png;base64,${pixelPng}`

it('a conversation continues through all dialects without an invalid request', async () => {
  let turn = 0
  // Call ids that repeat in every answer, as those of many models do.
  const calls = (): readonly Call[] => [
    { id: 'call_1', name: 'todo', input: { todos: [{ id: '1', content: `task ${turn}`, status: 'pending' }] } },
    { id: 'call_2', name: 'read_file', input: { path: turn % 3 ? 'dot.png' : 'missing.txt' } },
  ]
  const speech = (nth: number): FakeAnswer => {
    if (nth % 3 === 0) return { thought: `Thought ${turn}.`, calls: calls() }
    if (nth % 3 === 1) return { thought: 'Once more.', text: 'Let me see.', calls: calls().slice(0, 1) }
    return { thought: 'Enough.', text: `answer ${turn}` }
  }
  const speakers = dialectFakes.map((tongue) => createFakeModel(tongue, speech))
  const session = await createChaosSession(speakers[0] as (typeof speakers)[number], {
    ...settingsFor(...speakers),
    agent: { max_turns: 5 },
  })
  const bytes = Uint8Array.from(atob(pixelPng), (char) => char.charCodeAt(0))
  await request('PUT', `/api/sessions/${session.id}/files/dot.png`, { key: session.key, body: bytes })

  const outputs: unknown[] = []
  for (; turn < turns; turn++) {
    const model = speakers[turn % speakers.length]?.id
    const attachments = turn % 4 === 0 ? [{ type: 'image', url }] : []
    const body = { input: `question ${turn}`, model, attachments }
    outputs.push((await call<Run>('POST', `/api/sessions/${session.id}/chat`, { key: session.key, body })).body.output)
  }

  expect(speakers.flatMap(({ faults }) => faults)).toEqual([])
  expect(outputs).toEqual(Array.from({ length: turns }, (_, n) => `answer ${n}`))
  expect(speakers.map(({ asked }) => asked())).toEqual(speakers.map(() => 12))
  // The last request of each model has everything before it.
  for (const [at, { bodies }] of speakers.entries()) {
    const last = turns - speakers.length + at
    const parts = Array.from({ length: last }, (_, n) => [`question ${n}`, `answer ${n}`, `task ${n}`]).flat()
    expect(parts.filter((part) => !bodies.at(-1)?.includes(part))).toEqual([])
  }
  expect(findTranscriptErrors(await linesOf(session))).toEqual([])
}, 60_000)
