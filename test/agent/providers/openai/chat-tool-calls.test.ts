import { describe, expect, it } from 'vitest'
import { callEvent, callFragment, choiceEvent, doneEvent, finish, readStream } from '../support/chat-streams.ts'

const listCalls = async (text: string) =>
  (await readStream(text)).message.content.flatMap((part) =>
    part.type === 'call' ? [`${part.id} ${part.name} ${part.raw ?? JSON.stringify(part.input)}`] : [],
  )

describe('tool calls of a stream', () => {
  const cases: readonly (readonly [string, string, readonly string[]])[] = [
    [
      'can come in mixed fragments with indexes',
      callFragment(0, 'a', '', 'look') +
        callFragment(1, 'b', '{"n"', 'find') +
        callFragment(0, undefined, '{"at":1}') +
        callFragment(1, undefined, ':2}'),
      ['a look {"at":1}', 'b find {"n":2}'],
    ],
    [
      'can come without an index and with an id only in the first fragment',
      callFragment(undefined, 'a', '{"at"', 'look') +
        callFragment(undefined, undefined, ':1}') +
        callFragment(undefined, 'b', '{}', 'find'),
      ['a look {"at":1}', 'b find {}'],
    ],
    [
      'can come without an index and with an id in every fragment',
      callFragment(undefined, 'a', '{"at"', 'look') +
        callFragment(undefined, 'a', ':1}') +
        callFragment(undefined, 'b', '{}', 'find'),
      ['a look {"at":1}', 'b find {}'],
    ],
    [
      'can all have the index 0 and different ids',
      callFragment(0, 'a', '{"at":1}', 'look') + callFragment(0, 'b', '{"at":2}', 'look'),
      ['a look {"at":1}', 'b look {"at":2}'],
    ],
    [
      'can repeat their name in every fragment',
      callFragment(0, 'a', '{"at"', 'look') + callFragment(0, 'a', ':1}', 'look'),
      ['a look {"at":1}'],
    ],
    [
      'can share an id and have different indexes',
      callFragment(0, 'a', '{"at":1}', 'read_file') + callFragment(1, 'a', '{"at":2}', 'terminal'),
      ['a read_file {"at":1}', 'a terminal {"at":2}'],
    ],
    [
      'can share an id and come in mixed fragments with indexes',
      callFragment(0, 'a', '{"at"', 'look') +
        callFragment(1, 'a', '{"at"', 'find') +
        callFragment(0, 'a', ':1}') +
        callFragment(1, 'a', ':2}') +
        callFragment(2, 'b', '{}', 'end'),
      ['a look {"at":1}', 'a find {"at":2}', 'b end {}'],
    ],
    [
      'can be complete without an index and without an id',
      callFragment(undefined, undefined, '{"at":1}', 'look') +
        callFragment(undefined, undefined, '{"at":2}', 'look') +
        callFragment(undefined, undefined, '{}', 'find'),
      [' look {"at":1}', ' look {"at":2}', ' find {}'],
    ],
    [
      'can be complete without an id, all with the index 0',
      callFragment(0, undefined, '{"at":1}', 'look') + callFragment(0, undefined, '{"at":2}', 'find'),
      [' look {"at":1}', ' find {"at":2}'],
    ],
    [
      'can have an object as arguments',
      callEvent({ index: 0, id: 'a', function: { name: 'look', arguments: { at: 1 } } }) +
        callEvent({ function: { name: 'find', arguments: { at: 2 } } }) +
        callEvent({ function: { name: 'find', arguments: {} } }),
      ['a look {"at":1}', ' find {"at":2}', ' find {}'],
    ],
    [
      'can repeat their name when the arguments are not complete yet',
      callFragment(undefined, undefined, '{"at":{}', 'look') + callFragment(undefined, undefined, ',"n":1}', 'look'),
      [' look {"at":{},"n":1}'],
    ],
    [
      'can repeat their name at the end',
      callFragment(0, 'a', '{"at":1}', 'look') + callFragment(0, undefined, '', 'look'),
      ['a look {"at":1}'],
    ],
    [
      'can have a new index for every fragment',
      callFragment(0, 'a', '{"at"', 'look') + callFragment(1, 'a', ':1}'),
      ['a look {"at":1}'],
    ],
    ['can begin with any index', callFragment(1, 'a', '{}', 'look'), ['a look {}']],
    ['can have no arguments', callFragment(0, 'a', '', 'look'), ['a look {}']],
    ['keep invalid JSON as raw text', callFragment(0, 'a', '{"at": "unfin', 'look'), ['a look {"at": "unfin']],
  ]
  it.each(cases)('%s', async (_name, text, expected) => {
    expect(await listCalls(text + finish('tool_calls'))).toEqual(expected)
  })

  it('set the stop reason, whatever the finish reason is', async () => {
    expect((await readStream(callFragment(0, 'a', '{}', 'look') + finish('stop'))).message.stop).toBe('tools')
  })
})

const readEvents = (...events: readonly string[]) => readStream([...events, doneEvent].join(''))

describe('a signature of a tool call', () => {
  it('is sealed with its call', async () => {
    const signature = { google: { thought_signature: 'c2lnbmF0dXJl' } }
    const call = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }
    const { message } = await readEvents(
      choiceEvent({ delta: { tool_calls: [{ index: 0, ...call, extra_content: signature }] } }),
      choiceEvent({ delta: { tool_calls: [{ index: 1, ...call, id: 'c2' }] } }),
      choiceEvent({ delta: {}, finish_reason: 'tool_calls' }),
    )
    expect(message.content).toEqual([
      { type: 'call', id: 'c1', name: 'look', input: {}, sealed: { by: 'openai-chat', data: signature } },
      { type: 'call', id: 'c2', name: 'look', input: {} },
    ])
  })
})
