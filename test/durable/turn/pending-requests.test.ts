import { describe, expect, it } from 'vitest'
import type { PendingRequest } from '#agent/core/pending-request.ts'
import { isSuspended, newTurn, type Turn } from '#agent/core/turn.ts'
import { findPending, isWaitingForCaller, pendingRequests, personRequests } from '#durable/turn/pending-requests.ts'
import type { TurnSession } from '#durable/turn/turn-session.ts'

const question: PendingRequest = { kind: 'question', question: 'Which?', choices: ['a', 'b'], multiSelect: false }
const approval: PendingRequest = {
  kind: 'approval',
  tool: 'terminal',
  input: '{}',
  risk: 'exec',
  reasons: [],
  hash: 'h',
  since: 1,
}
/** The next case: a call of `delegate_task` waits for its child session. */
const child: PendingRequest = { kind: 'child', workId: 'ses_child' }

/** A turn whose calls c0, c1 … wait for these requests. */
function turnWaitingFor(...requests: readonly PendingRequest[]): Turn {
  const calls = requests.map((awaits, n) => ({
    id: `c${n}`,
    name: 'tool',
    input: {},
    effect: 'keyed' as const,
    state: 'away' as const,
    awaits,
  }))
  return { ...newTurn('run_1', 10, 0), stage: { at: 'tools', calls } }
}

const sessionWith = (turn: Turn) =>
  ({ sessionId: 'ses_1', store: { current: () => turn, lastMessageSeq: () => 7 } }) as unknown as TurnSession

describe('the pending requests of a turn', () => {
  it('carry ids that name session, run, step and call', () => {
    expect(pendingRequests(sessionWith(turnWaitingFor(child)))).toEqual([
      {
        kind: 'child',
        workId: 'ses_child',
        id: 'ses_1.run_1.7.c0',
        session_id: 'ses_1',
        run_id: 'run_1',
        call_id: 'c0',
      },
    ])
  })

  it('are found by the id without the session', () => {
    const session = sessionWith(turnWaitingFor(question, child))
    expect(findPending(session, 'run_1.7.c1')).toMatchObject({ kind: 'child' })
    expect(findPending(session, 'run_1.6.c1')).toBeUndefined()
  })

  it('list only requests that wait for a person', () => {
    const shown = personRequests(sessionWith(turnWaitingFor(question, child, approval)))
    expect(shown.map(({ kind }) => kind)).toEqual(['question', 'approval'])
  })
})

describe('a turn that waits', () => {
  it.each([
    ['for a child is suspended, but nobody has to act', [child], true, false],
    [
      'for a job or a process as well',
      [
        { kind: 'job', workId: 'j' },
        { kind: 'process', workId: 'p' },
      ],
      true,
      false,
    ],
    ['for a question waits for a person', [question], true, true],
    ['for a child and an approval waits for a person', [child, approval], true, true],
  ] as const)('%s', (_case, requests, suspended, waiting) => {
    const { stage } = turnWaitingFor(...requests)
    expect(isSuspended(stage)).toBe(suspended)
    expect(isWaitingForCaller(stage)).toBe(waiting)
  })

  it('is driven on while another call of the batch runs', () => {
    const { stage } = turnWaitingFor(child)
    if (stage.at !== 'tools') throw new Error('The turn runs tools.')
    const running = { id: 'c9', name: 'tool', input: {}, effect: 'pure', state: 'running', since: 1 } as const
    expect(isSuspended({ ...stage, calls: [...stage.calls, running] })).toBe(false)
  })
})
