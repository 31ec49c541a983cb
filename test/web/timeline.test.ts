/** Tests the reducer of the chat: events and history in any order show every word once. */

import { describe, expect, it } from 'vitest'
import { arrangeBlocks } from '../../web/model/arrange-blocks.ts'
import { type Block, joinBlocks, type ToolBlock, toBlocks } from '../../web/model/blocks.ts'
import {
  addMessages,
  addSent,
  confirmSent,
  dropSending,
  emptyTimeline,
  failSent,
  isUnsent,
  isUnread,
  reduce,
  restoreUnread,
  type Timeline,
} from '../../web/model/timeline.ts'
import { readPlan, targetOf } from '../../web/model/tools.ts'
import type { Message, SessionEvent } from '../../web/model/types.ts'

let seq = 0
const event = (type: SessionEvent['type'], fields: object = {}): SessionEvent =>
  ({
    type,
    seq: ++seq,
    at: '2026-11-22T10:00:00Z',
    run_id: 'run1',
    session_id: 's',
    ...fields,
  }) as unknown as SessionEvent
const message = (number: number, role: Message['role'], fields: object = {}): Message => ({
  id: `m${number}`,
  seq: number,
  run_id: 'run1',
  role,
  content: '',
  created_at: '2026-11-22T10:00:00Z',
  compacted: false,
  ...fields,
})
const run = (events: readonly SessionEvent[], from: Timeline = emptyTimeline) => events.reduce(reduce, from)
const shown = (timeline: Timeline) => joinBlocks(toBlocks(timeline.messages), timeline.live)
const words = (timeline: Timeline) =>
  shown(timeline).map((block: Block) =>
    block.kind === 'tool' ? `${block.tool}:${block.state}` : 'text' in block ? block.text : block.kind,
  )

const answer = [
  event('run.started', { input: 'Hi' }),
  event('reasoning.delta', { delta: 'hm', step: 2 }),
  event('message.delta', { delta: 'Hel', step: 2 }),
  event('message.delta', { delta: 'lo', step: 2 }),
]

describe('a run', () => {
  it('shows what was asked, thought, said and called, in this order', () => {
    const timeline = run([
      ...answer,
      event('tool.started', { call_id: 'c', tool: 'terminal', step: 2, input: { command: 'ls' } }),
      event('tool.progress', { call_id: 'c', tool: 'terminal', step: 2, delta: 'a.txt' }),
      event('tool.completed', {
        call_id: 'c',
        tool: 'terminal',
        step: 2,
        failed: false,
        duration_ms: 3,
        preview: 'a.txt',
      }),
      event('message.delta', { delta: 'Done', step: 4 }),
    ])
    expect(words(timeline)).toEqual(['Hi', 'hm', 'Hello', 'terminal:done', 'Done'])
    expect(timeline.run).toBe('run1')
  })

  it('is replaced by its messages at the end, each word once', () => {
    const stored = [
      message(1, 'user', { content: 'Hi' }),
      message(2, 'assistant', { content: 'Hello', reasoning: 'hm' }),
    ]
    const ended = run([...answer, event('run.completed', { output: 'Hello' })])
    expect(words(ended)).toEqual(['Hi', 'hm', 'Hello'])
    expect(words(addMessages(ended, stored, 'run1'))).toEqual(['Hi', 'hm', 'Hello'])
    expect(ended.run).toBeUndefined()
    // Elements keep their keys, so that selections and open cards stay.
    const keys = (timeline: Timeline) => shown(timeline).map(({ key }) => key)
    expect(keys(addMessages(ended, stored, 'run1')).slice(1)).toEqual(keys(ended).slice(1))
  })

  it('shows a reply once whose message came before its deltas', () => {
    const stored = [message(1, 'user', { content: 'Hi' }), message(2, 'assistant', { content: 'Hello' })]
    expect(words(run(answer, addMessages(emptyTimeline, stored)))).toEqual(['Hi', 'Hello'])
  })

  it('drops the words of an attempt that was given up', () => {
    const [started, , first, second] = answer
    const timeline = run([started, first, second].flatMap((one) => one ?? []))
    const kept = run(
      [event('turn.restarted', { from_seq: first?.seq, reason: 'x' }), event('message.delta', { delta: 'y', step: 2 })],
      timeline,
    )
    expect(words(kept)).toEqual(['Hi', 'Hely'])
    expect(words(run([event('turn.restarted', { from_seq: 0, reason: 'x' })], timeline))).toEqual(['Hi'])
  })

  it('keeps calls apart that have the same id in different steps', () => {
    const timeline = run([
      event('tool.started', { call_id: 'c', tool: 'a', step: 2, input: {} }),
      event('tool.completed', { call_id: 'c', tool: 'a', step: 2, failed: true, duration_ms: 1, preview: '' }),
      event('tool.started', { call_id: 'c', tool: 'b', step: 4, input: {} }),
    ])
    expect(words(timeline)).toEqual(['a:failed', 'b:running'])
  })

  it('shows a stored call without a result by its events', () => {
    const call = { id: 'c', function: { name: 'terminal', arguments: '{"command":"ls"}' } }
    const open = addMessages(emptyTimeline, [
      message(1, 'user', { content: 'Hi' }),
      message(2, 'assistant', { tool_calls: [call] }),
    ])
    expect(words(open)).toEqual(['Hi', 'terminal:running'])
    const done = run(
      [
        event('tool.completed', {
          call_id: 'c',
          tool: 'terminal',
          step: 2,
          failed: false,
          duration_ms: 1,
          preview: 'x',
        }),
      ],
      open,
    )
    expect(words(done)).toEqual(['Hi', 'terminal:done'])
    expect(words(addMessages(done, [message(3, 'tool', { tool_call_id: 'c', content: '{"error":"no"}' })]))).toEqual([
      'Hi',
      'terminal:failed',
    ])
  })
})

describe('what a person sends', () => {
  it('stands once, whether the answer or the event comes first', () => {
    const sent = addSent(emptyTimeline, { key: 'k', text: 'Hi' })
    const answered = confirmSent(sent, 'k', { runId: 'run1' })
    expect(words(run([event('run.started', { input: 'Hi' })], answered))).toEqual(['Hi'])
    const started = run([event('run.started', { input: 'Hi' })], sent)
    expect(words(confirmSent(started, 'k', { runId: 'run1' }))).toEqual(['Hi'])
  })

  it('leaves the list of queued messages when its run begins or is taken back', () => {
    const queued = run([event('run.queued', { run_id: 'run2', input: 'Next' })])
    expect(queued.queued).toEqual([{ runId: 'run2', text: 'Next' }])
    const sent = addSent(queued, { key: 'k', text: 'Next' })
    expect(words(confirmSent(sent, 'k', { runId: 'run2' }))).toEqual([])
    expect(run([event('run.started', { run_id: 'run2', input: 'Next' })], queued).queued).toEqual([])
    expect(run([event('run.dequeued', { run_id: 'run2' })], queued).queued).toEqual([])
  })

  it('is shown once when the events of its run come before the answer to its request', () => {
    const sending = addSent(emptyTimeline, { key: 'k', text: 'Hi' })
    const begun = run(answer.slice(0, 1), sending)
    expect(words(begun)).toEqual(['Hi'])
    expect(words(failSent(begun, 'k'))).toEqual(['Hi'])
    expect([dropSending(begun, 'k'), dropSending(sending, 'k')].map(words)).toEqual([['Hi'], []])
    const stored = addMessages(run(answer, begun), [message(1, 'user', { content: 'Hi' })], 'run1')
    expect(words(stored)).toEqual(['Hi'])
    expect(words(confirmSent(stored, 'k', { runId: 'run1' }))).toEqual(['Hi'])
    const queued = run([event('run.queued', { run_id: 'run2', input: 'Hi' })], sending)
    expect([words(queued), queued.queued.length]).toEqual([[], 1])
  })

  it('joins the run that it steers, once, and the answer goes on in one block', () => {
    const sending = addSent(run(answer), { key: 'k', text: 'Shorter' })
    const joining = confirmSent(sending, 'k', { runId: 'run1', isJoined: true })
    const more = event('message.delta', { delta: ' you', step: 2 })
    const steered = event('run.steered', { input: 'Shorter', mode: 'steer', request_id: 'run9' })
    expect(words(run([more, steered], joining))).toEqual(['Hi', 'hm', 'Hello you', 'Shorter'])
    const early = confirmSent(run([more, steered], sending), 'k', { runId: 'run1', isJoined: true })
    expect(words(early)).toEqual(['Hi', 'hm', 'Hello you', 'Shorter'])
    expect(words(run([steered], run(answer)))).toEqual(['Hi', 'hm', 'Hello', 'Shorter'])
  })

  it('ends without a message that was to steer it, which stays until it is sent again', () => {
    const sending = addSent(run(answer), { key: 'k', text: 'Shorter' })
    const joining = confirmSent(sending, 'k', { runId: 'run1', isJoined: true })
    const cancelled = event('run.cancelled')
    const stored = [message(1, 'user', { content: 'Hi' }), message(2, 'assistant', { content: 'Hello' })]
    const unsent = (timeline: Timeline) =>
      shown(timeline).flatMap((block) => (isUnsent(block) && 'text' in block ? [block.text] : []))
    const ended = addMessages(run([cancelled], joining), stored, 'run1')
    expect([words(ended), unsent(ended)]).toEqual([['Hi', 'Hello', 'Shorter'], ['Shorter']])
    const late = confirmSent(addMessages(run([cancelled], sending), stored, 'run1'), 'k', {
      runId: 'run1',
      isJoined: true,
    })
    expect([words(late), unsent(late)]).toEqual([['Hi', 'Hello', 'Shorter'], ['Shorter']])
    expect(unsent(addMessages(ended, [], 'run1'))).toEqual(['Shorter'])
    const result = message(3, 'tool', { content: 'a.txt\n[The user said, while this ran: Shorter]' })
    expect(unsent(addMessages(run([cancelled], joining), [...stored, result], 'run1'))).toEqual([])
  })

  it('shows after a reload what was kept of unsent and unread messages', () => {
    const sending = addSent(run(answer), { key: 'k', text: 'Shorter' })
    const joining = confirmSent(sending, 'k', { runId: 'run1', isJoined: true })
    const failed = failSent(addSent(joining, { key: 'f', text: 'Refused' }), 'f')
    const kept = failed.live.filter(isUnread)
    expect(kept.map(({ state }) => state)).toEqual(['joining', 'failed'])
    const stored = [message(1, 'user', { content: 'Hi' }), message(2, 'assistant', { content: 'Hello' })]
    const read = message(3, 'tool', { content: '[The user said, while this ran: Shorter]' })
    const states = (timeline: Timeline) =>
      restoreUnread(timeline, kept).live.map((block) => (block.kind === 'user' ? `${block.text}: ${block.state}` : ''))
    const opened = addMessages(emptyTimeline, stored)
    expect(states(opened)).toEqual(['Shorter: missed', 'Refused: failed'])
    expect(states({ ...opened, run: 'run1' })).toEqual(['Shorter: joining', 'Refused: failed'])
    expect(states(addMessages(opened, [read]))).toEqual(['Refused: failed'])
    expect(states(emptyTimeline)).toEqual(['Refused: failed'])
  })

  it('shows all of a long message that steers it', () => {
    const long = 'x'.repeat(3_000)
    const joining = confirmSent(addSent(run(answer), { key: 'k', text: long }), 'k', { runId: 'run1', isJoined: true })
    const steered = event('run.steered', { input: long.slice(0, 2_000), mode: 'steer' })
    expect(words(run([steered], joining))).toEqual(['Hi', 'hm', 'Hello', long])
  })
})

/** Alone, or in the line of their group. */
const callsOf = (blocks: readonly Block[]): readonly ToolBlock[] =>
  blocks
    .flatMap((one): readonly Block[] => (one.kind === 'calls' ? one.items : [one]))
    .filter((one): one is ToolBlock => one.kind === 'tool')

describe('cards of calls', () => {
  const call = (name: string, input: object) => ({ id: 'c', function: { name, arguments: JSON.stringify(input) } })
  const stored = (name: string, input: object, result: object) =>
    toBlocks([
      message(2, 'assistant', { tool_calls: [call(name, input)] }),
      message(3, 'tool', { tool_call_id: 'c', content: JSON.stringify(result) }),
    ])
  const completed = { call_id: 'c', tool: 'terminal', step: 2, failed: false, duration_ms: 70, preview: '{}' }

  it('keep the time of a call when its message takes their place', () => {
    const ended = run([event('tool.started', { ...completed, input: {} }), event('tool.completed', completed)])
    const { messages, watched } = addMessages(
      ended,
      [
        message(2, 'assistant', { tool_calls: [call('terminal', {})] }),
        message(3, 'tool', { tool_call_id: 'c', content: '{}' }),
      ],
      'run1',
    )
    expect(toBlocks(messages, watched)).toMatchObject([{ kind: 'tool', ms: 70 }])
  })

  it('keep the colours of their output, and the time that a question took, when the run ends', () => {
    const asked = { ...completed, call_id: 'q', tool: 'clarify', duration_ms: 0 }
    const ended = run([
      event('tool.started', { ...completed, input: {} }),
      event('tool.progress', { ...completed, delta: '\u001B[31mred\u001B[0m\n' }),
      event('tool.completed', completed),
      event('tool.started', { ...asked, input: {} }),
      event('tool.completed', { ...asked, at: '2026-11-22T10:00:09Z' }),
    ])
    const calls = [call('terminal', {}), { ...call('clarify', {}), id: 'q' }]
    const { messages, watched } = addMessages(
      ended,
      [
        message(2, 'assistant', { tool_calls: calls }),
        message(3, 'tool', { tool_call_id: 'c', content: '{"output":"red"}' }),
        message(4, 'tool', { tool_call_id: 'q', content: '{}' }),
      ],
      'run1',
    )
    expect(toBlocks(messages, watched)).toMatchObject([
      { tool: 'terminal', ms: 70, progress: '\u001B[31mred\u001B[0m\n' },
      { tool: 'clarify', ms: 9_000 },
    ])
  })

  it('tell a call that was not allowed from one that has failed', () => {
    const denied = { output: '', exit_code: -1, status: 'denied', error: 'The user did not allow this.' }
    const live = event('tool.completed', { ...completed, failed: true, preview: JSON.stringify(denied) })
    expect(words(run([live]))).toEqual(['terminal:denied'])
    expect(stored('terminal', {}, denied)).toMatchObject([{ state: 'denied' }])
    expect(stored('terminal', {}, { error: 'no such file' })).toMatchObject([{ state: 'failed' }])
    expect(stored('terminal', {}, { output: '"status":"denied"' })).toMatchObject([{ state: 'done' }])
  })

  it('are left to the card that asks a person, also after a reload', () => {
    const approval = { id: 'a', run_id: 'run1', call_id: 'c' } as Timeline['approvals'][number]
    const question = { id: 'q', run_id: 'run1' } as Timeline['questions'][number]
    const blocks = (name: string) => toBlocks([message(2, 'assistant', { tool_calls: [call(name, {})] })])
    const states = (name: string, pending: Partial<Timeline>) =>
      callsOf(arrangeBlocks(blocks(name), { ...emptyTimeline, ...pending })).map(({ state }) => state)
    expect(states('terminal', { approvals: [approval] })).toEqual([])
    expect(states('clarify', { questions: [question] })).toEqual([])
    expect(states('terminal', { questions: [question] })).toEqual(['running'])
    expect(states('clarify', {})).toEqual(['running'])
  })

  it('lead to the subagents of their call, while they run and from the result', () => {
    const tasks = { tasks: [{ goal: 'one' }, { goal: 'two' }] }
    const live = run([
      event('tool.started', { call_id: 'c', tool: 'delegate_task', step: 2, input: tasks }),
      event('subagent.start', { subagent_id: 's1', goal: 'one', task_index: 0 }),
      event('subagent.start', { subagent_id: 's2', goal: 'two', task_index: 1 }),
      event('subagent.complete', { subagent_id: 's1', status: 'completed', summary: 'x' }),
    ])
    const result = {
      results: [
        { task_index: 0, subagent_id: 's1', status: 'completed' },
        { task_index: 1, subagent_id: 's2', status: 'failed' },
      ],
    }
    const found = [arrangeBlocks(shown(live), live), stored('delegate_task', tasks, result)].map((blocks) =>
      callsOf(blocks).map(({ subagents }) => subagents?.map(({ session, goal, state }) => [session, goal, state])),
    )
    expect(found).toEqual([
      [
        [
          ['s1', 'one', 'completed'],
          ['s2', 'two', 'running'],
        ],
      ],
      [
        [
          ['s1', 'one', 'completed'],
          ['s2', 'two', 'failed'],
        ],
      ],
    ])
    const orphan = run([event('subagent.start', { subagent_id: 's1', goal: 'one', task_index: 0 })])
    expect(arrangeBlocks(shown(orphan), orphan)).toMatchObject([{ kind: 'subagent', session: 's1' }])
  })

  it('show how far a plan is', () => {
    const todos = [
      { id: '1', content: 'Read', status: 'completed' },
      { id: '2', content: 'Write', status: 'in_progress' },
    ]
    expect(targetOf('todo', { todos })).toBe('1/2 · Write')
    expect(targetOf('todo', { merge: true, todos: todos.slice(1) }, { todos })).toBe('1/2 · Write')
    expect(readPlan({}, { error: 'too many' })).toBeUndefined()
  })
})

describe('what waits for a person', () => {
  it('comes with its event, and goes when it is decided anywhere', () => {
    const asked = run([
      event('approval.request', {
        approval_id: 'a',
        call_id: 'c',
        tool: 'terminal',
        input: {},
        risk: 'high',
        reasons: [],
        choices: ['once'],
      }),
      event('question.request', { question_id: 'q', question: 'Which?', choices: [], multi_select: false }),
    ])
    expect([asked.approvals.length, asked.questions.length]).toEqual([1, 1])
    const decided = run(
      [
        event('approval.responded', { approval_id: 'a', decision: 'allow' }),
        event('question.answered', { question_id: 'q' }),
      ],
      asked,
    )
    expect([decided.approvals.length, decided.questions.length]).toEqual([0, 0])
    const ended = run([event('run.cancelled', {})], asked)
    expect([ended.approvals.length, ended.questions.length, ended.ended?.kind]).toEqual([0, 0, 'cancelled'])
  })
})

it('shows the end of a call that is being written, until it starts', () => {
  const written = run([event('tool.generating', { tool: 'write_file', delta: `${'a'.repeat(500)}end`, chars: 503 })])
  expect(written.status).toMatchObject({ state: 'writing', reason: 'write_file', chars: 503 })
  expect(written.status?.text).toMatch(/^a{157}end$/)
  expect(run([event('tool.started', { call_id: 'c', tool: 'write_file', input: {} })], written).status).toBeUndefined()
})
