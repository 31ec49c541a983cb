/** Tests when the provider of the model may search: chosen, and with nothing that an approval would have to guard. */

import { combineAuthorities } from '#agent/core/permission/contribution.ts'
import { describe, expect, it } from 'vitest'
import type { Settings } from '#agent/core/settings.ts'
import { newTurn, type Turn } from '#agent/core/turn.ts'
import { createServerSearch } from '#durable/turn/tools/server-search.ts'
import { openMarkLog, type ReadingRun } from '#durable/turn/tools/mark-log.ts'
import type { TurnSession } from '#durable/turn/turn-session.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { ownerAuthority } from '#test/support/authority.ts'

type Meta = Parameters<Parameters<typeof openMarkLog>[0]['updateMeta']>[0]

function open(settings: Settings, by: Authority = ownerAuthority()) {
  let meta: Meta = {}
  const turn = newTurn('run-1', 0, 0, { authority: combineAuthorities([by]) })
  const marks = (run: ReadingRun) =>
    openMarkLog({ meta: () => meta, updateMeta: (change) => (meta = { ...meta, ...change }) }, run)
  const session = {
    settings,
    meta: { source: 'api' },
    store: { current: () => turn, contextEntries: () => [] },
    tenant: { access: { roles: {} } },
    toolRuntime: { marks },
  } as unknown as TurnSession
  const search = createServerSearch(session)
  return { search, turn, marks: () => marks({ id: 'run-1', authority: by, read: [] }) }
}

const native: Settings = { web: { backend: 'native' } }

describe('the web search of the provider', () => {
  it.each<readonly [string, Settings, boolean]>([
    ['is off by default', {}, false],
    ['is on where the settings choose it', native, true],
    ['is on where they choose it for searches alone', { web: { search_backend: 'native' } }, true],
    ['is off where another vendor searches', { web: { backend: 'native', search_backend: 'tavily' } }, false],
    ['is off where a rule asks', { ...native, approvals: { rules: [{ do: 'ask', tool: 'web_*' }] } }, false],
    ['is off where a rule denies', { ...native, approvals: { rules: [{ do: 'deny', tool: 'web_search' }] } }, false],
    ['is on with rules for others', { ...native, approvals: { rules: [{ do: 'ask', tool: 'terminal' }] } }, true],
  ])('%s', (_name, settings, expected) => {
    const { search, turn } = open(settings)
    expect(search.isAllowed(turn)).toBe(expected)
  })

  it('ends with the first private data of the turn, because no person could be asked', () => {
    const { search, turn, marks } = open(native)
    marks().add({ isPrivate: true })
    expect(search.isAllowed(turn)).toBe(false)
    const off = open({ ...native, approvals: { mode: 'off' } })
    off.marks().add({ isPrivate: true })
    expect(off.search.isAllowed(off.turn)).toBe(true)
    const child = open(native, { ...ownerAuthority(), exposure: { isPrivate: true } })
    expect(child.search.isAllowed(child.turn)).toBe(false)
  })

  it('is off for an authority that may not use the network, and for answers in a format', () => {
    const { search, turn } = open(native, { ...ownerAuthority(), maxRisk: 'read' })
    expect(search.isAllowed(turn)).toBe(false)
    const other = open(native)
    const formatted: Turn = { ...turn, options: { ...other.turn.options, answerFormat: { type: 'json_object' } } }
    expect(other.search.isAllowed(formatted)).toBe(false)
  })

  it('marks the turn', () => {
    const { search, turn, marks } = open(native)
    expect(marks().now()).toEqual({})
    search.note(turn)
    expect(marks().now()).toEqual({ isForeign: true })
    expect(search.isAllowed(turn)).toBe(true)
  })
})
