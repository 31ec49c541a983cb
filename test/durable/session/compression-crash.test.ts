/**
 * Tests that a compression is all or nothing: the object dies in every phase of it, and the next request has the old
 * context or the new one. Old messages stay listed and searchable.
 */

import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { armFailpoints, type FailpointName } from '#durable/platform/failpoint.ts'
import { fails, Gate, type Model, model, type Reply, listTexts, says, until } from '../../support/scripted-model.ts'
import { call, applyMigrations, newSession } from '../../worker/client.ts'
import { listMessages, type Run, send, subscribe } from '../../worker/listen.ts'
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

const long = 'many words '.repeat(3_000)
type Listed = { readonly content: string; readonly compacted: boolean; readonly source?: string }

/** A session with ten messages, whose next turn compresses its context. */
async function newFullSession(summary: readonly Reply[], last: readonly Reply[] = [says('The answer.')]) {
  const main: Model = model([...Array<Reply>(5).fill(says(long)), ...last])
  const side = model(summary)
  const settings = {
    auxiliary: { compression: { model: side.id, fallback_providers: [] } },
    models: { [main.id]: { context_window: 1_000_000 } },
    compression: { threshold: 0.1, target_ratio: 0.1 },
  }
  const { id } = await newSession({ model: main.id, settings })
  for (const n of [1, 2, 3, 4, 5]) await send(id, `question ${n} about a quagga${n}`)
  await call('PATCH', `/api/sessions/${id}`, { body: { settings: { compression: { threshold_tokens: 20_000 } } } })
  return { id, main, side }
}

async function begin(id: string): Promise<string> {
  const { body } = await call<Run>('POST', `/api/sessions/${id}/steer`, { body: { input: 'the current request' } })
  return body.run_id
}

async function goOn(id: string, run: string): Promise<Run> {
  armFailpoints('')
  await kill(id)
  await fireAlarm(id)
  return until(async () => {
    const { body } = await call<Run>('GET', `/api/sessions/${id}/runs/${run}`)
    return body.exit_reason === null ? undefined : body
  })
}

/** Every request is either the whole conversation or head, summary and tail. Returns which one. */
function kindOf(texts: readonly string[]): 'old' | 'new' {
  const questions = texts.filter((text) => text.startsWith('user: question')).map((text) => text.at(-1))
  const answers = texts.filter((text) => text === `assistant: ${long}`).length
  const isNew = texts.some((text) => text.startsWith('assistant: Summary of') && text.includes('SUMMARY'))
  expect(texts.at(-1)).toBe('user: the current request')
  // The answers are too long for the head, and only the last one fits into the tail.
  expect([questions.join(''), answers, texts.length]).toEqual(isNew ? ['15', 1, 5] : ['12345', 5, 11])
  return isNew ? 'new' : 'old'
}

describe('the object dies', () => {
  it.each<[string, FailpointName, number]>([
    ['before the summary is requested', 'before-summary', 1],
    ['after the summary arrived, before it is stored', 'after-summary', 2],
    ['after the compression, before the model is called', 'before-model', 1],
  ])('%s: the model gets the old context or the new one', async (_when, name, summaries) => {
    const { id, main, side } = await newFullSession([says('SUMMARY'), says('SUMMARY')])
    armFailpoints(`${name}=hang@1`)
    const run = await begin(id)
    await until(() => passed.includes(name))
    expect(await goOn(id, run)).toMatchObject({ status: 'completed', output: 'The answer.' })
    expect(kindOf(listTexts(main.requests.at(-1)!))).toBe('new')
    expect(side.requests).toHaveLength(summaries)
    const listed = await listMessages<Listed>(id)
    expect(listed.filter(({ source }) => source === 'summary')).toHaveLength(1)
  })

  it('while the summary is streamed: nothing of it is stored', async () => {
    const gate = new Gate()
    const { id, main } = await newFullSession([says('SUM', gate, 'MARY'), says('the SUMMARY')])
    const run = await begin(id)
    await gate.waitUntilReached()
    expect((await listMessages<Listed>(id)).some(({ compacted }) => compacted)).toBe(false)
    expect(await goOn(id, run)).toMatchObject({ status: 'completed' })
    gate.open()
    const texts = listTexts(main.requests.at(-1)!)
    expect(kindOf(texts)).toBe('new')
    expect(texts.join()).toContain('the SUMMARY')
  })

  it('after the compression: a fresh object assembles the same bytes', async () => {
    const { id, main } = await newFullSession([says('SUMMARY')], [says('The answer.'), says('More.')])
    await send(id, 'the current request')
    await kill(id)
    await send(id, 'and then?')
    const [before, after] = main.requests.slice(-2).map(({ messages }) => messages)
    expect(JSON.stringify(after!.slice(0, before!.length))).toBe(JSON.stringify(before))
  })
})

describe('CP1: a prompt over the threshold', () => {
  it('is compressed in the same session, with a status, and the answer goes on', async () => {
    const { id, main } = await newFullSession([says('SUMMARY')])
    const { output } = await send(id, 'the current request')
    expect(output).toBe('The answer.')
    expect(kindOf(listTexts(main.requests.at(-1)!))).toBe('new')
    // The system prompt is the one of all requests before.
    expect(new Set(main.requests.map(({ messages }) => JSON.stringify(messages[0]))).size).toBe(1)
    const listener = await subscribe(id, 0)
    await listener.waitFor('context.compressed')
    listener.close()
    expect(listener.events).toContainEqual(expect.objectContaining({ type: 'status', state: 'compressing' }))
    expect((await call<{ id: string }>('GET', `/api/sessions/${id}`)).body.id).toBe(id)
  })
})

describe('CP3: a summary that cannot be requested', () => {
  it('leaves all messages, tells the user, and is not requested again after a restart', async () => {
    const { id, main, side } = await newFullSession(
      [fails(401, 'bad key'), fails(401, 'bad key')],
      [says('The answer.'), says('More.')],
    )
    await send(id, 'the current request')
    expect(kindOf(listTexts(main.requests.at(-1)!))).toBe('old')
    const requests = side.requests.length
    expect(requests).toBeGreaterThan(0)
    const listener = await subscribe(id, 0)
    await listener.waitFor('run.completed')
    listener.close()
    const warnings = listener.events.filter(({ type, state }) => type === 'status' && state === 'warning')
    expect(warnings).toMatchObject([{ detail: expect.stringMatching(/nothing was removed.*10 minutes/) }])
    await kill(id)
    await send(id, 'and then?')
    expect(side.requests).toHaveLength(requests)
  })
})

describe('CP8: replaced messages', () => {
  const find = async (q: string) =>
    (await call<{ data: { session_id: string }[] }>('GET', `/api/search?q=${q}`)).body.data.map((hit) => hit.session_id)

  it('stay listed and are found, but models no longer get them; messages taken back are neither', async () => {
    const { id, main } = await newFullSession([says('SUMMARY')], [says('The answer.'), says('More.')])
    await send(id, 'the current request')
    expect(JSON.stringify(main.requests.at(-1))).not.toContain('quagga3')
    const listed = await listMessages<Listed>(id)
    expect(listed.find(({ content }) => content.includes('quagga3'))).toMatchObject({ compacted: true })
    await until(async () => (await find('quagga3')).includes(id))
    await send(id, 'about the thylacine')
    await until(async () => (await find('thylacine')).includes(id))
    await call('POST', `/api/sessions/${id}/undo`, { body: { n: 1 } })
    await until(async () => !(await find('thylacine')).includes(id))
    expect(JSON.stringify(await listMessages(id))).not.toContain('thylacine')
    expect(await find('quagga3')).toContain(id)
  })
})
