import { describe, expect, it } from 'vitest'
import { applyPolicies } from '#agent/loop/settle.ts'
import { newTurn } from '#agent/core/turn.ts'
import type { Ruling } from '#agent/policy/policy.ts'
import { LoopHarness } from '../support/scripted.ts'

type Incoming = { readonly steps: readonly string[]; readonly count: number }
type Policy = (incoming: Incoming) => Ruling<Incoming>

const commit = { turn: newTurn('t', 0, 10) }
const add =
  (name: string): Policy =>
  ({ steps }) => ({ steps: [...steps, name] })
const apply = (policies: readonly Policy[]) =>
  applyPolicies(policies, { steps: [], count: 1 }, new LoopHarness([]).view())

describe('a list of policies', () => {
  it('passes the changes of each policy to the next one', () => {
    expect(apply([add('first'), () => undefined, add('second')])).toEqual({
      accepted: { steps: ['first', 'second'], count: 1 },
    })
  })

  it('ends with the first commit', () => {
    const neverReached = () => {
      throw new Error('This policy comes after a commit.')
    }
    expect(apply([add('first'), () => ({ commit }), neverReached])).toEqual({ commit })
  })

  it('accepts without changes when it is empty', () => {
    expect(apply([])).toEqual({ accepted: { steps: [], count: 1 } })
  })
})
