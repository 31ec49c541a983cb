/**
 * Tests that a turn acts with no more than the rights of its weakest contributor: generated for every principal that
 * begins work, every other one that contributes to it, and a third one after them.
 */

import { describe, expect, it } from 'vitest'
import type { Authority } from '#agent/core/permission/authority.ts'
import {
  combineAuthorities,
  joinAuthority,
  joinContributors,
  listEarlierRights,
  type TurnAuthority,
} from '#agent/core/permission/contribution.ts'
import { narrowByRoles } from '#agent/core/permission/roles.ts'
import { newTurn } from '#agent/core/turn.ts'
import { narrowByContributors, narrowTurn } from '#agent/loop/turn-changes.ts'
import { memoryReach } from '#agent/memory/memory-reach.ts'
import { changeGoal, createGoal, resumeGoal, takeOverGoal } from '#agent/schedule/goal/goal.ts'
import { createHeartbeat, createLoop, resume } from '#agent/schedule/recurring/recurring.ts'
import { listExcess, principalRoles, principals } from '#test/support/principals.ts'

const names = Object.keys(principals)
const of = (name: string): Authority => principals[name]!
const goalOf = (authority: Authority) => createGoal({ text: 'Ship it', state: { at: 'active' }, authority }, 1)
const turnOf = (authority: Authority) => newTurn('run', 0, 0, { authority: combineAuthorities([authority]) })

/** How somebody contributes to work of another one: the authority of the work afterwards. */
const contributions: Readonly<Record<string, (held: Authority, by: Authority) => Authority | undefined>> = {
  'a message that steers': (held, by) => narrowTurn(turnOf(held), by).options.authority,
  'a message beside others': (held, by) => combineAuthorities([held, by]),
  'an answer to a question': (held, by) => narrowTurn(turnOf(held), by).options.authority,
  'words for a child': (held, by) => {
    const child = joinAuthority(combineAuthorities([held]), by)
    return narrowByContributors(turnOf(held), child.contributors ?? []).options.authority
  },
  'a gate of a goal': (held, by) => changeGoal(goalOf(held), { gates: ['make'] }, by).authority,
  'the text of a goal': (held, by) => changeGoal(goalOf(held), { text: 'Else' }, by).authority,
  'the resumption of a goal': (held, by) => resumeGoal(goalOf(held), by).authority,
  'the start of a goal': (held, by) => takeOverGoal(goalOf(held), by),
  'the resumption of a heartbeat': (held, by) =>
    resume(createHeartbeat({ prompt: 'x', authority: held, now: 0 }, 60_000), by, 0).authority,
  'the resumption of a loop': (held, by) =>
    resume(createLoop({ prompt: 'x', authority: held, now: 0 }, undefined), by, 0).authority,
}

const pairs = names.flatMap((begins) => names.map((joins) => [begins, joins] as const))

describe.each(Object.entries(contributions))('after %s', (_name, contribute) => {
  it.each(pairs)('the work of %s has no rights that %s lacks', (begins, joins) => {
    const joint = contribute(of(begins), of(joins))!
    // A child hands back the rights of others: its own limits are not those of its parent.
    expect({
      begins: listExcess(joint, of(begins)),
      joins: listExcess({ ...joint, taint: 'untrusted' }, of(joins)),
    }).toEqual({
      begins: [],
      joins: [],
    })
  })

  it.each(pairs)('a third one takes more from the work of %s and %s', (begins, joins) => {
    for (const last of names) {
      const joint = contribute(contribute(of(begins), of(joins))!, of(last))!
      const excess = [begins, joins, last].flatMap((name) => listExcess({ ...joint, taint: 'untrusted' }, of(name)))
      expect([last, excess]).toEqual([last, []])
    }
  })
})

describe('work of several', () => {
  const joined = (...[first, ...others]: readonly string[]): TurnAuthority =>
    combineAuthorities([of(first!), ...others.map(of)])

  it('stays the same object when a contributor may do all that it may', () => {
    const held = joined('key with one scope')
    expect(joinAuthority(held, held)).toBe(held)
    expect(joinAuthority(held, of('key with one scope'))).toBe(held)
    expect(narrowTurn(turnOf(of('owner')), of('owner')).options.authority).toEqual(joined('owner'))
  })

  it('leaves no limit behind that a request chose for itself, but one that limits another contributor too', () => {
    const whole = combineAuthorities([principals['owner']!])
    const limited = combineAuthorities([{ ...whole, toolBounds: [['todo']], ownBounds: ['todo'] }])
    expect(listEarlierRights(limited)).toEqual([])
    const child = { ...principals['child']!, toolBounds: [['todo']] }
    expect(listEarlierRights(joinAuthority(limited, child))).toContainEqual(
      expect.objectContaining({ toolBounds: [['todo']] }),
    )
    const other = joinAuthority(limited, principals['child']!)
    expect(JSON.stringify(listEarlierRights(other))).toContain(JSON.stringify(principals['child']!.toolBounds))
  })

  it('names each set of rights once', () => {
    const joint = joined('owner', 'chat guest', 'chat guest', 'key with a role')
    expect(joint.contributors).toHaveLength(2)
    expect(joinAuthority(joint, of('chat guest'))).toBe(joint)
  })

  it('loses what the role of a contributor loses, and everything when the role is deleted', () => {
    const joint = joined('owner', 'key with a role')
    expect(narrowByRoles(joint, principalRoles)).toMatchObject({ maxRisk: 'read', scopes: ['chat', 'read', 'write'] })
    const less = { ...principalRoles, reader: { scopes: ['chat', 'read'], max_risk: 'none' } } as const
    expect(narrowByRoles(joint, less)).toMatchObject({ maxRisk: 'none', scopes: ['chat', 'read'] })
    expect(narrowByRoles(joint, {})).toMatchObject({ maxRisk: 'none', scopes: ['chat'], toolBounds: [[]] })
    expect(narrowByRoles(joined('owner'), {})).toEqual(joined('owner'))
  })

  it('reaches no profile of one of them, and that of one person alone', () => {
    expect(memoryReach(joined('owner'))).toMatchObject({ owner: 'keys' })
    expect(memoryReach(joined('owner', 'owner'))).toMatchObject({ owner: 'keys' })
    expect(memoryReach(joined('owner', 'page visitor'))).toEqual({ canWrite: false, isShared: true })
  })

  it('from two chats reaches neither', () => {
    const there = { ...of('chat admin'), channel: { connection: 'ch_1', chat: '12' } }
    expect(combineAuthorities([of('chat admin'), there]).channel).toEqual({ connection: '', chat: '' })
  })

  it('gets back from a child who contributed to it, and not the limits of the child', () => {
    const child = joinAuthority(combineAuthorities([of('child')]), of('key with a role'))
    const parent = joinContributors(joined('owner'), child.contributors)
    expect(parent).toMatchObject({ maxRisk: 'read' })
    expect(parent.toolBounds).toBeUndefined()
    expect(joinContributors(joined('owner'), undefined)).toEqual(joined('owner'))
  })
})
