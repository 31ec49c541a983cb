/** Tests answers to open, answered and unknown questions. */

import { beforeAll, expect, it } from 'vitest'
import { calls, model, says, until } from '../support/scripted-model.ts'
import { call, applyMigrations, newSession, type ErrorBody } from './client.ts'
import { send } from './listen.ts'

beforeAll(applyMigrations)

it.each([
  ['questions', { name: 'clarify', input: { question: 'Well?' } }, { answer: 'yes' }],
  ['approvals', { name: 'terminal', input: { command: 'rm -rf src' } }, { decision: 'deny' }],
])('what was never asked is unknown to %s, a second answer is a conflict', async (list, input, body) => {
  const settings = { approvals: { mode: 'manual' } }
  const { id } = await newSession({ model: model([calls({ id: 'q', ...input }), says('Fine.')]).id, settings })
  const answer = (named: string) => call<ErrorBody>('POST', `/api/${list}/${named}`, { body })
  expect((await answer(`${id}.q`)).status).toBe(404)
  const run = send(id, 'go')
  await until(async () => (await call('GET', `/api/sessions/${id}`)).body['status'] === 'waiting')
  const unknown = await answer(`${id}.nonsense`)
  const pending = await call<{ data: { id: string; session_id: string }[] }>('GET', `/api/${list}`)
  const name = pending.body.data.find((one) => one.session_id === id)?.id ?? ''
  const elsewhere = await call<ErrorBody>('POST', `/api/${list}/ses_none.q`, { body })
  expect([unknown.status, unknown.body]).toEqual([404, elsewhere.body])
  expect((await answer(name)).status).toBe(200)
  await run
  expect((await answer(name)).status).toBe(409)
})

it.each([
  ['too many choices', Array.from({ length: 101 }, () => 'x'.repeat(1_000))],
  ['an empty choice', ['yes', ' ']],
  ['no choice', []],
])('an answer of %s is refused, and the question stays open', async (_what, answer) => {
  const question = calls({ id: 'q', name: 'clarify', input: { question: 'Well?' } })
  const { id } = await newSession({ model: model([question, says('Fine.')]).id })
  const run = send(id, 'go')
  await until(async () => (await call('GET', `/api/sessions/${id}`)).body['status'] === 'waiting')
  const pending = await call<{ data: { id: string; session_id: string }[] }>('GET', '/api/questions')
  const name = pending.body.data.find((one) => one.session_id === id)?.id ?? ''
  const refused = await call<ErrorBody>('POST', `/api/questions/${name}`, { body: { answer } })
  expect([refused.status, refused.body.error.param?.split('.')[0]]).toEqual([400, 'answer'])
  expect((await call('POST', `/api/questions/${name}`, { body: { answer: ['yes', 'no'] } })).status).toBe(200)
  expect(await run).toMatchObject({ output: 'Fine.' })
})
