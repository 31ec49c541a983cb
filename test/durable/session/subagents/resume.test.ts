/** Tests subagents that go on with their history, and the pause of their start. */

import { beforeAll, describe, expect, it } from 'vitest'
import { type ModelRequest, type Reply, says } from '#test/support/scripted-model.ts'
import { applyMigrations, call } from '#test/worker/client.ts'
import { send } from '#test/worker/listen.ts'
import { objectOf } from '../../support/object.ts'
import { childrenOf, conversation, delegate, internal, resultsIn, resultsOf, stored, treeOf } from './support.ts'

beforeAll(applyMigrations)

const lastResult = async (id: string) =>
  String((await stored(id)).filter(({ role }) => role === 'tool').at(-1)?.content)

describe('a subagent that is resumed', () => {
  it('has its history, reports anew, and stays one session', async () => {
    const parent: Reply[] = [delegate({ goal: 'Count the files.' }), says('Three.')]
    const { id, ofChildren } = await conversation({
      parent,
      child: (_goal, asked) => says(JSON.stringify(asked).includes('Now name them.') ? 'a, b, c' : 'I counted three.'),
    })
    await send(id, 'go')
    const first = (await childrenOf(id))[0] ?? ''
    parent.push(delegate({ goal: 'Now name them.', task_id: first }), says('a, b, c.'))
    expect((await send(id, 'and their names?')).output).toBe('a, b, c.')
    const asked = ofChildren().at(-1) as ModelRequest
    const texts = JSON.stringify(asked)
    expect(texts).toContain('Count the files.')
    expect(texts).toContain('I counted three.')
    expect(texts).toContain('Now name them.')
    const [, second] = await resultsOf(id)
    expect(second?.results).toMatchObject([
      { task_index: 0, subagent_id: first, status: 'completed', summary: 'a, b, c' },
    ])
    expect(await childrenOf(id)).toEqual([first])
    expect(await treeOf(id)).toMatchObject([{ session_id: first, goal: 'Now name them.', status: 'completed' }])
    // A report of the first run that comes late belongs to no run any more.
    expect(await objectOf(id).subagents.report(internal, first, {} as never, 'run_of_before')).toBe(false)
  })

  it('has what the parent may still spend, not what it has spent before', async () => {
    const parent: Reply[] = [delegate({ goal: 'Count the files.' }), says('Three.')]
    const { id } = await conversation(
      {
        parent,
        child: () => says('Done.'),
      },
      { limits: { tokens_per_session: 100_000 } },
    )
    await send(id, 'go')
    const first = (await childrenOf(id))[0] ?? ''
    parent.push(delegate({ goal: 'Now name them.', task_id: first }), says('ok'))
    await send(id, 'more')
    const { body } = await call<{ settings: { limits: { tokens_per_session: number } } }>(
      'GET',
      `/api/sessions/${first}`,
    )
    // 110 tokens of its first run, and what its parent has left of 100 000.
    expect(body.settings.limits.tokens_per_session).toBeGreaterThan(99_000)
    expect((await resultsOf(id)).at(-1)?.results[0]?.status).toBe('completed')
  })

  it('is refused when there is none, or when it works', async () => {
    const { id } = await conversation({
      parent: [delegate({ tasks: [{ goal: 'Count the files.', task_id: 'ses_other' }] }), says('ok')],
      child: () => says('Done.'),
    })
    await send(id, 'go')
    expect(await lastResult(id)).toContain('task_id ses_other cannot be resumed')
  })
})

describe('the pause of subagents', () => {
  it('refuses their start until it ends, by /agents', async () => {
    const { id, ofChildren } = await conversation({
      parent: [delegate({ goal: 'Count the files.' }), says('ok'), delegate({ goal: 'Count the files.' }), says('ok')],
      child: () => says('Done.'),
    })
    expect((await send(id, '/agents pause')).output).toContain('No subagent is started')
    await send(id, 'go')
    expect(await lastResult(id)).toContain('Starting of subagents is paused here')
    expect(ofChildren()).toEqual([])
    expect((await send(id, '/agents')).output).toContain('paused')
    await send(id, '/agents resume')
    await send(id, 'go')
    expect(ofChildren()).toHaveLength(1)
    expect(resultsIn(ofChildren()[0] as ModelRequest)).toBe(0)
  })

  it('of the tenant holds for its sessions', async () => {
    const { findLoosening } = await import('#agent/policy/settings/tighten-settings.ts')
    const options = { expand: () => new Set<string>(), mayDiffer: true }
    const paused = { delegation: { paused: true } }
    expect(findLoosening(paused, { delegation: { paused: false } }, options)).toBe('delegation.paused')
    expect(findLoosening({}, paused, options)).toBeUndefined()
  })
})
