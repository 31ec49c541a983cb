/** Tests calls of tools that the client of a run offers: they wait, and the next request brings their results. */

import { beforeAll, describe, expect, it } from 'vitest'
import { newRunId } from '#durable/platform/ids.ts'
import type { ClientResult, ContinueSubmission } from '#durable/session/intake/continue.ts'
import type { RequestSubmission } from '#durable/session/intake/request.ts'
import { ownerAuthority } from '../../support/authority.ts'
import { calls, Gate, hangs, listTexts, model, type Reply, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, call, newSession, newTenant } from '../../worker/client.ts'
import { evict, kill, objectOf, requestCommand } from '../support/object.ts'

beforeAll(applyMigrations)

const weather = {
  name: 'get_weather',
  description: 'The weather of a city.',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const clientTools = [weather, { ...weather, name: 'get_time' }]
const asked = (city: string, id = 'c1') => ({ id, name: 'get_weather', input: { city } })

const sessionWith = async (replies: readonly Reply[], settings: object = {}) => {
  const scripted = model(replies)
  const { id } = await newSession({ model: scripted.id, settings })
  return { id, scripted }
}
const begin = (id: string, fields: Partial<RequestSubmission> = {}) =>
  objectOf(id).runs.submitUntilSegment(requestCommand('What is the weather?', { options: { clientTools }, ...fields }))

const result = (callId: string, text: string, failed = false): ClientResult => ({
  callId,
  content: [{ type: 'text', text }],
  failed,
})
const continuing = (
  results: readonly ClientResult[],
  fields: Partial<ContinueSubmission> = {},
): ContinueSubmission => ({
  kind: 'continue',
  authority: ownerAuthority(),
  tenant: requestCommand('').tenant,
  runId: newRunId('test'),
  options: { clientTools },
  busyMode: undefined,
  idempotency: 'none',
  results,
  approvals: [],
  ...fields,
})
const goOn = (id: string, ...results: readonly ClientResult[]) =>
  objectOf(id).runs.submitUntilSegment(continuing(results))
const statusOf = async (id: string) => (await call('GET', `/api/sessions/${id}`)).body['status']

describe('a call of a tool of the client', () => {
  it('ends the first part of the run, and its result goes on with the same run', async () => {
    const { id, scripted } = await sessionWith([calls(asked('Rome')), says('Sunny in Rome.')])
    const first = await begin(id)
    expect(first?.segment).toMatchObject({
      index: 0,
      output: '',
      calls: [{ id: 'c1', name: 'get_weather', arguments: '{"city":"Rome"}' }],
      waitsFor: ['client'],
      usage: { output: 10 },
    })
    expect(first?.run?.status).toBe('waiting')
    expect(await statusOf(id)).toBe('waiting')
    expect(scripted.requests[0]?.tools?.map((tool) => tool.function.name)).toEqual(
      expect.arrayContaining(['get_weather', 'get_time', 'todo']),
    )
    const second = await goOn(id, result('c1', 'sun'))
    expect(second?.submitted).toMatchObject({ runId: first?.run?.run_id, segment: 1 })
    expect(second?.segment).toMatchObject({ index: 1, output: 'Sunny in Rome.', calls: [], usage: { output: 10 } })
    expect(second?.run).toMatchObject({ status: 'completed', usage: { output: 20 } })
    expect(listTexts(scripted.requests[1] as never).slice(-2)).toEqual(['assistant: → get_weather', 'tool: sun'])
  })

  it('runs beside calls of ours, whose results are there first', async () => {
    const own = { id: 'own', name: 'todo', input: {} }
    const { id, scripted } = await sessionWith([calls(asked('Rome'), own), says('ok')])
    const first = await begin(id)
    expect(first?.segment?.calls.map((one) => one.id)).toEqual(['c1'])
    await goOn(id, result('c1', 'sun'))
    const texts = listTexts(scripted.requests[1] as never)
    expect(texts.at(-2)).toBe('tool: sun')
    expect(texts.at(-1)).toContain('"todos"')
  })

  it.each([
    ['kill', kill],
    ['eviction', evict],
  ])('survives a %s', async (_name, lose) => {
    const { id } = await sessionWith([calls(asked('Rome')), says('ok')])
    const first = await begin(id)
    await until(async () => (await statusOf(id)) === 'waiting')
    await lose(id)
    const second = await goOn(id, result('c1', 'sun'))
    expect(second?.segment).toMatchObject({ output: 'ok', runId: first?.run?.run_id })
  })

  it('gets an error when the client does not answer it', async () => {
    const { id, scripted } = await sessionWith([calls(asked('Rome'), asked('Oslo', 'c2')), says('ok')])
    await begin(id)
    await goOn(id, result('c2', 'snow'))
    expect(listTexts(scripted.requests[1] as never).slice(-2)).toEqual([
      'tool: {"error":"The client did not run this call."}',
      'tool: snow',
    ])
  })

  it('is answered once: a repeated request gets the same part again', async () => {
    const { id, scripted } = await sessionWith([calls(asked('Rome')), calls(asked('Oslo', 'c2')), says('ok')])
    await begin(id)
    const [once, again] = [await goOn(id, result('c1', 'sun')), await goOn(id, result('c1', 'sun'))]
    expect(again?.segment).toEqual(once?.segment)
    expect(once?.segment?.calls.map((one) => one.id)).toEqual(['c2'])
    await goOn(id, result('c2', 'snow'))
    expect((await goOn(id, result('c2', 'snow')))?.segment?.output).toBe('ok')
    expect(scripted.requests).toHaveLength(3)
  })

  it('refuses the result of an unknown call', async () => {
    const { id } = await sessionWith([calls(asked('Rome'))])
    await begin(id)
    expect((await goOn(id, result('c9', 'x')))?.submitted).toMatchObject({ status: 'unknown-call', callId: 'c9' })
    expect(await statusOf(id)).toBe('waiting')
  })

  it('bounds and redacts its result', async () => {
    const { id, scripted } = await sessionWith([calls(asked('Rome')), says('ok')])
    await begin(id)
    await goOn(id, result('c1', `sk-${'a1B2c3D4'.repeat(6)} ${'x'.repeat(300_000)}end`))
    const text = listTexts(scripted.requests[1] as never).at(-1) ?? ''
    expect(text.length).toBeLessThan(101_000)
    expect(text).toContain('characters were cut out here')
    expect(text).toMatch(/end$/)
    expect(text).not.toContain('a1B2c3D4a1B2c3D4a1B2')
  })
})

describe('a run that waits for its client', () => {
  it('holds no slot of the tenant, and takes one again when it goes on', async () => {
    const tenant = await newTenant()
    await call('PATCH', `/api/admin/tenants/${tenant.id}`, { body: { limits: { concurrent_turns: 1 } } })
    const scripted = model([calls(asked('Rome')), says('ok')])
    const send = (id: string, messages: readonly object[], more: object = {}) =>
      call<{ choices: { message: object; finish_reason: string }[] }>('POST', '/v1/chat/completions', {
        key: tenant.key,
        headers: { 'x-talaria-session-id': id },
        body: {
          model: scripted.id,
          messages,
          tools: [{ type: 'function', function: { name: 'get_weather' } }],
          ...more,
        },
      })
    const { id } = await newSession({ model: scripted.id }, tenant.key)
    await send(id, [{ role: 'user', content: 'Weather?' }])
    const gate = new Gate()
    const slow = model([hangs(gate)])
    const other = await newSession({ model: slow.id }, tenant.key)
    const running = until(async () => {
      const answer = send(other.id, [{ role: 'user', content: 'Hi' }], { model: slow.id })
      await Promise.race([gate.waitUntilReached(), answer])
      return gate.isReached ? { answer } : undefined
    })
    const { answer } = await running
    const result = [{ role: 'tool', tool_call_id: 'c1', content: 'sun' }]
    const refused = await send(id, result)
    expect([refused.status, refused.body]).toMatchObject([429, { error: { param: 'concurrent_turns' } }])
    gate.open()
    await answer
    const done = await until(async () => {
      const last = await send(id, result)
      return last.status === 200 ? last : undefined
    })
    expect(done.body.choices[0]?.finish_reason).toBe('stop')
  })
})

describe('tools of the client', () => {
  it('hide those of ours that act on a workspace, and one of ours with the same name', async () => {
    const { id, scripted } = await sessionWith([says('ok')])
    await begin(id, { options: { clientTools: [{ ...weather, name: 'todo' }] } })
    const tools = scripted.requests[0]?.tools ?? []
    const names = tools.map((tool) => tool.function.name)
    expect(names.filter((name) => name === 'todo')).toHaveLength(1)
    expect(JSON.stringify(tools)).toContain('The weather of a city.')
    expect(names).not.toEqual(expect.arrayContaining(['terminal']))
    expect(names).not.toEqual(expect.arrayContaining(['read_file']))
  })

  it('leave what the setting or the request names', async () => {
    const { id, scripted } = await sessionWith([says('ok')], { api: { toolsets_with_client_tools: ['file'] } })
    await begin(id, { options: { clientTools, toolsets: ['terminal'] } })
    const names = scripted.requests[0]?.tools?.map((tool) => tool.function.name)
    expect(names).toEqual(expect.arrayContaining(['terminal', 'read_file', 'get_weather']))
    expect(names).not.toContain('execute_code')
  })

  it('are required, or forbidden, as the request says', async () => {
    const { id, scripted } = await sessionWith([calls(asked('Rome')), says('ok'), says('ok')])
    await begin(id, { options: { clientTools, toolChoice: 'required', parallelToolCalls: false } })
    expect(scripted.requests[0]).toMatchObject({ tool_choice: 'required', parallel_tool_calls: false })
    await objectOf(id).runs.submitUntilSegment(continuing([result('c1', 'sun')], { options: { clientTools } }))
    expect(scripted.requests[1]).not.toHaveProperty('tool_choice')
    await begin(id, { options: { clientTools, toolChoice: 'none' } })
    expect(scripted.requests[2]).not.toHaveProperty('tools')
  })

  it('are not called by programs', async () => {
    const code = 'console.log(typeof get_weather, typeof tools.get_weather)'
    const program = { id: 'p1', name: 'execute_code', input: { code } }
    const { id, scripted } = await sessionWith([calls(program), says('ok')])
    await begin(id, { options: { clientTools, toolsets: ['code_execution'] } })
    expect(listTexts(scripted.requests[1] as never).at(-1)).toContain('undefined undefined')
  })
})
