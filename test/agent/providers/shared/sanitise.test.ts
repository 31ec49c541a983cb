import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { callsIn, type Message, notice, textIn, userText } from '../../../../src/agent/model/message.ts'
import { sanitise } from '../../../../src/agent/providers/shared/sanitise.ts'

const said = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }], stop: 'end' })
const asked = (...ids: string[]): Message => ({
  role: 'assistant',
  content: ids.map((id) => ({ type: 'call', id, name: 'look', input: {} })),
  stop: 'tools',
})
const found = (callId: string, text = 'found'): Message => ({
  role: 'tool',
  callId,
  name: 'look',
  content: [{ type: 'text', text }],
  failed: false,
})
const thought: Message = { role: 'assistant', content: [{ type: 'thinking', text: 'hm' }], stop: 'end' }
const outline = (messages: readonly Message[]) =>
  messages.map((message) => {
    if (message.role === 'tool') return `tool ${message.callId}: ${textIn(message)}`
    const calls = message.role === 'assistant' ? callsIn(message).map(({ id }) => ` →${id}`) : []
    return `${message.role}: ${textIn(message)}${calls.join('')}`
  })

describe('sanitise', () => {
  it('looks for a free id, and for a result, where it is', () => {
    // To try all numbers and all results for each call would take for ever.
    const ids = Array.from({ length: 100_000 }, (_, n) => (n % 2 ? 'same' : `c${n}`))
    const clean = sanitise([userText('a'), asked(...ids), ...ids.map((id, n) => found(id, `${n}`))])
    expect(new Set(callsIn(clean[1] as never).map(({ id }) => id)).size).toBe(100_000)
    expect(outline(clean.slice(-2))).toEqual(['tool c99998: 99998', 'tool same_50000: 99999'])
  })

  const cases: readonly (readonly [string, readonly Message[], readonly string[]])[] = [
    ['leaves what is fine as it is', [userText('a'), said('b')], ['user: a', 'assistant: b']],
    ['joins two users', [userText('a'), userText('b'), said('c')], ['user: a\n\nb', 'assistant: c']],
    ['joins two assistants', [userText('a'), said('b'), said('c')], ['user: a', 'assistant: b\n\nc']],
    ['drops what is empty', [userText('a'), said(' '), userText(''), said('b')], ['user: a', 'assistant: b']],
    ['drops thinking alone', [userText('a'), thought, said('b')], ['user: a', 'assistant: b']],
    ['begins with a user', [said('a'), found('x'), userText('b')], ['user: b']],
    [
      'answers calls that have no result',
      [userText('a'), asked('1', '2'), found('2')],
      ['user: a', 'assistant:  →1 →2', 'tool 1: {"error":"The result of this call was not kept."}', 'tool 2: found'],
    ],
    [
      'drops results that nobody asked for',
      [userText('a'), found('9'), asked('1'), found('1'), found('9'), said('b')],
      ['user: a', 'assistant:  →1', 'tool 1: found', 'assistant: b'],
    ],
    [
      'keeps the first of two results',
      [userText('a'), asked('1'), found('1', 'first'), found('1', 'second')],
      ['user: a', 'assistant:  →1', 'tool 1: first'],
    ],
    [
      'puts results in the order of the calls',
      [userText('a'), asked('1', '2'), found('2', 'two'), found('1', 'one')],
      ['user: a', 'assistant:  →1 →2', 'tool 1: one', 'tool 2: two'],
    ],
    [
      'gives calls of later messages ids of their own, and their results with them',
      [userText('a'), asked('1'), found('1', 'one'), asked('1', '1'), found('1', 'two'), found('1', 'three')],
      ['user: a', 'assistant:  →1', 'tool 1: one', 'assistant:  →1_2 →1_3', 'tool 1_2: two', 'tool 1_3: three'],
    ],
    ['keeps notices', [userText('a'), notice('stopped'), userText('b')], ['user: a', 'assistant: stopped', 'user: b']],
  ]
  it.each(cases)('%s', (_name, transcript, expected) => {
    expect(outline(sanitise(transcript))).toEqual(expected)
  })

  it('passes on the very objects that are fine, so that what is made of them can be kept', () => {
    const transcript = [userText('a'), asked('1'), found('1'), said('b')]
    const clean = sanitise(transcript)
    expect(clean.every((message, i) => message === transcript[i])).toBe(true)
  })

  const id = fc.constantFrom('1', '2', '3', '4')
  const text = fc.constantFrom('', ' ', 'a', 'long text')
  const message: fc.Arbitrary<Message> = fc.oneof(
    text.map((words) => userText(words)),
    text.map(said),
    fc.constant(thought),
    fc.record({ ids: fc.array(id, { minLength: 1, maxLength: 3 }), words: text }).map(({ ids, words }): Message => ({
      role: 'assistant',
      content: [
        { type: 'text', text: words },
        ...ids.map((one) => ({ type: 'call' as const, id: one, name: 'look', input: {} })),
      ],
      stop: 'tools',
    })),
    id.map((one) => found(one)),
  )
  const transcripts = fc.array(message, { maxLength: 25 })

  /** What a provider would refuse. */
  function faults(messages: readonly Message[]): string[] {
    const all = messages.flatMap((one) => (one.role === 'assistant' ? callsIn(one).map((call) => call.id) : []))
    const twice = all.filter((one, i) => all.indexOf(one) !== i).map((one) => `the id ${one} twice`)
    const others = messages.flatMap((one, i) => {
      if (i === 0 && one.role !== 'user' && messages.some(({ role }) => role === 'user'))
        return ['does not begin with a user']
      if (one.role !== 'tool' && one.role === messages[i - 1]?.role) return [`two of ${one.role} in a row`]
      if (one.role !== 'assistant') return []
      const ids = callsIn(one).map((call) => call.id)
      const behind = messages.slice(i + 1)
      const end = behind.findIndex(({ role }) => role !== 'tool')
      const results = (end < 0 ? behind : behind.slice(0, end)).map((result) => result.role === 'tool' && result.callId)
      return [
        ...(textIn(one).trim() || ids.length ? [] : ['an empty answer']),
        ...(ids.join() === results.join() ? [] : [`calls ${ids.join()} with results ${results.join()}`]),
      ]
    })
    return [...twice, ...others]
  }

  it('makes of any transcript one that every provider accepts', () => {
    fc.assert(
      fc.property(transcripts, (transcript) => {
        expect(faults(sanitise(transcript))).toEqual([])
      }),
      { numRuns: 500 },
    )
  })

  it('changes nothing any more the second time', () => {
    fc.assert(
      fc.property(transcripts, (transcript) => {
        const once = sanitise(transcript)
        expect(sanitise(once)).toEqual(once)
      }),
    )
  })

  it('never touches what is stored', () => {
    fc.assert(
      fc.property(transcripts, (transcript) => {
        const before = structuredClone(transcript)
        sanitise(transcript)
        expect(transcript).toEqual(before)
      }),
    )
  })
})
