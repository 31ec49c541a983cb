import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { callsIn, type Message, notice, textIn, userText } from '#agent/core/message.ts'
import { sanitise } from '#agent/providers/shared/sanitise.ts'

const assistantText = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }], stop: 'end' })
const assistantCalls = (...ids: string[]): Message => ({
  role: 'assistant',
  content: ids.map((id) => ({ type: 'call', id, name: 'look', input: {} })),
  stop: 'tools',
})
const toolResult = (callId: string, text = 'found'): Message => ({
  role: 'tool',
  callId,
  name: 'look',
  content: [{ type: 'text', text }],
  failed: false,
})
const thinkingOnly: Message = { role: 'assistant', content: [{ type: 'thinking', text: 'hm' }], stop: 'end' }
const summarise = (messages: readonly Message[]) =>
  messages.map((message) => {
    if (message.role === 'tool') return `tool ${message.callId}: ${textIn(message)}`
    const calls = message.role === 'assistant' ? callsIn(message).map(({ id }) => ` →${id}`) : []
    return `${message.role}: ${textIn(message)}${calls.join('')}`
  })

describe('sanitise', () => {
  it('finds free ids and results in linear time', () => {
    // Trying all numbers and all results for every call would take quadratic time.
    const ids = Array.from({ length: 100_000 }, (_, n) => (n % 2 ? 'same' : `c${n}`))
    const sanitised = sanitise([userText('a'), assistantCalls(...ids), ...ids.map((id, n) => toolResult(id, `${n}`))])
    expect(new Set(callsIn(sanitised[1] as never).map(({ id }) => id)).size).toBe(100_000)
    expect(summarise(sanitised.slice(-2))).toEqual(['tool c99998: 99998', 'tool same_50000: 99999'])
  })

  const cases: readonly (readonly [string, readonly Message[], readonly string[]])[] = [
    ['keeps a valid transcript', [userText('a'), assistantText('b')], ['user: a', 'assistant: b']],
    ['joins two user messages', [userText('a'), userText('b'), assistantText('c')], ['user: a\n\nb', 'assistant: c']],
    [
      'joins two assistant messages',
      [userText('a'), assistantText('b'), assistantText('c')],
      ['user: a', 'assistant: b\n\nc'],
    ],
    [
      'drops empty messages',
      [userText('a'), assistantText(' '), userText(''), assistantText('b')],
      ['user: a', 'assistant: b'],
    ],
    [
      'drops messages that contain only thinking',
      [userText('a'), thinkingOnly, assistantText('b')],
      ['user: a', 'assistant: b'],
    ],
    [
      'drops everything before the first user message',
      [assistantText('a'), toolResult('x'), userText('b')],
      ['user: b'],
    ],
    [
      'adds a result for calls without one',
      [userText('a'), assistantCalls('1', '2'), toolResult('2')],
      ['user: a', 'assistant:  →1 →2', 'tool 1: {"error":"The result of this call was not kept."}', 'tool 2: found'],
    ],
    [
      'drops results without a call',
      [userText('a'), toolResult('9'), assistantCalls('1'), toolResult('1'), toolResult('9'), assistantText('b')],
      ['user: a', 'assistant:  →1', 'tool 1: found', 'assistant: b'],
    ],
    [
      'keeps the first of two results',
      [userText('a'), assistantCalls('1'), toolResult('1', 'first'), toolResult('1', 'second')],
      ['user: a', 'assistant:  →1', 'tool 1: first'],
    ],
    [
      'sorts results in the order of the calls',
      [userText('a'), assistantCalls('1', '2'), toolResult('2', 'two'), toolResult('1', 'one')],
      ['user: a', 'assistant:  →1 →2', 'tool 1: one', 'tool 2: two'],
    ],
    [
      'assigns unique ids to repeated calls and their results',
      [
        userText('a'),
        assistantCalls('1'),
        toolResult('1', 'one'),
        assistantCalls('1', '1'),
        toolResult('1', 'two'),
        toolResult('1', 'three'),
      ],
      ['user: a', 'assistant:  →1', 'tool 1: one', 'assistant:  →1_2 →1_3', 'tool 1_2: two', 'tool 1_3: three'],
    ],
    ['keeps notices', [userText('a'), notice('stopped'), userText('b')], ['user: a', 'assistant: stopped', 'user: b']],
  ]
  it.each(cases)('%s', (_name, transcript, expected) => {
    expect(summarise(sanitise(transcript))).toEqual(expected)
  })

  it('returns valid messages as the same objects, so that renderings can be cached', () => {
    const transcript = [userText('a'), assistantCalls('1'), toolResult('1'), assistantText('b')]
    const sanitised = sanitise(transcript)
    expect(sanitised.every((message, i) => message === transcript[i])).toBe(true)
  })

  const id = fc.constantFrom('1', '2', '3', '4')
  const text = fc.constantFrom('', ' ', 'a', 'long text')
  const message: fc.Arbitrary<Message> = fc.oneof(
    text.map((words) => userText(words)),
    text.map(assistantText),
    fc.constant(thinkingOnly),
    fc.record({ ids: fc.array(id, { minLength: 1, maxLength: 3 }), words: text }).map(({ ids, words }): Message => ({
      role: 'assistant',
      content: [
        { type: 'text', text: words },
        ...ids.map((one) => ({ type: 'call' as const, id: one, name: 'look', input: {} })),
      ],
      stop: 'tools',
    })),
    id.map((one) => toolResult(one)),
  )
  const transcripts = fc.array(message, { maxLength: 25 })

  /** Lists everything that a provider would reject. */
  function findViolations(messages: readonly Message[]): string[] {
    const all = messages.flatMap((one) => (one.role === 'assistant' ? callsIn(one).map((call) => call.id) : []))
    const duplicates = all.filter((one, i) => all.indexOf(one) !== i).map((one) => `two calls have the id ${one}`)
    const others = messages.flatMap((one, i) => {
      if (i === 0 && one.role !== 'user' && messages.some(({ role }) => role === 'user'))
        return ['does not begin with a user']
      if (one.role !== 'tool' && one.role === messages[i - 1]?.role) return [`two of ${one.role} in a row`]
      if (one.role !== 'assistant') return []
      const ids = callsIn(one).map((call) => call.id)
      const following = messages.slice(i + 1)
      const end = following.findIndex(({ role }) => role !== 'tool')
      const results = (end < 0 ? following : following.slice(0, end)).map(
        (result) => result.role === 'tool' && result.callId,
      )
      return [
        ...(textIn(one).trim() || ids.length ? [] : ['an empty answer']),
        ...(ids.join() === results.join() ? [] : [`calls ${ids.join()} with results ${results.join()}`]),
      ]
    })
    return [...duplicates, ...others]
  }

  it('makes any transcript acceptable for every provider', () => {
    fc.assert(
      fc.property(transcripts, (transcript) => {
        expect(findViolations(sanitise(transcript))).toEqual([])
      }),
      { numRuns: 500 },
    )
  })

  it('is idempotent', () => {
    fc.assert(
      fc.property(transcripts, (transcript) => {
        const once = sanitise(transcript)
        expect(sanitise(once)).toEqual(once)
      }),
    )
  })

  it('does not change its input', () => {
    fc.assert(
      fc.property(transcripts, (transcript) => {
        const before = structuredClone(transcript)
        sanitise(transcript)
        expect(transcript).toEqual(before)
      }),
    )
  })
})
