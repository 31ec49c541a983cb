/**
 * Tests a session with the Responses API: reasoning items survive tool results, turns and evictions, and web searches of
 * the provider count as foreign content and are billed.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { findResponsesViolations } from '../../agent/providers/fakes/openai-responses.ts'
import {
  callItem,
  completedResponse,
  messageItem,
  reasoningItem,
  searchItem,
  truncatedResponse,
} from '../../agent/providers/fixtures/openai-responses.ts'
import { answerRequests } from '../../support/answered-requests.ts'
import { until } from '../../support/scripted-model.ts'
import { call, applyMigrations, newSession } from '../../worker/client.ts'
import { listLines, type Run, send } from '../../worker/listen.ts'
import { evict, wipe } from '../support/object.ts'

beforeAll(applyMigrations)

type Body = {
  readonly input: readonly { readonly type?: string; readonly id?: string; readonly role?: string }[]
  readonly tools?: readonly { readonly type: string; readonly name?: string }[]
}
type Answer = { readonly status?: number; readonly body: string | Uint8Array }

/** A fake provider that rejects invalid input like the real one. */
const asked: Body[] = []
let answers: readonly Answer[] = []
async function respond(request: Request): Promise<Response> {
  const body = await request.json<Body>()
  const faults = findResponsesViolations(body)
  asked.push(body)
  if (faults.length) return Response.json({ error: { message: faults.join('; ') } }, { status: 400 })
  const answer = answers[asked.length - 1] ?? completedResponse(messageItem(['ok']))
  const type = answer.status ? 'application/json' : 'text/event-stream'
  return new Response(answer.body, { status: answer.status ?? 200, headers: { 'content-type': type } })
}
const end = answerRequests((url, input, init) =>
  /^https:\/\/(model\.test|models\.example\.org)\/v1\/responses$/.test(url)
    ? respond(new Request(input as RequestInfo, { ...init, signal: null }))
    : undefined,
)
afterAll(end)

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

  it('is sent back in its place with results and in later turns, also after an eviction', async () => {
    answers = [
      completedResponse(reasoningItem([['I must look.']], 'rs_1'), todo),
      completedResponse(reasoningItem([], 'rs_2'), messageItem(['Nothing to do.'], 'final_answer')),
    ]
    const { id } = await begin()
    expect(await send(id, 'what is there to do?')).toMatchObject({ output: 'Nothing to do.' })
    await evict(id)
    await send(id, 'sure?')
    // The stored rows are enough.
    await until(async () => (await call<{ data: unknown[] }>('GET', '/api/search?q=sure')).body.data.length)
    await wipe(id)
    await send(id, 'quite sure?')
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

  it('of one provider is not sent to another one, and stays available to the first', async () => {
    answers = [completedResponse(reasoningItem([['hm']], 'rs_1'), messageItem(['Yes.']))]
    const { id, model: first } = await begin()
    await send(id, 'is it so?')
    const other = 'custom:other'
    const model = `${other}/reasoner`
    const providers = { [other]: { base_url: 'https://models.example.org/v1', dialect: 'openai-responses' } }
    expect((await call('PATCH', '/api/settings', { body: { providers } })).status).toBe(200)
    expect((await call('PATCH', `/api/sessions/${id}`, { body: { model } })).status).toBe(200)
    await send(id, 'still?')
    await call('PATCH', `/api/sessions/${id}`, { body: { model: first } })
    await send(id, 'and now?')
    expect(asked.slice(1).map(outline)).toEqual([
      ['user', 'assistant', 'user'],
      ['user', 'rs_1', 'assistant', 'user', 'assistant', 'user'],
    ])
  })

  it('is left out when the provider rejects it, and the turn continues', async () => {
    const error = { code: 'invalid_encrypted_content', message: 'The encrypted content gAAA could not be verified.' }
    answers = [
      completedResponse(reasoningItem([['hm']], 'rs_1'), messageItem(['Yes.'])),
      { status: 400, body: JSON.stringify({ error: { ...error, type: 'invalid_request_error' } }) },
      completedResponse(messageItem(['Still yes.'])),
    ]
    const { id } = await begin()
    await send(id, 'is it so?')
    const run: Run = await send(id, 'still?')
    expect(run.output).toBe('Still yes.')
    expect(asked.slice(1).map(outline)).toEqual([
      ['user', 'rs_1', 'assistant', 'user'],
      ['user', 'assistant', 'user'],
    ])
    expect(await listLines(id)).toEqual(['user: is it so?', 'assistant: Yes.', 'user: still?', 'assistant: Still yes.'])
  })
})

describe('the web search of the provider', () => {
  const beginNative = () => {
    const model = `openai/gpt-5-native-${++names}`
    const prices = { input: 0, output: 0, web_search: 25 }
    const settings = { models: { [model]: { dialect: 'openai-responses', prices } }, web: { backend: 'native' } }
    return newSession({ model, settings })
  }
  const searchToolsOf = ({ tools = [] }: Body) =>
    tools.flatMap(({ type, name = type }) => (name === 'web_search' ? [type] : []))
  const writeFile = [
    completedResponse(callItem('call_1', 'write_file', ['{"path":"a.txt","content":"mine"}'])),
    completedResponse(messageItem(['Written.'])),
  ]
  const readFile = [
    completedResponse(callItem('call_2', 'read_file', ['{"path":"a.txt"}'])),
    completedResponse(callItem('call_3', 'web_search', ['{"query":"mine"}'])),
  ]

  it('takes the place of our tool, is billed at its price, and is sent back in the next request', async () => {
    answers = [completedResponse(searchItem('tides'), searchItem('moon', 'ws_0a2'), messageItem(['At six.']))]
    const { id } = await beginNative()
    expect(await send(id, 'tides?')).toMatchObject({
      output: 'At six.',
      usage: { cost_usd: 0.05, cost_status: 'estimated' },
    })
    await send(id, 'and tomorrow?')
    expect(asked.map(searchToolsOf)).toEqual([['web_search'], ['web_search']])
    expect(asked.map(outline)[1]).toEqual(['developer', 'user', 'ws_0a1', 'ws_0a2', 'assistant', 'user'])
  })

  it.each([
    ['that completed', completedResponse(searchItem('tides'), callItem('call_0', 'todo', ['{}']))],
    ['whose call broke off', truncatedResponse('response.web_search_call.searching', searchItem('tides'))],
  ])('%s is foreign content: our own search asks once private data was read', async (_name, first) => {
    answers = [...writeFile, first, ...readFile]
    const { id } = await beginNative()
    await send(id, 'note it')
    await call('POST', `/api/sessions/${id}/chat`, { body: { input: 'tides?', wait: false } })
    const approval = await until(async () => {
      const { body } = await call<{ data: { id: string; tool: string; session_id: string }[] }>('GET', '/api/approvals')
      return body.data.find((one) => one.session_id === id)
    })
    expect(approval.tool).toBe('web_search')
    // After private data no search goes by the provider.
    expect(asked.slice(writeFile.length).map(searchToolsOf)).toEqual([['web_search'], ['web_search'], ['function']])
    answers = []
    const { status } = await call('POST', `/api/sessions/${id}/stop`)
    expect(status).toBeLessThan(300)
    const { body } = await call<{ usage: { cost_usd: number } }>('GET', `/api/sessions/${id}`)
    expect(body.usage.cost_usd).toBeCloseTo(0.025, 6)
  })
})
