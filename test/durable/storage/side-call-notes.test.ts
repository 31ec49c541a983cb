/** Tests that side calls which a crash interrupts are billed once. */

import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Journal } from '#durable/storage/journal.ts'
import { deployment } from '../../support/deployment.ts'
import { type ModelRequest, Gate, model, listTexts, says, until } from '../../support/scripted-model.ts'
import { call, applyMigrations, newSession } from '../../worker/client.ts'
import { type Run, send } from '../../worker/listen.ts'
import { evict, inObject, kill, fireAlarm } from '../support/object.ts'

beforeAll(applyMigrations)
afterEach(() => delete deployment.auxModel)

type Tally = {
  readonly model: string
  readonly task: string | null
  readonly calls: number
  readonly cut_calls: number
}
type Told = { readonly usage_by_model: readonly Tally[]; readonly exit_reason: string | null }

const runOf = async (id: string, run: string) => (await call<Told>('GET', `/api/sessions/${id}/runs/${run}`)).body
/** All calls and interrupted calls, by task. */
const tallies = async (id: string, run: string) =>
  Object.fromEntries(
    (await runOf(id, run)).usage_by_model.map(({ task, calls, cut_calls }) => [task ?? 'turn', [calls, cut_calls]]),
  )
/** Notes of side calls that no turn has claimed. */
const notes = (id: string) => inObject(id, (_object, { storage: { sql } }) => new Journal(sql).sideCallNotes())
const isTitle = ({ messages }: ModelRequest) =>
  JSON.stringify(messages[0]).includes('Give the conversation below a title')

type Script = Parameters<typeof model>[0]

/** Creates a session that compresses its context in its second turn. */
async function newSmallSession(summary: Script, said: Script = []) {
  const [summariser, main] = [model(summary), model(said)]
  const settings = {
    auxiliary: { compression: { model: summariser.id } },
    models: { [main.id]: { context_window: 70_000 } },
    compression: { threshold: 0.1 },
  }
  const { id } = await newSession({ model: main.id, settings })
  return { id, main, summariser }
}
const long = (word: string) => `${word} `.repeat(12_000)

describe('a side call', () => {
  it('is billed once with an estimated cost when its object crashes', async () => {
    const gate = new Gate()
    const { id, summariser } = await newSmallSession([says('half ', gate), says('They said hello.')])
    await send(id, long('x'))
    const { body } = await call<Run>('POST', `/api/sessions/${id}/steer`, { body: { input: long('y') } })
    await gate.waitUntilReached()
    expect(JSON.stringify(await notes(id))).toContain(`${summariser.id} compression`)
    await kill(id)
    gate.open()
    await fireAlarm(id)
    const run = await until(async () => ((await runOf(id, body.run_id)).exit_reason ? body.run_id : undefined))
    expect(await tallies(id, run)).toEqual({ turn: [1, 0], compression: [2, 1] })
    expect(await notes(id)).toEqual([])
    await send(id, 'and then?')
    expect(await tallies(id, run)).toEqual({ turn: [1, 0], compression: [2, 1] })
  })

  it('is billed with its real cost when it ended before the crash', async () => {
    const gate = new Gate()
    const { id, main } = await newSmallSession(
      [says('They said hello.')],
      [says('ok'), says('half ', gate), says('whole')],
    )
    await send(id, long('x'))
    const { body } = await call<Run>('POST', `/api/sessions/${id}/steer`, { body: { input: long('y') } })
    await gate.waitUntilReached()
    await kill(id)
    gate.open()
    await fireAlarm(id)
    await until(async () => (await runOf(id, body.run_id)).exit_reason)
    expect(listTexts(main.requests[2]!).join('\n')).toContain('They said hello.')
    expect(await tallies(id, body.run_id)).toEqual({ turn: [2, 1], compression: [1, 0] })
    expect(await notes(id)).toEqual([])
  })

  it('is billed to the interrupted turn that made it', async () => {
    deployment.auxModel = ''
    const gate = new Gate()
    const main = model((asked) => (isTitle(asked) ? says('Half a ', gate) : says('ok')))
    const { id } = await newSession({
      model: main.id,
      settings: { auxiliary: { title_generation: { enabled: true } } },
    })
    const { run_id: run } = await send(id, 'hello')
    await gate.waitUntilReached()
    await kill(id)
    gate.open()
    await fireAlarm(id)
    expect(await tallies(id, run)).toEqual({ turn: [1, 0], title_generation: [1, 1] })
    expect(await notes(id)).toEqual([])
  })

  it('between turns is billed after an eviction', async () => {
    const { id } = await newSession({ model: model([]).id })
    for (const word of ['one', 'two', 'three']) await send(id, word)
    expect((await call('POST', `/api/sessions/${id}/compress`, { body: {} })).status).toBe(200)
    await evict(id)
    const { run_id: run } = await send(id, 'four')
    expect(await tallies(id, run)).toEqual({ turn: [1, 0], compression: [1, 0] })
    expect(await notes(id)).toEqual([])
  })

  it('on request between turns is billed too', async () => {
    const gate = new Gate()
    const [summariser, main] = [model([says('half ', gate)]), model([])]
    const settings = { auxiliary: { compression: { model: summariser.id } } }
    const { id } = await newSession({ model: main.id, settings })
    for (const word of ['one', 'two', 'three']) await send(id, word)
    const asked = call('POST', `/api/sessions/${id}/compress`, { body: {} })
    await gate.waitUntilReached()
    await kill(id)
    gate.open()
    await asked
    const { run_id: run } = await send(id, 'four')
    expect(await tallies(id, run)).toEqual({ turn: [1, 0], compression: [1, 1] })
    expect(await notes(id)).toEqual([])
  })
})
