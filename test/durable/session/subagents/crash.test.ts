/** Tests that the death of a parent, of a subagent or of both changes nothing: each goal is worked on once. */

import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { armFailpoints, type FailpointName } from '#durable/platform/failpoint.ts'
import { Gate, says, until } from '#test/support/scripted-model.ts'
import { applyMigrations, call } from '#test/worker/client.ts'
import { fireAlarm, inObject, kill, wipe } from '../../support/object.ts'
import { childrenOf, conversation, delegate, linesOf, resultsOf, rest, statusOf, treeOf } from './support.ts'

beforeAll(applyMigrations)
vi.setConfig({ testTimeout: 120_000 })

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

const hangAt = (name: FailpointName, nth = 1) => armFailpoints(`${name}=hang@${nth}`)
const cameTo = (name: FailpointName) => until(() => passed.includes(name))

const tasks = [{ goal: 'The first goal.' }, { goal: 'The second goal.' }]
const summaries = ['Did: The first goal.', 'Did: The second goal.']

/** A turn with two subagents, which wait at gates. */
async function begin({ isBackground = false, isOpen = false } = {}) {
  const gates = [new Gate(), new Gate()]
  if (isOpen) for (const gate of gates) gate.open()
  const after = [says('It works.'), says('It is done.')]
  const started = await conversation({
    parent: [delegate({ tasks, background: isBackground }), ...(isBackground ? after : after.slice(1))],
    child: (goal) => [gates[goal.includes('first') ? 0 : 1] as Gate, ...(says(`Did: ${goal}`) as [])],
  })
  await call('POST', `/api/sessions/${started.id}/steer`, { body: { input: 'go' } })
  return { ...started, gates }
}

const expectResults = async (id: string) => {
  const results = await resultsOf(id)
  expect(results).toHaveLength(1)
  expect(results[0]?.results.map(({ summary }) => summary)).toEqual(summaries)
  expect((await linesOf(id)).at(-1)).toBe('assistant: It is done.')
}

describe('while subagents work', () => {
  it('the death of the parent does not repeat their calls', async () => {
    const { id, gates, ofChildren } = await begin()
    for (const gate of gates) await gate.waitUntilReached()
    await kill(id)
    for (const gate of gates) gate.open()
    await rest(id, () => childrenOf(id))
    await expectResults(id)
    expect(ofChildren()).toHaveLength(2)
    expect(await childrenOf(id)).toHaveLength(2)
  })

  it.each([
    ['one of them', [0], false],
    ['all of them', [0, 1], false],
    ['all of them and of the parent', [0, 1], true],
  ] as const)('the death of %s changes nothing', async (_name, killed, withParent) => {
    const { id, gates, ofChildren } = await begin()
    for (const gate of gates) await gate.waitUntilReached()
    const children = await childrenOf(id)
    if (withParent) await kill(id)
    for (const n of killed) await kill(children[n] ?? '')
    for (const gate of gates) gate.open()
    await rest(id, () => children)
    await expectResults(id)
    // A call in flight is lost with its object and made again.
    expect(ofChildren()).toHaveLength(2 + killed.length)
  })

  it('the loss of one is reported as unknown (DE3)', async () => {
    const { id, gates } = await begin()
    for (const gate of gates) await gate.waitUntilReached()
    const [first = ''] = await childrenOf(id)
    await wipe(first)
    await kill(id)
    for (const gate of gates) gate.open()
    await rest(id)
    const [result] = await resultsOf(id)
    expect(result?.results).toMatchObject([{ status: 'unknown' }, { status: 'completed', summary: summaries[1] }])
    expect(result?.results[0]?.['error']).toContain('unknown what it has done')
  })

  it('one without progress is stopped and reported as stalled', async () => {
    const { id, gates } = await begin()
    for (const gate of gates) await gate.waitUntilReached()
    gates[1]?.open()
    // The next instance asks, and sees what the first one does.
    await kill(id)
    await until(async () => {
      // The alarm of the one at the gate rings as long as its turn waits.
      for (const one of await childrenOf(id)) void fireAlarm(one).catch(() => undefined)
      await fireAlarm(id).catch(() => undefined)
      return (await treeOf(id))[0]?.activity === 'thinking'
    })
    await inObject(id, (_object, { storage: { sql } }) => {
      sql.exec(`UPDATE child SET body = json_set(body, '$.state.watched.changedAt', 0) WHERE body ->> '$.index' = 0`)
    })
    await kill(id)
    await rest(id)
    const [result] = await resultsOf(id)
    expect(result?.results).toMatchObject([{ status: 'stalled' }, { status: 'completed' }])
    const [first = ''] = await childrenOf(id)
    await until(async () => (await statusOf(first)) === 'idle')
    gates[0]?.open()
  })
})

describe('the death of the parent', () => {
  it.each(['before-subagent', 'after-subagent', 'before-subagent-results'] as const)(
    'at %s changes nothing',
    async (name) => {
      hangAt(name)
      const { id, ofChildren } = await begin({ isOpen: true })
      await cameTo(name)
      armFailpoints('')
      await kill(id)
      // The start of the other one was in flight: its own alarm takes over what was begun.
      await rest(id, () => childrenOf(id))
      await expectResults(id)
      expect(ofChildren()).toHaveLength(2)
    },
  )

  it('whose subagent has ended and not reported is repaired when it wakes', async () => {
    hangAt('before-subagent-report')
    const { id, ofChildren } = await begin({ isOpen: true })
    await cameTo('before-subagent-report')
    armFailpoints('')
    await kill(id)
    await rest(id, () => childrenOf(id))
    await expectResults(id)
    expect(ofChildren()).toHaveLength(2)
  })

  it.each(['before-subagent-results', 'before-model'] as const)(
    'delivers the results of background work once (DE3), at %s',
    async (name) => {
      const { id, gates, ofChildren, scripted } = await begin({ isBackground: true })
      for (const gate of gates) await gate.waitUntilReached()
      await until(async () => (await statusOf(id)) === 'idle')
      hangAt(name)
      for (const gate of gates) gate.open()
      await cameTo(name)
      armFailpoints('')
      await kill(id)
      await until(async () => {
        await rest(id, () => childrenOf(id))
        return (await linesOf(id)).at(-1) === 'assistant: It is done.'
      })
      const delivered = (await linesOf(id)).filter((line) => line.startsWith('subagent:'))
      expect(delivered).toHaveLength(1)
      for (const summary of summaries) expect(delivered[0]).toContain(summary)
      expect(ofChildren()).toHaveLength(2)
      expect(scripted.requests).toHaveLength(5)
    },
  )
})
