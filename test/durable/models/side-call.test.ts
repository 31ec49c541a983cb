/** Tests side calls for summaries, titles and mixtures of models, and their failures. */

import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { userText } from '#agent/core/message.ts'
import type { Settings, SideTask } from '#agent/core/settings.ts'
import type { Usage } from '#agent/core/usage.ts'
import { openaiChat } from '#durable/models/lazy-dialect.ts'
import type { Route } from '#agent/routing/route.ts'
import { createD1History } from '#db/history.ts'
import { createRoutes } from '#durable/models/model-routes.ts'
import { type SideCallResult, type SideCallRequest, runSideCall } from '#durable/models/side-call.ts'
import { parseTitle, titleFrom } from '#durable/session/core/title.ts'
import { deployment } from '../../support/deployment.ts'
import {
  type ModelRequest,
  calls,
  fails,
  hangs,
  Gate,
  model,
  listTexts,
  says,
  until,
} from '../../support/scripted-model.ts'
import { bindings, call, applyMigrations, newSession, newTenant, type ErrorBody } from '../../worker/client.ts'
import { type Run, send } from '../../worker/listen.ts'

beforeAll(applyMigrations)
afterEach(() => delete deployment.auxModel)

const isSummary = ({ messages }: ModelRequest) =>
  JSON.stringify(messages[0]).includes('You keep the record of a conversation')

const variables = { OPENAI_API_KEY: 'test-key', OPENAI_BASE_URL: 'https://model.test/v1' }
const request: SideCallRequest = { system: 'Judge.', transcript: [userText('this')] }

/** Runs a side call for a conversation with the model `main`. */
function runFor(
  task: SideTask,
  main: string,
  settings: Settings = {},
  { tenantId = 'default', stopper = new AbortController(), notes = [] as Usage[], asked = request } = {},
): Promise<SideCallResult> {
  const routeOf = (id: string): Route | undefined => createRoutes(id, { variables, settings })[0]
  return runSideCall(task, asked, {
    tenantId,
    settings: () => settings,
    dialects: { 'openai-chat': openaiChat },
    deploymentModel: undefined,
    turnRoutes: () => [routeOf(main)].filter((route) => route !== undefined),
    routeOf,
    cheapModelOf: () => undefined,
    lease: ({ endpoints: [endpoint] }) => endpoint && { endpoint, end: () => {} },
    recordEstimate: (usage) => void notes.push(usage),
    reserve: () => ({ ok: true, release: () => undefined }),
    abortable: () => stopper,
  })
}
const textOrFailure = (result: SideCallResult) => (result.kind === 'answered' ? result.text : result.failure.kind)

describe('a side call', () => {
  it('answers with as many tokens as the settings of its task allow', async () => {
    const main = model([says('fine'), says('fine')])
    const asked = { ...request, maxTokens: 500 }
    await runFor('web_extract', main.id, { auxiliary: { web_extract: { max_tokens: 77 } } }, { asked })
    await runFor('session_search', main.id, { auxiliary: { web_extract: { max_tokens: 77 } } }, { asked })
    expect(main.requests.map((one) => JSON.stringify(one).match(/"max_\w*tokens":(\d+)/)?.[1])).toEqual(['77', '500'])
  })

  it('asks the model of the conversation with its own prompt and without tools', async () => {
    const main = model([says('fine')])
    const answer = await runFor('approval', main.id)
    expect(textOrFailure(answer)).toBe('fine')
    expect(listTexts(main.requests[0]!)).toEqual(['user: this'])
    expect(main.requests[0]?.tools ?? []).toEqual([])
    expect(answer.usage.by).toMatchObject({ [`${main.id} approval`]: { calls: 1, input: 60, output: 10 } })
  })

  it('renders its transcript for the context window of each model', async () => {
    const [main, small] = [model([says('fine')]), model([fails(400, 'no')])]
    const settings: Settings = {
      auxiliary: { goal_judge: { model: small.id } },
      models: { [small.id]: { context_window: 70_000 }, [main.id]: { context_window: 200_000 } },
    }
    const rooms: number[] = []
    const asked = { system: 'Judge.', transcript: (room: number) => (rooms.push(room), [userText('this')]) }
    expect(textOrFailure(await runFor('goal_judge', main.id, settings, { tenantId: 'roomy', asked }))).toBe('fine')
    const [smaller = 0, larger = 0] = rooms
    expect([smaller > 50_000, smaller < 70_000, larger > 150_000, larger < 200_000]).toEqual([true, true, true, true])
  })

  it('asks the model that the settings name for the task', async () => {
    const [main, judge] = [model([says('no')]), model([says('yes')])]
    const settings = { auxiliary: { approval: { model: judge.id } } }
    expect(textOrFailure(await runFor('approval', main.id, settings))).toBe('yes')
    expect(textOrFailure(await runFor('goal_judge', main.id, settings))).toBe('no')
    expect([main.requests.length, judge.requests.length]).toEqual([1, 1])
  })

  it('takes no key for a model without a dialect', async () => {
    const route = createRoutes(model([]).id, { variables, settings: {} })[0]
    let leased = 0
    const answer = await runSideCall('approval', request, {
      tenantId: 'default',
      settings: () => ({}),
      dialects: {},
      deploymentModel: undefined,
      turnRoutes: () => (route ? [route] : []),
      cheapModelOf: () => undefined,
      routeOf: () => undefined,
      lease: ({ endpoints: [endpoint] }) => {
        leased++
        return endpoint && { endpoint, end: () => leased-- }
      },
      recordEstimate: () => {},
      reserve: () => ({ ok: true, release: () => undefined }),
      abortable: () => new AbortController(),
    })
    expect([textOrFailure(answer), leased]).toEqual(['unconfigured', 0])
  })

  it('retries a busy provider twice, then asks another model and pauses the first one', async () => {
    const main = model([says('from the main one'), says('again')])
    const busy = fails(503, 'overloaded')
    const judge = model([busy, busy, busy, says('late')])
    const settings = { auxiliary: { goal_judge: { model: judge.id } } }
    expect([textOrFailure(await runFor('goal_judge', main.id, settings)), judge.requests.length]).toEqual([
      'from the main one',
      3,
    ])
    expect([textOrFailure(await runFor('goal_judge', main.id, settings)), judge.requests.length]).toEqual(['again', 3])
    // Another tenant has its own keys.
    expect(textOrFailure(await runFor('goal_judge', main.id, settings, { tenantId: 'another' }))).toBe('late')
  })

  it('falls back to its own chain, else to any available provider', async () => {
    const [main, other] = [model([fails(401, 'bad key'), says('main')]), model([says('mine')])]
    const settings = { auxiliary: { goal_judge: { model: main.id, fallback_providers: [other.id] } } }
    expect(textOrFailure(await runFor('goal_judge', 'openai/not-asked', settings, { tenantId: 'chained' }))).toBe(
      'mine',
    )
    const cheap = model([says('cheap')], 'gpt-5.4-mini')
    const refused = model([fails(401, 'bad key')])
    expect(textOrFailure(await runFor('goal_judge', refused.id, {}, { tenantId: 'anywhere' }))).toBe('cheap')
    expect(cheap.requests).toHaveLength(1)
  })

  it('stays with a custom provider of the tenant', async () => {
    const settings: Settings = { providers: { 'custom:mine': { base_url: 'https://model.test/v1' } } }
    const mine = model([fails(401, 'bad key')])
    const main = mine.id.replace('openai/', 'custom:mine/')
    expect(textOrFailure(await runFor('goal_judge', main, settings, { tenantId: 'at-home' }))).toBe('auth')
    expect(mine.requests).toHaveLength(1)
  })

  it('times out after its own limit', async () => {
    const gate = new Gate()
    const [main, judge] = [model([says('instead')]), model([hangs(gate)])]
    const answer = await runFor('vision', main.id, { auxiliary: { vision: { model: judge.id, timeout: 1 } } })
    expect(textOrFailure(answer)).toBe('instead')
    expect(answer.usage.by).toMatchObject({
      [`${judge.id} vision`]: { calls: 1, cut: 1 },
      [`${main.id} vision`]: { calls: 1, cut: 0 },
    })
    gate.open()
  })

  it('is aborted with its turn, also between two attempts', async () => {
    const gate = new Gate()
    const [hanging, busy] = [model([hangs(gate)]), model([fails(503, 'overloaded'), says('never')])]
    const stopper = new AbortController()
    const asked = [hanging, busy].map(({ id }) => runFor('vision', id, {}, { stopper }))
    await gate.waitUntilReached()
    await until(() => busy.requests.length)
    stopper.abort()
    expect((await Promise.all(asked)).map(textOrFailure)).toEqual(['aborted', 'aborted'])
    expect([hanging.requests.length, busy.requests.length]).toEqual([1, 1])
    gate.open()
  })

  it('records the estimated cost before each attempt', async () => {
    const main = model([fails(503, 'overloaded'), says('fine')])
    const notes: Usage[] = []
    await runFor('vision', main.id, {}, { notes })
    const key = `${main.id} vision`
    expect(notes.map(({ by }) => by?.[key])).toMatchObject([
      { calls: 1, cut: 1, output: 0, costStatus: 'unknown' },
      { calls: 1, cut: 1, output: 0, costStatus: 'unknown' },
    ])
    expect(notes[0]?.input).toBeGreaterThan(0)
  })

  it('returns a failure when no model can be called', async () => {
    const bad = model([fails(401, 'bad key')])
    const settings = { auxiliary: { goal_judge: { model: bad.id, fallback_providers: [] } } }
    expect(textOrFailure(await runFor('goal_judge', 'openai/not-asked', settings))).toBe('auth')
    expect(textOrFailure(await runFor('goal_judge', 'demo/agent'))).toBe('unconfigured')
    expect(textOrFailure(await runFor('goal_judge', model([says('  ')]).id))).toBe('ok')
  })
})

it('titles are the only side calls that can be switched off', async () => {
  const { key } = await newTenant()
  const patch = (task: string) =>
    call('PATCH', '/api/settings', { key, body: { auxiliary: { [task]: { enabled: true } } } })
  expect([(await patch('vision')).status, (await patch('title_generation')).status]).toEqual([400, 200])
})

describe('compression', () => {
  it('uses the model of its setting and is billed to the turn', async () => {
    const summariser = model(() => says('They said hello.'))
    const main = model([])
    const settings = {
      auxiliary: { compression: { model: summariser.id } },
      models: { [main.id]: { context_window: 70_000 } },
      compression: { threshold: 0.1 },
    }
    const { id } = await newSession({ model: main.id, settings })
    await send(id, 'x '.repeat(12_000))
    await send(id, 'y '.repeat(12_000))
    await send(id, 'short')
    const { body } = await call<{ usage: object }>('GET', `/api/sessions/${id}`)
    const asked = 3 + summariser.requests.length
    expect(summariser.requests.length).toBeGreaterThan(0)
    expect(summariser.requests.every(isSummary)).toBe(true)
    expect(main.requests.some(isSummary)).toBe(false)
    expect(JSON.stringify(main.requests.at(-1))).toContain('They said hello.')
    expect(body.usage).toMatchObject({ input: 60 * asked, output: 10 * asked })
  })
})

describe('a title', () => {
  it("is one line of the model's answer", () => {
    expect(parseTitle('"Rivers of the north."\nIt is about…')).toBe('Rivers of the north')
    expect(parseTitle('Title: **Wings**')).toBe('Wings')
    expect(parseTitle(`# ${'long '.repeat(40)}`)).toHaveLength(60)
    expect(parseTitle(' \n ')).toBe(null)
  })

  it('is the words of a first message, not the note about its files', () => {
    const note = (name: string) => `\n[Attached file: uploads/1/${name} (text/plain)]`
    const contents = '\n[uploads/1/a.txt contains:]\nsecret'
    const from = (text: string) => titleFrom({ role: 'user', content: [{ type: 'text', text }] })
    expect(from(`Count trees${note('a.txt')}${note('b.txt')}${contents}`)).toBe('Count trees')
    expect(from(`${note('a b.txt')}${contents}`)).toBe('a b.txt')
    expect(from('[Attached file: audio]')).toBe('audio')
    expect(from('an [Attached file] in words')).toBe('an [Attached file] in words')
  })

  const titles = { auxiliary: { title_generation: { enabled: true } } }
  const isTitle = ({ messages }: ModelRequest) =>
    JSON.stringify(messages[0]).includes('Give the conversation below a title')
  const sessionOf = async (id: string) => (await call<Record<string, unknown>>('GET', `/api/sessions/${id}`)).body
  const titleOf = async (id: string) => (await sessionOf(id))['title']
  /** The number of sessions in history that match. */
  const listed = async (q: string) => (await call<{ data: object[] }>('GET', `/api/sessions?q=${q}`)).body.data.length

  it('is set once after the first turn and billed to it', async () => {
    deployment.auxModel = ''
    const main = model((asked) => (isTitle(asked) ? says('Wombats at dusk') : says('They dig.')))
    const { id } = await newSession({ model: main.id, settings: titles })
    const { run_id: run } = await send(id, 'what do wombats do?')
    await until(async () => (await titleOf(id)) === 'Wombats at dusk')
    await until(async () => (await listed('Wombats%20at')) === 1)
    const first = await call<Run>('GET', `/api/sessions/${id}/runs/${run}`)
    expect(first.body['usage']).toMatchObject({ input: 120, output: 20 })
    expect(first.body['usage_by_model']).toMatchObject([
      { model: main.id, task: null, calls: 1, input: 60 },
      { model: main.id, task: 'title_generation', calls: 1, input: 60 },
    ])
    await send(id, 'and then?')
    expect(main.requests.filter(isTitle).length).toBe(1)
    expect((await sessionOf(id))['usage']).toMatchObject({ input: 180, output: 30 })
    expect(JSON.stringify(main.requests.find(isTitle)?.messages)).toContain('They dig.')
  })

  it('never replaces a title that a person set', async () => {
    deployment.auxModel = ''
    const gate = new Gate()
    const main = model((asked) => (isTitle(asked) ? says('Of the ', gate, 'model') : says('ok')))
    const { id } = await newSession({ model: main.id, settings: titles })
    await send(id, 'hello')
    await gate.waitUntilReached()
    await call('PATCH', `/api/sessions/${id}`, { body: { title: 'Mine' } })
    gate.open()
    await until(async () => Number(((await sessionOf(id))['usage'] as { input: number }).input) === 120)
    expect(await titleOf(id)).toBe('Mine')
  })

  it('is searchable when it arrives after the projection', async () => {
    deployment.auxModel = ''
    const gate = new Gate()
    const main = model((asked) => (isTitle(asked) ? says(gate, 'Quolls by night') : says('ok')))
    const { id } = await newSession({ model: main.id, settings: titles })
    await send(id, 'tell me about quolls')
    await until(async () => (await listed('about%20quolls')) === 1)
    gate.open()
    expect(await until(() => listed('Quolls%20by'))).toBe(1)
  })

  it('does not duplicate messages in history when it arrives late, and is billed there', async () => {
    deployment.auxModel = ''
    const gate = new Gate()
    const question = calls({ id: 'q', name: 'clarify', input: { question: 'Which?' } })
    const answers = [question, says('The red one.')]
    const main = model((asked) => (isTitle(asked) ? says(gate, 'Pademelons at noon') : answers.shift()!))
    const { id } = await newSession({ model: main.id, settings: titles })
    const history = createD1History(bindings.DB, 'default')
    const seqs = async () =>
      (await history.listPages(id, 0)).map(({ n, entries }) => [n, ...entries.map(({ seq }) => seq)].join(' '))
    await call('POST', `/api/sessions/${id}/steer`, { body: { input: 'tell me about pademelons' } })
    await until(async () => (await seqs()).length === 1)
    const asked = await call<{ data: { id: string; session_id: string }[] }>('GET', '/api/questions')
    const open = asked.body.data.find((one) => one.session_id === id)?.id
    expect((await call('POST', `/api/questions/${open}`, { body: { answer: 'any' } })).status).toBe(200)
    await until(async () => (await seqs()).length === 2)
    const sent = await seqs()
    expect(sent).toEqual(['1 1 2', '3 3 4'])
    gate.open()
    expect(await until(() => listed('Pademelons%20at'))).toBe(1)
    expect(await seqs()).toEqual(sent)
    expect((await history.listPages(id, 0)).at(-1)?.usage).toMatchObject({ input: 180, output: 30 })
  })

  it('uses the model that the deployment names for side calls', async () => {
    const cheap = model([says('Numbats')])
    deployment.auxModel = cheap.id
    const main = model([])
    const { id } = await newSession({ model: main.id })
    await send(id, 'what do numbats eat?')
    await until(async () => (await titleOf(id)) === 'Numbats')
    expect([main.requests.length, cheap.requests.length]).toEqual([1, 1])
  })

  const lowPrices = (id: string) => ({ models: { [id]: { prices: { input: 0.1, output: 0.4 } } } })

  it('is written without any setting when a cheap model is known, here that of the conversation', async () => {
    deployment.auxModel = ''
    const main = model((asked) => (isTitle(asked) ? says('Bandicoots') : says('ok')))
    const { id } = await newSession({ model: main.id, settings: lowPrices(main.id) })
    await send(id, 'what are bandicoots?')
    expect(await until(async () => (await titleOf(id)) === 'Bandicoots')).toBe(true)
  })

  it('is not written for completions that are never continued', async () => {
    deployment.auxModel = ''
    const { key } = await newTenant()
    const main = model((asked) => (isTitle(asked) ? says('Never') : says('ok')))
    await call('PATCH', '/api/settings', { key, body: lowPrices(main.id) })
    const body = { model: main.id, messages: [{ role: 'user', content: 'hello' }] }
    const [status, answered] = await Promise.all([
      call('POST', '/v1/chat/completions', { key, body }),
      call('POST', '/v1/responses', { key, body: { model: main.id, input: 'hello', store: false } }),
    ])
    expect([status.status, answered.status]).toEqual([200, 200])
    await until(
      async () => (await call<{ data: object[] }>('GET', '/api/usage?group=session', { key })).body.data.length === 2,
    )
    expect(main.requests.filter(isTitle)).toEqual([])
  })

  it.each([
    ['with AUX_MODEL=none', 'none', titles, {}],
    ['without a model that is known to be cheap', '', {}, {}],
    ['when it is switched off', '', { auxiliary: { title_generation: { enabled: false } } }, {}],
    ['for a session with a title', '', titles, { title: 'a plain question' }],
  ])('is not requested %s', async (_case, auxModel, settings, named) => {
    deployment.auxModel = auxModel
    const main = model([])
    const { id } = await newSession({ model: main.id, settings, ...named })
    await send(id, 'a plain question')
    // The usage of the turn is in history: everything that follows a turn has run.
    await until(async () =>
      (await call<{ data: object[] }>('GET', `/api/usage?group=session&limit=200`)).body.data.some(
        (line) => 'key' in line && line.key === id,
      ),
    )
    expect([main.requests.length, await titleOf(id)]).toEqual([1, 'a plain question'])
  })
})

describe('a mixture of models', () => {
  const presets = (references: readonly string[], aggregator: string) => ({
    moa: { presets: { panel: { references, aggregator, max_tokens: 77 } } },
  })

  it('asks the references concurrently and gives their answers to the aggregator', async () => {
    const { key } = await newTenant()
    const gate = new Gate()
    const [one, two, three] = [
      model([says('I say ', gate, 'one')]),
      model([says('I say two')], 'of-the-panel'),
      model([fails(400, 'no')]),
    ]
    const aggregator = model([calls({ name: 'todo', input: {} }), says('Together.'), says('Again.')])
    await call('PATCH', '/api/settings', { key, body: presets([one.id, 'or/of-the-panel', three.id], aggregator.id) })
    const list = await call<{ data: { id: string }[] }>('GET', '/v1/models', { key })
    expect(list.body.data.map(({ id }) => id)).toContain('moa/panel')
    const { id } = await newSession({ model: 'moa/panel' }, key)
    const running = call<Run>('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'What now?' } })
    await gate.waitUntilReached()
    await until(() => two.requests.length && three.requests.length)
    expect(aggregator.requests.length).toBe(0)
    gate.open()
    const { body: run } = await running
    expect(run.output).toBe('Together.')
    for (const reference of [one, two, three]) {
      expect(reference.requests.length).toBe(1)
      expect(reference.requests[0]?.tools ?? []).toEqual([])
      expect(reference.requests[0]?.['max_tokens'] ?? reference.requests[0]?.['max_completion_tokens']).toBe(77)
    }
    const [first, second] = aggregator.requests
    for (const asked of [first, second]) {
      expect(JSON.stringify(asked?.messages.at(-1))).toContain('I say one')
      expect(JSON.stringify(asked?.messages.at(-1))).toContain('I say two')
    }
    expect(first?.tools?.length).toBeGreaterThan(0)
    const stored = await call<{ data: object[] }>('GET', `/api/sessions/${id}/messages`, { key })
    expect(JSON.stringify(stored.body.data)).not.toContain('I say')
    expect(run['usage']).toMatchObject({ input: 60 * 4, output: 10 * 4 })
  })

  it('is refused when it is unknown, and answers alone when all references fail', async () => {
    const { key } = await newTenant()
    const [bad, aggregator] = [model([fails(400, 'no')]), model([says('Alone.')])]
    await call('PATCH', '/api/settings', { key, body: presets([bad.id], aggregator.id) })
    expect((await call('POST', '/api/sessions', { key, body: { model: 'moa/nobody' } })).status).toBe(404)
    const { id } = await newSession({ model: 'moa/panel' }, key)
    const { body: run } = await call<Run>('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go' } })
    expect(run.output).toBe('Alone.')
    expect(listTexts(aggregator.requests[0]!)).toEqual(['user: go'])
  })

  it('is refused and not listed when its aggregator is unavailable', async () => {
    const { key } = await newTenant()
    const listed = async () => (await call<{ data: { id: string }[] }>('GET', '/v1/models', { key })).body.data
    await call('PATCH', '/api/settings', { key, body: presets(['openai/one'], 'anthropic/claude-opus-5') })
    const refused = await call<ErrorBody>('POST', '/api/sessions', { key, body: { model: 'moa/panel' } })
    expect([refused.status, refused.body.error.code]).toEqual([404, 'model_not_found'])
    expect(refused.body.error.message).toContain('anthropic/claude-opus-5 is not available here: set ANTHROPIC_API_KEY')
    expect((await listed()).map(({ id }) => id)).not.toContain('moa/panel')
    await call('PATCH', '/api/settings', { key, body: presets(['openai/one'], 'openai/gpt-4.1') })
    expect((await listed()).map(({ id }) => id)).toContain('moa/panel')
    const known = await call<{ data: object[] }>('GET', '/api/settings/models', { key })
    expect(known.body.data).toContainEqual(
      expect.objectContaining({ id: 'moa/panel', provider: 'moa', context_window: 1_047_576 }),
    )
  })
})
