/** Runs a tree of 1 + 8 + 16 agents while random ones of them die, and checks that every result arrives once. */

import { expect } from 'vitest'
import { type ModelRequest, says, until } from '#test/support/scripted-model.ts'
import { call } from '#test/worker/client.ts'
import { fireAlarm, kill } from '../../support/object.ts'
import { childrenOf, conversation, delegate, linesOf, resultsIn, resultsOf, statusOf } from './support.ts'

const width = 8
const leavesEach = 2

/** Deterministic: a seed repeats a run as far as the timing allows. */
function createRandom(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) >>> 0
    return state % below
  }
}

const middle = Array.from({ length: width }, (_, n) => ({ goal: `Combine part ${n}.`, role: 'orchestrator' }))
const leavesOf = (n: number) => Array.from({ length: leavesEach }, (_, m) => ({ goal: `Find piece ${n}-${m}.` }))

const child = (goal: string, asked: ModelRequest) => {
  const [, n = ''] = /^Combine part (\d)/.exec(goal) ?? []
  if (!n) return says(`Found ${goal.slice(11)}`)
  return resultsIn(asked) ? says(`Combined ${n}.`) : delegate({ tasks: leavesOf(Number(n)) })
}

/** Returns the number of agents. */
export async function runTree(seed: number, { kills }: { readonly kills: number }): Promise<number> {
  const random = createRandom(seed)
  const settings = { delegation: { max_spawn_depth: 2, max_concurrent_children: width } }
  const parent = [delegate({ tasks: middle })]
  const { id } = await conversation(
    { parent: [...parent, ...Array.from({ length: 60 }, () => says('All done.'))], child },
    settings,
  )
  await call('POST', `/api/sessions/${id}/steer`, { body: { input: 'go' } })
  let left = kills
  await until(async () => {
    const all = await agentsBelow(id)
    if (left-- > 0) await kill(all[random(all.length)] ?? id)
    await Promise.all(all.map((one) => fireAlarm(one).catch(() => undefined)))
    return left <= 0 && (await statusOf(id)) === 'idle'
  })
  const all = await agentsBelow(id)
  await expectAll(id, all)
  return all.length
}

/** The conversation and all its subagents, level by level. */
async function agentsBelow(id: string): Promise<readonly string[]> {
  const found = await tryChildren(id)
  const below = await Promise.all(found.map(tryChildren))
  return [id, ...found, ...below.flat()]
}

/** The object may be killed while it is asked. */
const tryChildren = (id: string) => until(() => childrenOf(id).catch(() => undefined))

async function expectAll(id: string, all: readonly string[]): Promise<void> {
  expect(all).toHaveLength(1 + width + width * leavesEach)
  const results = await resultsOf(id)
  expect(results).toHaveLength(1)
  expect(results[0]?.results.map(({ summary, status }) => [summary, status])).toEqual(
    middle.map((_, n) => [`Combined ${n}.`, 'completed']),
  )
  expect((await linesOf(id)).at(-1)).toBe('assistant: All done.')
  for (const [n, { subagent_id: one }] of (results[0]?.results ?? []).entries()) {
    const below = await resultsOf(one)
    expect(below).toHaveLength(1)
    expect(below[0]?.results.map(({ summary }) => summary)).toEqual(leavesOf(n).map((_, m) => `Found ${n}-${m}.`))
  }
}
