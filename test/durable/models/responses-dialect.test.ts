/** A session whose model is asked by the Responses API: its reasoning survives results, turns and the object. */

import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { findResponsesViolations } from '../../agent/providers/fakes/openai-responses.ts'
import {
  callItem,
  completedResponse,
  messageItem,
  reasoningItem,
} from '../../agent/providers/fixtures/openai-responses.ts'
import { until } from '../../support/scripted-model.ts'
import { call, migrated, newSession } from '../../worker/client.ts'
import { linesOf, type Run, say } from '../../worker/listen.ts'
import { evict, wipe } from '../support/object.ts'

beforeAll(migrated)

type Body = { readonly input: readonly { readonly type?: string; readonly id?: string; readonly role?: string }[] }
type Answer = { readonly status?: number; readonly body: string | Uint8Array }

/** The provider: refuses what is not in order, as the real one does. */
const asked: Body[] = []
let answers: readonly Answer[] = []
const outside = globalThis.fetch.bind(globalThis)
globalThis.fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
  const url = input instanceof Request ? input.url : String(input)
  if (!/^https:\/\/(model\.test|models\.example\.org)\/v1\/responses$/.test(url)) return outside(input, init)
  const body = await new Request(input as RequestInfo, { ...init, signal: null }).json<Body>()
  const faults = findResponsesViolations(body)
  asked.push(body)
  if (faults.length) return Response.json({ error: { message: faults.join('; ') } }, { status: 400 })
  const answer = answers[asked.length - 1] ?? completedResponse(messageItem(['ok']))
  const type = answer.status ? 'application/json' : 'text/event-stream'
  return new Response(answer.body, { status: answer.status ?? 200, headers: { 'content-type': type } })
}

beforeEach(() => {
  asked.length = 0
})

let names = 0
const begin = () => {
  const model = `openai/reasoner-${++names}`
  return newSession({ model, settings: { models: { [model]: { dialect: 'openai-responses' } } } })
}
const outline = ({ input }: Body) => input.map(({ type, role, id }) => (type === 'message' ? role : (id ?? type)))

describe('reasoning', () => {
  const todo = callItem('call_1', 'todo', ['{}'])

  it('goes back in its place, with the results and in the turns behind them, whatever becomes of the object', async () => {
    answers = [
      completedResponse(reasoningItem([['I must look.']], 'rs_1'), todo),
      completedResponse(reasoningItem([], 'rs_2'), messageItem(['Nothing to do.'], 'final_answer')),
    ]
    const { id } = await begin()
    expect(await say(id, 'what is there to do?')).toMatchObject({ output: 'Nothing to do.' })
    await evict(id)
    await say(id, 'sure?')
    // What is stored outside of the object is enough.
    await until(async () => (await call<{ data: unknown[] }>('GET', '/api/search?q=sure')).body.data.length)
    await wipe(id)
    await say(id, 'quite sure?')
    expect(asked.map(outline)).toEqual([
      ['user'],
      ['user', 'rs_1', 'function_call', 'function_call_output'],
      ['user', 'rs_1', 'function_call', 'function_call_output', 'rs_2', 'assistant', 'user'],
      ['user', 'rs_1', 'function_call', 'function_call_output', 'rs_2', 'assistant', 'user', 'assistant', 'user'],
    ])
    expect(asked[3]?.input[1]).toEqual({
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'I must look.' }],
      encrypted_content: 'gAAAArs_1',
    })
    expect(asked[3]?.input[5]).toMatchObject({ content: 'Nothing to do.', phase: 'final_answer' })
  })

  it('of one provider is not shown to another, and not lost to the first', async () => {
    answers = [completedResponse(reasoningItem([['hm']], 'rs_1'), messageItem(['Yes.']))]
    const { id, model: first } = await begin()
    await say(id, 'is it so?')
    const other = 'custom:other'
    const model = `${other}/reasoner`
    const providers = { [other]: { base_url: 'https://models.example.org/v1', dialect: 'openai-responses' } }
    expect((await call('PATCH', '/api/settings', { body: { providers } })).status).toBe(200)
    expect((await call('PATCH', `/api/sessions/${id}`, { body: { model } })).status).toBe(200)
    await say(id, 'still?')
    await call('PATCH', `/api/sessions/${id}`, { body: { model: first } })
    await say(id, 'and now?')
    expect(asked.slice(1).map(outline)).toEqual([
      ['user', 'assistant', 'user'],
      ['user', 'rs_1', 'assistant', 'user', 'assistant', 'user'],
    ])
  })

  it('that the provider cannot read any more is left out, and the turn goes on', async () => {
    const error = { code: 'invalid_encrypted_content', message: 'The encrypted content gAAA could not be verified.' }
    answers = [
      completedResponse(reasoningItem([['hm']], 'rs_1'), messageItem(['Yes.'])),
      { status: 400, body: JSON.stringify({ error: { ...error, type: 'invalid_request_error' } }) },
      completedResponse(messageItem(['Still yes.'])),
    ]
    const { id } = await begin()
    await say(id, 'is it so?')
    const run: Run = await say(id, 'still?')
    expect(run.output).toBe('Still yes.')
    expect(asked.slice(1).map(outline)).toEqual([
      ['user', 'rs_1', 'assistant', 'user'],
      ['user', 'assistant', 'user'],
    ])
    expect(await linesOf(id)).toEqual(['user: is it so?', 'assistant: Yes.', 'user: still?', 'assistant: Still yes.'])
  })
})
