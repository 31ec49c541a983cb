/** Tests runs that wait for the caller of a response: calls of the client, and messages while an approval is pending. */

import { beforeAll, describe, expect, it } from 'vitest'
import { kill } from '../../durable/support/object.ts'
import { calls, listTexts, model, type Reply, says, type ScriptedCall, until } from '../../support/scripted-model.ts'
import { applyMigrations, call, newSession, request } from '../client.ts'

beforeAll(applyMigrations)

type Item = { readonly type: string; readonly call_id?: string; readonly [more: string]: unknown }
type Answer = { readonly id: string; readonly status: string; readonly output: readonly Item[] }

const tools = [{ type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } }]
const weather = (city: string, id: string): ScriptedCall => ({ id, name: 'get_weather', input: { city } })
const todo = (id: string): ScriptedCall => ({ id, name: 'todo', input: {} })
const push: ScriptedCall = { id: 'p', name: 'terminal', input: { command: 'git push origin main' } }

const textOf = ({ output }: Answer) =>
  output.flatMap((item) => (item.type === 'message' ? (item['content'] as { text: string }[]) : []))[0]?.text
const callsOf = ({ output }: Answer) =>
  output.flatMap(({ type, call_id: id = '' }) => (type === 'function_call' ? [id] : []))
const resultOf = (id: string, output: string) => ({ type: 'function_call_output', call_id: id, output })

function clientOf(replies: readonly Reply[], fields: object = {}) {
  const scripted = model(replies)
  const create = async (input: unknown, more: object = {}) => {
    const body = { model: scripted.id, input, ...fields, ...more }
    const { body: answer, headers } = await call<Answer>('POST', '/v1/responses', { body })
    return { answer, run: headers.get('x-talaria-run-id'), session: headers.get('x-talaria-session-id') ?? '' }
  }
  return { scripted, create }
}

describe('tools of the client in a response', () => {
  it('go on with the same run after each of several crashes', async () => {
    const client = clientOf([calls(weather('Rome', 'c1')), calls(weather('Oslo', 'c2')), says('Done.')], { tools })
    let last = await client.create('Weather?')
    const { run, session } = last
    for (let crashes = 0; crashes < 2; crashes++) {
      await kill(session)
      const [id = ''] = callsOf(last.answer)
      last = await client.create([resultOf(id, 'sun')], { previous_response_id: last.answer.id })
      expect(last.run).toBe(run)
    }
    expect(textOf(last.answer)).toBe('Done.')
  })

  it('run beside calls of ours: the response has both, and each part is read again as it was', async () => {
    const replies = [calls(weather('Rome', 'c1'), todo('t1'), weather('Oslo', 'c2')), says('Sunny and cold.')]
    const client = clientOf(replies, { tools })
    const { answer: first } = await client.create('Weather?')
    expect(first.output.map(({ type, status }) => [type, status]).toSorted()).toEqual([
      ['function_call', 'completed'],
      ['function_call', 'completed'],
      ['mcp_call', 'completed'],
    ])
    const [rome = '', oslo = ''] = callsOf(first)
    const { answer: second } = await client.create([resultOf(oslo, 'snow'), resultOf(rome, 'sun')], {
      previous_response_id: first.id,
    })
    expect(textOf(second)).toBe('Sunny and cold.')
    expect(listTexts(client.scripted.requests[1] as never).slice(-3)).toEqual([
      'tool: sun',
      expect.stringContaining('todos'),
      'tool: snow',
    ])
    for (const part of [first, second])
      expect((await call<Answer>('GET', `/v1/responses/${part.id}`)).body.output).toEqual(part.output)
  })

  it('stream several calls, and then the next part alone', async () => {
    const client = clientOf([calls(weather('Rome', 'c1'), weather('Oslo', 'c2')), says('Sun', 'ny.')], { tools })
    const stream = async (input: unknown, more: object = {}) => {
      const body = { model: client.scripted.id, input, tools, stream: true, ...more }
      const text = await (await request('POST', '/v1/responses', { body })).text()
      return text.split('\n\n').flatMap((frame) => {
        const [, data] = /^data: (\{.*)$/m.exec(frame) ?? []
        return data ? [JSON.parse(data) as { type: string; delta?: string; response?: Answer }] : []
      })
    }
    const first = (await stream('Weather?')).at(-1)
    expect([first?.type, callsOf(first!.response!).length]).toEqual(['response.completed', 2])
    const { id } = first!.response!
    const results = callsOf(first!.response!).map((callId) => resultOf(callId, 'sun'))
    const second = await stream(results, { previous_response_id: id })
    expect(second.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta)).toEqual([
      'Sun',
      'ny.',
    ])
    expect(second.at(-1)?.response?.output.map(({ type }) => type)).toEqual(['message'])
  })
})

describe('another message while an approval of a response is pending', () => {
  async function waiting(mode: string, replies: readonly Reply[]) {
    const scripted = model(replies)
    const settings = { approvals: { mode: 'manual' }, busy_input_mode: mode }
    const { id } = await newSession({ model: scripted.id, settings })
    const create = async (input: unknown) =>
      (await call<Answer>('POST', '/v1/responses', { body: { model: scripted.id, input, conversation: id } })).body
    const asked = (await create('push it')).output.find(({ type }) => type === 'mcp_approval_request')
    expect(asked).toBeDefined()
    const deny = () => create([{ type: 'mcp_approval_response', approval_request_id: asked?.['id'], approve: false }])
    const isIdle = async () => (await call('GET', `/api/sessions/${id}`)).body['status'] === 'idle'
    return {
      scripted,
      create,
      deny,
      isIdle,
      lastTexts: (n: number) => listTexts(scripted.requests.at(-1) as never).slice(-n),
    }
  }

  it('interrupts: the approval is withdrawn, and the model reads the message', async () => {
    const { create, lastTexts } = await waiting('interrupt', [calls(push), says('Forgotten.')])
    expect(textOf(await create('never mind'))).toBe('Forgotten.')
    expect(lastTexts(2)).toEqual([expect.stringContaining('did not allow'), 'user: never mind'])
  })

  it('steers: it is kept for the decision, and the approval is asked for again', async () => {
    const { create, deny, lastTexts } = await waiting('steer', [calls(push), says('Done.')])
    expect((await create('but only dev')).output.map(({ type }) => type)).toContain('mcp_approval_request')
    expect(textOf(await deny())).toBe('Done.')
    expect(lastTexts(1)[0]).toContain('but only dev')
  })

  it('is queued: the approval is asked for again, and the message has its own run afterwards', async () => {
    const { create, deny, isIdle, scripted } = await waiting('queue', [calls(push), says('Denied.'), says('Second.')])
    expect((await create('and then this')).output.map(({ type }) => type)).toContain('mcp_approval_request')
    expect(textOf(await deny())).toBe('Denied.')
    await until(() => scripted.requests.length === 3)
    await until(isIdle)
  })
})
