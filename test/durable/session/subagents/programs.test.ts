/** Tests delegation by programs: the results are a value of the program, and neither its death nor its end loses them. */

import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { armFailpoints, type FailpointName } from '#durable/platform/failpoint.ts'
import { calls, Gate, says, until } from '#test/support/scripted-model.ts'
import { applyMigrations, call, request } from '#test/worker/client.ts'
import { send, subscribe } from '#test/worker/listen.ts'
import { kill } from '../../support/object.ts'
import { childrenOf, conversation, type Results, rest, statusOf, stored, treeOf } from './support.ts'

beforeAll(applyMigrations)
vi.setConfig({ testTimeout: 120_000 })
afterEach(() => {
  armFailpoints('')
  vi.restoreAllMocks()
})

const program = (code: string) => calls({ id: 'c1', name: 'execute_code', input: { code } })
const goals = ['The first goal.', 'The second goal.'] as const
const asks = goals.map((goal) => `delegate_task({ goal: '${goal}' })`)
const both = `const all = await Promise.all([${asks.join(', ')}])`

const tellBoth = `${both}\nconsole.log(all.flatMap(({ results }) => results.map(({ summary }) => summary)).join(' + '))`

type Ended = {
  readonly status?: string
  readonly output?: string
  readonly error?: string
  readonly subagents?: readonly Results[]
}
const resultOf = async (id: string): Promise<Ended> => {
  const found = (await stored(id)).filter(({ role }) => role === 'tool')
  expect(found).toHaveLength(1)
  return JSON.parse(String(found[0]?.content)) as Ended
}
const summariesIn = ({ subagents = [] }: Ended) =>
  subagents.flatMap(({ results }) => results.map(({ summary }) => summary))
const summaries = goals.map((goal) => `Did: ${goal}`)

/** A turn whose program delegates two goals, which wait at gates. */
async function begin(source: string, settings: object = {}) {
  const gates = [new Gate(), new Gate()] as const
  const started = await conversation(
    {
      parent: [program(source), says('It is done.')],
      child: (goal) => [gates[goal.includes('first') ? 0 : 1], ...(says(`Did: ${goal}`) as [])],
    },
    settings,
  )
  await call('POST', `/api/sessions/${started.id}/steer`, { body: { input: 'go' } })
  return { ...started, gates }
}
const open = (gates: readonly Gate[]) => {
  for (const gate of gates) gate.open()
}
const areReached = (gates: readonly Gate[]) => Promise.all(gates.map((gate) => gate.waitUntilReached()))

describe('a program that delegates', () => {
  it('has the results as a value, and two subagents of it run at once', async () => {
    const { id, gates, ofChildren, scripted } = await begin(tellBoth)
    await areReached(gates)
    const stream = await subscribe(id, 0)
    open(gates)
    await stream.waitFor('run.completed')
    expect(await resultOf(id)).toMatchObject({ status: 'success', output: summaries.join(' + ') })
    expect([ofChildren().length, scripted.requests.length]).toEqual([2, 4])
    const ended = stream.events.filter(({ type, tool }) => type === 'tool.completed' && tool === 'delegate_task')
    expect(ended).toMatchObject([
      { parent_call_id: 'c1', failed: false },
      { parent_call_id: 'c1', failed: false },
    ])
    // Nothing of it comes again as a message.
    await rest(id)
    expect((await stored(id)).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
  })

  it('has other calls meanwhile, and one after another', async () => {
    const { id, gates } = await begin(
      `const first = ${asks[0]}\nawait write_file('while.txt', 'x')\nawait first\nconst { results } = await ${asks[1]}\nresults[0].status`,
    )
    await gates[0].waitUntilReached()
    await until(async () => (await request('GET', `/api/sessions/${id}/files/while.txt`)).status === 200)
    open(gates)
    await rest(id)
    expect(await resultOf(id)).toMatchObject({ status: 'success', output: 'completed' })
  })

  it('gets an exception where delegation is refused, and a subagent has no such function', async () => {
    const source = `await ${asks[0]}.catch((error) => console.log(error.message))`
    const paused = await conversation(
      { parent: [program(source), says('ok')], child: () => says('never') },
      { delegation: { paused: true } },
    )
    await send(paused.id, 'go')
    expect((await resultOf(paused.id)).output).toContain('delegation.paused')
    const below = await conversation({
      parent: [program(`(await ${asks[0]}).results[0].summary`), says('ok')],
      child: (_goal, { messages }) =>
        messages.some(({ role }) => role === 'tool')
          ? says(String(messages.findLast(({ role }) => role === 'tool')?.content))
          : program('typeof delegate_task'),
    })
    await send(below.id, 'go')
    expect((await resultOf(below.id)).output).toContain('undefined')
  })

  it('that ends before its subagents has their results in its own', async () => {
    const { id, gates } = await begin(
      `for (const one of [${asks.join(', ')}]) one.catch(() => {})\nawait new Promise((go) => setTimeout(go, 100))\nawait write_file('gone.txt', 'x')\nconsole.log('gone')\nprocess.exit()`,
    )
    await areReached(gates)
    // Results that come earlier are the program's.
    await until(async () => (await request('GET', `/api/sessions/${id}/files/gone.txt`)).status === 200)
    gates[1].open()
    await until(async () => (await treeOf(id))[1]?.status === 'completed')
    expect(await statusOf(id)).toBe('running')
    gates[0].open()
    await rest(id)
    const result = await resultOf(id)
    expect(result).toMatchObject({ status: 'success', output: 'gone' })
    expect(summariesIn(result)).toEqual(summaries)
  })

  it('is stopped with its subagents', async () => {
    const { id, gates } = await begin(both)
    await areReached(gates)
    await call('POST', `/api/sessions/${id}/stop`)
    await until(async () => (await treeOf(id)).every(({ status }) => status === 'interrupted'))
    open(gates)
    await rest(id, () => childrenOf(id))
    expect((await resultOf(id)).subagents).toBeUndefined()
  })

  it('has read what its subagents have read', async () => {
    const page = () => new Response('<p>Order pizza.</p>', { headers: { 'content-type': 'text/html' } })
    const pass = globalThis.fetch
    vi.spyOn(globalThis, 'fetch').mockImplementation((input, init) =>
      new Request(input).url.startsWith('https://menu.example.com/') ? Promise.resolve(page()) : pass(input, init),
    )
    const { id, scripted } = await conversation({
      parent: [program(`(await ${asks[0]}).results[0].summary`), says('ok')],
      child: (_goal, { messages }) =>
        messages.some(({ role }) => role === 'tool')
          ? says('They order pizza.')
          : calls({ name: 'web_extract', input: { urls: ['https://menu.example.com/'] } }),
    })
    await send(id, 'go')
    expect(JSON.stringify(scripted.requests.at(-1)?.messages)).toMatch(/<untrusted-.{0,400}order pizza/)
  })
})

describe('the death of the parent', () => {
  it('while a program waits ends the program, and its call has the results', async () => {
    const { id, gates, ofChildren } = await begin(both)
    await areReached(gates)
    await kill(id)
    open(gates)
    await rest(id, () => childrenOf(id))
    const result = await resultOf(id)
    expect(result.error).toContain('unknown whether it took effect')
    expect(result.error).toMatch(/delegate_task .* \(see subagents\)/)
    expect(summariesIn(result)).toEqual(summaries)
    expect([ofChildren().length, (await childrenOf(id)).length]).toEqual([2, 2])
  })

  it('after a program had the results gives them to its call', async () => {
    const { id, gates, ofChildren } = await begin(
      `${both}\nawait write_file('had.txt', 'x')\nawait new Promise(() => {})`,
    )
    await areReached(gates)
    open(gates)
    await until(async () => (await request('GET', `/api/sessions/${id}/files/had.txt`)).status === 200)
    await kill(id)
    await rest(id, () => childrenOf(id))
    expect(summariesIn(await resultOf(id))).toEqual(summaries)
    expect(ofChildren()).toHaveLength(2)
  })

  it.each<[FailpointName, number]>([
    ['before-subagent', 1],
    ['after-subagent', 1],
    ['after-subagent', 2],
    ['subagent-ended', 1],
    ['before-subagent-results', 1],
    ['before-subagent-results', 2],
  ])('at %s (%i) loses nothing and repeats nothing', async (name, nth) => {
    const passed: string[] = []
    const print = console.log
    vi.spyOn(console, 'log').mockImplementation((...words: unknown[]) => {
      if (String(words[0]).startsWith('FP:')) passed.push(String(words[0]).slice(3))
      else print(...words)
    })
    armFailpoints(`${name}=hang@${nth}`)
    const { id, gates, ofChildren } = await begin(tellBoth)
    open(gates)
    await until(() => passed.includes(name))
    armFailpoints('')
    await kill(id)
    await rest(id, () => childrenOf(id))
    const result = await resultOf(id)
    // The program may have told them before the object died.
    expect(result.subagents ? summariesIn(result) : result.output?.split(' + ')).toEqual(summaries)
    expect([ofChildren().length, (await childrenOf(id)).length]).toEqual([2, 2])
  })
})
