/** Tests that parameters and the format of an answer survive the death of the object, also between answer and repair. */

import { afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { armFailpoints } from '#durable/platform/failpoint.ts'
import { model, type Reply, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, call, request } from '../../worker/client.ts'
import type { Run } from '../../worker/listen.ts'
import { fireAlarm, kill } from '../support/object.ts'

beforeAll(applyMigrations)

let passed: string[] = []
beforeEach(() => {
  passed = []
  const print = console.log
  vi.spyOn(console, 'log').mockImplementation((...words: unknown[]) => {
    if (String(words[0]).startsWith('FP:')) passed.push(String(words[0]).slice(3))
    else print(...words)
  })
})
afterEach(() => {
  armFailpoints('')
  vi.restoreAllMocks()
})

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const good = '{"city":"Bonn"}'

async function begin(replies: readonly Reply[]) {
  const scripted = model(replies)
  const answer = await call('POST', '/v1/responses', {
    body: {
      model: scripted.id,
      input: 'where?',
      background: true,
      top_p: 0.5,
      text: { format: { type: 'json_schema', name: 'place', schema } },
    },
  })
  const id = answer.headers.get('x-talaria-session-id') ?? ''
  const run = answer.headers.get('x-talaria-run-id') ?? ''
  return { id, run, scripted }
}

const endOf = (id: string, run: string) =>
  until(async () => {
    const { body } = await call<Run>('GET', `/api/sessions/${id}/runs/${run}`)
    return body.exit_reason === null ? undefined : body
  })

it.each<readonly [string, number, readonly Reply[]]>([
  ['in its first call', 1, [says(good), says(good)]],
  ['in the call that repairs it', 2, [says('{}'), says(good), says(good)]],
])('a turn that dies %s still has its parameters and its format', async (_when, nth, replies) => {
  armFailpoints(`before-final=hang@${nth}`)
  const { id, run, scripted } = await begin(replies)
  await until(() => passed.includes('before-final'))
  armFailpoints('')
  await kill(id)
  expect(await fireAlarm(id)).toBe(true)
  const end = await endOf(id, run)
  expect([end.exit_reason, end.output]).toEqual(['answered', good])
  expect(scripted.requests).toHaveLength(replies.length)
  for (const sent of scripted.requests) {
    expect(sent['top_p']).toBe(0.5)
    expect(sent['response_format']).toMatchObject({ type: 'json_schema', json_schema: { schema } })
  }
})

it('an answer that was cut off is continued, and its events have it once', async () => {
  const cut = (says('{"city":') as readonly string[]).map((part) =>
    part.replace('"finish_reason":"stop"', '"finish_reason":"length"'),
  )
  const { id, run, scripted } = await begin([cut, says('"Bonn"}')])
  const end = await endOf(id, run)
  expect([end.exit_reason, end.output]).toEqual(['answered', good])
  expect(scripted.requests).toHaveLength(2)
  // The second request continues a draft, which an API that enforces the format would begin anew.
  expect(scripted.requests[1]?.['response_format']).toBeUndefined()
  const events = await (await request('GET', `/v1/runs/${run}/events`)).text()
  const deltas = events.split('\n').filter((line) => line.startsWith('data: ') && line.includes('"message.delta"'))
  expect(deltas.map((line) => (JSON.parse(line.slice('data: '.length)) as { delta: string }).delta)).toEqual([good])
})
