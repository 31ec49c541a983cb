/** Tests the tree of subagents in the API, and the events of the parent. */

import { beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { Gate, hangs, says, until } from '../support/scripted-model.ts'
import { conversation, delegate, rest } from '../durable/session/subagents/support.ts'
import { applyMigrations, call, newSession } from './client.ts'
import { send, subscribe } from './listen.ts'

beforeAll(applyMigrations)

type Node = { readonly status: string; readonly session_id: string; readonly children: readonly Node[] }
const treeOf = async (id: string) =>
  (await call<{ session_id: string; children: Node[] }>('GET', `/api/sessions/${id}/tree`)).body

describe('the tree of a session', () => {
  it('is empty without subagents, and 404 without a session', async () => {
    const { id } = await newSession()
    expect(await treeOf(id)).toMatchObject({
      session_id: id,
      children: [],
      branches: [{ session_id: id, parent_id: null }],
    })
    expect((await call('GET', '/api/sessions/ses_unknown/tree')).status).toBe(404)
  })

  it('has the forks of the conversation and theirs, from each of them', async () => {
    const { id } = await newSession({ title: 'Root' })
    const fork = async (of: string) =>
      (await call<{ id: string }>('POST', `/api/sessions/${of}/fork`, { body: {} })).body.id
    const one = await fork(id)
    const [two, below] = [await fork(id), await fork(one)]
    const wanted = new Map([
      [id, null],
      [one, id],
      [two, id],
      [below, one],
    ])
    type Branch = { session_id: string; parent_id: string | null }
    const branchesOf = async (at: string) => {
      const { body } = await call<{ branches: Branch[] }>('GET', `/api/sessions/${at}/tree`)
      return new Map(body.branches.map(({ session_id, parent_id }) => [session_id, parent_id]))
    }
    for (const at of wanted.keys()) {
      await until(async () => (await branchesOf(at)).size === wanted.size)
      expect(await branchesOf(at)).toEqual(wanted)
    }
  })

  itInTurn('shows all levels while they work and afterwards, and events say when each begins and ends', async () => {
    const gate = new Gate()
    const { id } = await conversation(
      {
        parent: [delegate({ goal: 'Top of it all.', role: 'orchestrator' }), says('ok')],
        child: (goal, asked) => {
          if (goal.startsWith('Bottom')) return hangs(gate)
          return asked.messages.some(({ role }) => role === 'tool')
            ? says('Done.')
            : delegate({ goal: 'Bottom of it all.' })
        },
      },
      { delegation: { max_spawn_depth: 2 } },
    )
    const events = await subscribe(id)
    const running = send(id, 'go')
    await gate.waitUntilReached()
    expect((await call('GET', `/api/sessions/${id}`)).body['status']).toBe('running')
    const { children } = await treeOf(id)
    expect(children).toMatchObject([
      {
        status: 'running',
        goal: 'Top of it all.',
        role: 'orchestrator',
        depth: 1,
        children: [{ status: 'running', goal: 'Bottom of it all.', role: 'leaf', depth: 2, children: [] }],
      },
    ])
    gate.open()
    const { run_id: run } = await running
    expect(await events.waitFor('subagent.complete')).toMatchObject({
      run_id: run,
      subagent_id: children[0]?.session_id,
      task_index: 0,
      status: 'completed',
      summary: 'Done.',
    })
    expect(events.events.find(({ type }) => type === 'subagent.start')).toMatchObject({
      goal: 'Top of it all.',
      depth: 1,
    })
    events.close()
    expect((await treeOf(id)).children).toMatchObject([{ status: 'completed', children: [{ status: 'completed' }] }])
  })

  it('hides the sessions of subagents from the list, which name their parent', async () => {
    const { id } = await conversation({
      parent: [delegate({ goal: 'Do it for me.' }), says('ok')],
      child: () => says('Done.'),
    })
    await send(id, 'go')
    await rest(id)
    const [child] = (await treeOf(id)).children
    const found = await until(async () => {
      const { body } = await call('GET', `/api/sessions/${child?.session_id}`)
      return body['status'] === 'idle' && body
    })
    expect(found).toMatchObject({ parent_id: id, source: 'subagent' })
    const listed = async (query: string) =>
      (await call<{ data: { id: string }[] }>('GET', `/api/sessions?limit=200${query}`)).body.data.map((one) => one.id)
    await until(async () => (await listed('&source=subagent')).includes(child?.session_id ?? ''))
    expect(await listed('')).not.toContain(child?.session_id)
    expect(await listed('')).toContain(id)
  })
})
