/** Tests how messages and events become blocks: which there are, with which keys, and how stored and live ones join. */

import { describe, expect, it } from 'vitest'
import { arrangeBlocks } from '../../web/model/arrange-blocks.ts'
import { type Block, joinBlocks, keyOf, parse, stateOf, textOf, toBlocks } from '../../web/model/blocks.ts'
import { appendDelta, dropAfter, updateTool } from '../../web/model/live-blocks.ts'
import type { Approval, Message, Question } from '../../web/model/types.ts'

const at = '2026-11-22T10:00:00Z'
const message = (seq: number, role: Message['role'], fields: Partial<Message> = {}): Message => ({
  id: `m${seq}`,
  seq,
  run_id: 'r',
  role,
  content: '',
  created_at: at,
  compacted: false,
  ...fields,
})
const call = (id: string, name: string, input: unknown) => ({
  id,
  type: 'function' as const,
  function: { name, arguments: typeof input === 'string' ? input : JSON.stringify(input) },
})
const result = (seq: number, id: string, content: string) => message(seq, 'tool', { tool_call_id: id, content })

type Seen = Readonly<Record<string, unknown>>
const seen = (messages: readonly Message[]): readonly Seen[] => toBlocks(messages) as readonly Seen[]

describe('a stored message', () => {
  it.each<[string, Message, readonly Seen[]]>([
    ['of a person', message(1, 'user', { content: 'Hi' }), [{ kind: 'user', key: '1', text: 'Hi', state: 'stored' }]],
    [
      'with pictures',
      message(1, 'user', {
        content: [
          { type: 'text', text: 'See' },
          { type: 'image_url', image_url: { url: '/api/a.png' } },
          { type: 'text', text: 'this' },
        ],
      }),
      [{ kind: 'user', text: 'See\nthis', images: ['/api/a.png'] }],
    ],
    [
      'of the system',
      message(1, 'user', { content: 'Job done', source: 'cron' }),
      [{ kind: 'notice', text: 'Job done', source: 'cron' }],
    ],
    [
      'of the model, with thoughts',
      message(2, 'assistant', { content: 'Yes', reasoning: 'hm' }),
      [
        { kind: 'thinking', key: 'r.2.thinking', text: 'hm', marks: [] },
        { kind: 'text', key: 'r.2.text', text: 'Yes', marks: [] },
      ],
    ],
    ['without a word', message(2, 'assistant', { content: null }), []],
    [
      'that calls a tool',
      message(2, 'assistant', { content: null, tool_calls: [call('c', 'terminal', { command: 'ls' })] }),
      [
        {
          kind: 'tool',
          key: 'r.2.c',
          callId: 'c',
          step: 2,
          tool: 'terminal',
          input: { command: 'ls' },
          state: 'running',
        },
      ],
    ],
    [
      'that calls a tool under no id, with an input that is no JSON',
      message(2, 'assistant', { content: null, tool_calls: [call('', 'terminal', '{"comm')] }),
      [{ kind: 'tool', key: 'r.2.0', callId: '', input: '{"comm' }],
    ],
    ['of a tool', result(3, 'c', '{}'), []],
  ])('%s', (_name, one, blocks) => expect(seen([one])).toMatchObject(blocks))

  it.each([
    ['{"exit_code":0}', 'done'],
    ['words', 'done'],
    ['{"error":""}', 'done'],
    ['{"error":"No such file"}', 'failed'],
    ['{"success":false}', 'failed'],
    ['{"success":true}', 'done'],
    ['{"error":"No","status":"denied"}', 'denied'],
    ['{"error":"No","status":"refused"}', 'denied'],
    ['null', 'done'],
    ['[]', 'done'],
  ])('with the result %s is %s', (content, state) => {
    const asked = message(2, 'assistant', { tool_calls: [call('c', 'terminal', {})] })
    expect(seen([asked, result(3, 'c', content)])).toMatchObject([{ kind: 'tool', state, result: content }])
  })

  it('has the result of its own run, when another run uses the same id', () => {
    const asked = [1, 2].map((seq) =>
      message(seq, 'assistant', { run_id: `r${seq}`, tool_calls: [call('c', 'terminal', {})] }),
    )
    const answered = message(3, 'tool', { run_id: 'r2', tool_call_id: 'c', content: 'two' })
    expect(seen([...asked, answered])).toMatchObject([{ state: 'running' }, { state: 'done', result: 'two' }])
  })

  it('has the time of its call, by the key of its block', () => {
    const asked = message(2, 'assistant', { tool_calls: [call('c', 'terminal', {}), call('d', 'terminal', {})] })
    expect(toBlocks([asked], { [keyOf('r', 2, 'd')]: { ms: 7 } }).map((block) => 'ms' in block && block.ms)).toEqual([
      false,
      7,
    ])
  })

  it('names the subagents of its result, with their goals', () => {
    const input = { tasks: [{ goal: 'one' }, { goal: 'two' }] }
    const results = [
      { subagent_id: 'a', status: 'completed', task_index: 1 },
      { status: 'failed', task_index: 0 },
      { subagent_id: 'b', status: 'failed', task_index: 9 },
    ]
    const asked = message(2, 'assistant', { tool_calls: [call('c', 'delegate_task', input)] })
    expect(seen([asked, result(3, 'c', JSON.stringify({ results }))])).toMatchObject([
      {
        subagents: [
          { session: 'a', goal: 'two', state: 'completed' },
          { session: 'b', goal: '', state: 'failed' },
        ],
      },
    ])
  })
})

it.each([
  ['{"a":1}', { a: 1 }],
  ['1', 1],
  ['', ''],
  ['{"a"', '{"a"'],
])('parse(%j) is %j', (text, value) => expect(parse(text)).toEqual(value))

it.each<[Message['content'], string]>([
  [null, ''],
  ['a', 'a'],
  [[], ''],
  [[{ type: 'image_url', image_url: { url: 'x' } }], ''],
])('the text of %j is %j', (content, text) => expect(textOf({ content })).toBe(text))

it('a denial is read from the beginning of a result alone', () => {
  const denied = '"status":"denied"'
  expect(stateOf(`${' '.repeat(1_900)}${denied}`, true)).toBe('denied')
  expect(stateOf(`${' '.repeat(2_000)}${denied}`, true)).toBe('failed')
  expect(stateOf(denied, false)).toBe('done')
})

const tool = (fields: object): Block =>
  ({
    kind: 'tool',
    key: 'k',
    runId: 'r',
    callId: 'c',
    step: 2,
    tool: 'terminal',
    input: {},
    state: 'running',
    progress: '',
    ...fields,
  }) as Block

describe('stored and live blocks', () => {
  const live = tool({ progress: 'half' })
  it.each<[string, Block, readonly Block[]]>([
    ['a live card takes the place of a call without a result', tool({}), [live]],
    [
      'a result takes the place of the live card',
      tool({ result: 'x', state: 'done' }),
      [tool({ result: 'x', state: 'done' })],
    ],
    ['another step stays', tool({ step: 1, result: 'x' }), [tool({ step: 1, result: 'x' }), live]],
    ['another run stays', tool({ runId: 'q' }), [tool({ runId: 'q' }), live]],
    ['another call stays', tool({ callId: 'd' }), [tool({ callId: 'd' }), live]],
  ])('%s', (_name, stored, joined) => expect(joinBlocks([stored], [live])).toEqual(joined))
})

describe('a delta', () => {
  const delta = (seq: number, text: string, step?: number) =>
    ({
      type: 'message.delta',
      seq,
      at,
      run_id: 'r',
      session_id: 's',
      delta: text,
      ...(step !== undefined && { step }),
    }) as const

  it.each<[string, readonly ReturnType<typeof delta>[], readonly string[]]>([
    ['continues the block of its step', [delta(1, 'a', 2), delta(2, 'b', 2)], ['ab']],
    ['of another step begins one', [delta(1, 'a', 2), delta(2, 'b', 3)], ['a', 'b']],
    ['continues its block behind a later one', [delta(1, 'a', 2), delta(2, 'b', 3), delta(3, 'c', 2)], ['ac', 'b']],
    ['without a step continues the last block', [delta(1, 'a'), delta(2, 'b')], ['ab']],
  ])('%s', (_name, deltas, texts) => {
    const blocks = deltas.reduce<readonly Block[]>((all, one) => appendDelta(all, 'text', one), [])
    expect(blocks.map((block) => 'text' in block && block.text)).toEqual(texts)
  })

  it.each([
    [0, []],
    [1, ['a']],
    [2, ['ab']],
    [9, ['abc']],
  ])('after the event %i is dropped with an attempt', (from, texts) => {
    const blocks = [1, 2, 3].reduce<readonly Block[]>(
      (all, seq) => appendDelta(all, 'text', delta(seq, ' abc'[seq] ?? '', 2)),
      [],
    )
    expect(dropAfter(blocks, 'r', from).map((block) => 'text' in block && block.text)).toEqual(texts)
    expect(dropAfter(blocks, 'another run', from)).toEqual(blocks)
  })
})

describe('the card of a call', () => {
  const asked = { call_id: 'c', tool: 'terminal', run_id: 'r', seq: 5, step: 2 }
  const note = (block: Extract<Block, { kind: 'tool' }>) => ({ ...block, progress: `${block.progress}+` })

  it.each<[string, readonly Block[], readonly string[]]>([
    ['is made when there is none', [], ['+']],
    ['is the one of its step', [tool({ step: 1 }), tool({})], ['', '+']],
    ['is the one without a step', [tool({ step: undefined })], ['+']],
    ['is not the one of another run', [tool({ runId: 'q' })], ['', '+']],
    ['is the last of the same', [tool({ key: 'a' }), tool({ key: 'b' })], ['', '+']],
  ])('%s', (_name, before, progress) =>
    expect(updateTool(before, asked, note).map((block) => 'progress' in block && block.progress)).toEqual(progress),
  )

  it('has a key by its event when no step is known', () => {
    const { step: _step, ...early } = asked
    expect(updateTool([], early, note)).toMatchObject([{ key: 'r.-5.c', state: 'running' }])
  })
})

describe('the list', () => {
  const nothing = { approvals: [], questions: [] }
  const subagent = (goal: string, runId = 'r') =>
    ({ kind: 'subagent', key: goal, runId, session: goal, goal, state: 'running' }) as Block
  const delegation = (key: string, input: unknown) => tool({ key, callId: key, tool: 'delegate_task', input })
  const shape = (blocks: readonly Block[]) =>
    arrangeBlocks(blocks, nothing).flatMap((block) =>
      block.kind === 'calls'
        ? block.items.map((one) => [
            one.key,
            ...('subagents' in one ? (one.subagents ?? []) : []).map(({ goal }) => goal),
          ])
        : [block.kind],
    )

  it.each<[string, readonly Block[], readonly unknown[]]>([
    ['has no cards: a subagent stays a block', [subagent('a')], ['subagent']],
    ['nests it in its call', [delegation('k', { goal: 'a' }), subagent('a')], [['k', 'a']]],
    [
      'finds the call by the goal',
      [delegation('k', { goal: 'a' }), delegation('l', { goal: 'b' }), subagent('a')],
      [['k', 'a'], ['l']],
    ],
    [
      'takes the last call for an unknown goal',
      [delegation('k', { goal: 'a' }), delegation('l', {}), subagent('x')],
      [['k'], ['l', 'x']],
    ],
    [
      'does not nest it in the call of another run',
      [delegation('k', { goal: 'a' }), subagent('a', 'q')],
      [['k'], 'subagent'],
    ],
    ['does not nest it in a later call', [subagent('a'), delegation('k', { goal: 'a' })], ['subagent', ['k']]],
  ])('%s', (_name, blocks, shown) => expect(shape(blocks)).toEqual(shown))

  const approval = { run_id: 'r', call_id: 'c' } as Approval
  const question = { run_id: 'r' } as Question
  it.each<[string, Block, object, string | undefined]>([
    ['an approval', tool({}), { approvals: [approval] }, undefined],
    ['the approval of another call', tool({}), { approvals: [{ ...approval, call_id: 'd' }] }, 'running'],
    ['the approval of another run', tool({}), { approvals: [{ ...approval, run_id: 'q' }] }, 'running'],
    ['a question', tool({ tool: 'clarify' }), { questions: [question] }, undefined],
    ['a question beside another tool', tool({}), { questions: [question] }, 'running'],
    ['an approval that is decided already', tool({ state: 'done' }), { approvals: [approval] }, 'done'],
  ])('leaves a call to its card, once: %s', (_name, card, pending, state) => {
    const items = arrangeBlocks([card], { ...nothing, ...pending }).flatMap((one) =>
      one.kind === 'calls' ? one.items : [],
    )
    expect(items.map((one) => 'state' in one && one.state)).toEqual(state === undefined ? [] : [state])
  })

  const thought = (key: string) => ({ kind: 'thinking', key, runId: 'r', text: key, marks: [] }) as Block
  const said = { kind: 'text', key: 'said', runId: 'r', text: 'x', marks: [] } as Block
  it.each<[string, readonly Block[], readonly string[]]>([
    ['25 calls', Array.from({ length: 25 }, (_, at) => tool({ key: `${at}` })), ['25']],
    ['calls around words', [tool({ key: 'a' }), said, tool({ key: 'b' })], ['1', 'text', '1']],
    ['thoughts between calls', [thought('t'), tool({ key: 'a' }), thought('u'), tool({ key: 'b' })], ['thinking', '3']],
    ['a thought after the last call', [tool({ key: 'a' }), thought('t'), said], ['1', 'thinking', 'text']],
    ['calls of two runs', [tool({ key: 'a' }), tool({ key: 'b', runId: 'q' })], ['1', '1']],
  ])('has one line for %s', (_name, blocks, shown) => {
    const kinds = arrangeBlocks(blocks, nothing).map((one) => (one.kind === 'calls' ? `${one.items.length}` : one.kind))
    expect(kinds).toEqual(shown)
  })

  it('keeps a group of the same calls', () => {
    const calls = [tool({ key: 'a' }), tool({ key: 'b' })]
    expect(arrangeBlocks([...calls, said], nothing)[0]).toBe(arrangeBlocks(calls, nothing)[0])
  })
})

describe('a message that steered while tools ran', () => {
  const said = (text: string) => `[The user said, while this ran: ${text}]`
  const turn = (content: Message['content']) => [
    message(1, 'user', { content: 'Go' }),
    message(2, 'assistant', { content: null, tool_calls: [call('c', 'terminal', { command: 'ls' })] }),
    message(3, 'tool', { tool_call_id: 'c', content }),
    message(4, 'assistant', { content: 'Done' }),
  ]
  const shown = (content: Message['content']) =>
    toBlocks(turn(content)).map((block) =>
      block.kind === 'tool' ? ['tool', block.result] : [block.kind, 'text' in block ? block.text : ''],
    )

  it.each<[string, Message['content'], string, string]>([
    ['JSON', `{"output":"a"}${said('be quick')}`, '{"output":"a"}', 'be quick'],
    ['JSON and a line break', `{"output":"a"}\n${said('be [quick]')}`, '{"output":"a"}', 'be [quick]'],
    ['JSON that quotes it', `{"output":"${said('no')}"}${said('a\nb')}`, `{"output":"${said('no')}"}`, 'a\nb'],
    ['a message that quotes it', `{}${said(`x ${said('y')}`)}`, '{}', `x ${said('y')}`],
    [
      'a fence',
      `<untrusted-ab12 source="x">\nhi\n</untrusted-ab12>${said('on')}`,
      '<untrusted-ab12 source="x">\nhi\n</untrusted-ab12>',
      'on',
    ],
    [
      'a picture',
      [
        { type: 'image_url', image_url: { url: '/a.png' } },
        { type: 'text', text: said('on') },
      ],
      '',
      'on',
    ],
  ])('stands behind the result: %s', (_what, content, result, text) =>
    expect(shown(content)).toEqual([
      ['user', 'Go'],
      ['tool', result],
      ['user', text],
      ['text', 'Done'],
    ]),
  )

  it.each([`{"output":"${said('no')}"}`, `plain ${said('no')}`, said('no'), `[1]x${said('no')}`])(
    'is none in a result that a tool has read: %s',
    (content) =>
      expect(shown(content)).toEqual([
        ['user', 'Go'],
        ['tool', content],
        ['text', 'Done'],
      ]),
  )

  it('names what was attached as a file', () => {
    const blocks = toBlocks(turn(`{}${said('see [Attached file: uploads/a.txt (text/plain)]')}`))
    expect(blocks[2]).toMatchObject({ kind: 'user', state: 'sent', key: 'r.3.steered' })
    expect(JSON.stringify(blocks[2])).toContain('uploads/a.txt')
  })

  it('is not shown twice while an event shows it too', () => {
    const stored = toBlocks(turn(`{}${said('one\ntwo')}`))
    const live = (text: string, runId = 'r'): Block => ({
      kind: 'user',
      key: `steer-${text}`,
      runId,
      text,
      images: [],
      state: 'sent',
    })
    const kept = joinBlocks(stored, [live('two'), live('tw'), live('two', 'other')]).slice(stored.length)
    expect(kept.map(({ key, runId }) => `${key} ${runId}`)).toEqual(['steer-tw r', 'steer-two other'])
  })
})
