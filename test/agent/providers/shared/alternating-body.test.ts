import { describe, expect, it } from 'vitest'
import { type Message, textIn, userText } from '../../../../src/agent/model/message.ts'
import {
  renderAlternatingBody,
  type CacheMarks,
  type BlockRenderer,
} from '../../../../src/agent/providers/shared/alternating-body.ts'
import { assistantText, assistantCalls, toolResult } from '../support/requests.ts'

/** Counts how often it writes a message. */
function counting(): { readonly writer: BlockRenderer; readonly written: Map<Message, number> } {
  const written = new Map<Message, number>()
  const blocks: BlockRenderer['render'] = (message) => {
    written.set(message, (written.get(message) ?? 0) + 1)
    return [{ json: JSON.stringify(textIn(message) || 'call'), isMarkable: true }]
  }
  return { writer: { render: blocks }, written }
}
const bodyOf = (
  clean: readonly Message[],
  writer: BlockRenderer,
  behind: readonly Message[] = [],
  marks?: CacheMarks,
) =>
  new TextDecoder().decode(
    renderAlternatingBody({ head: '[', foot: ']', transcript: clean, trailing: behind, cacheMarks: marks }, writer),
  )
const outline = (body: string) =>
  (JSON.parse(body) as { role: string; content: string[] }[]).map(
    ({ role, content }) => `${role}: ${content.join('|')}`,
  )

describe('a transcript for two roles', () => {
  const cases: readonly (readonly [string, readonly Message[], readonly Message[], readonly string[]])[] = [
    ['is what was said', [userText('a')], [], ['user: a']],
    [
      'has results, and what is said behind them, in one message',
      [userText('a'), assistantCalls('1', '2'), toolResult('1', 'x'), toolResult('2', 'y'), userText('b')],
      [userText('c')],
      ['user: a', 'assistant: call', 'user: x|y|b|c'],
    ],
    [
      'does not end with the model',
      [userText('a'), assistantText('b')],
      [],
      ['user: a', 'assistant: b', 'user: Go on.'],
    ],
    [
      'does not begin with the model',
      [assistantText('a')],
      [userText('b')],
      ['user: (What was said before is not kept.)', 'assistant: a', 'user: b'],
    ],
    ['is never empty', [], [], ['user: (What was said before is not kept.)']],
    [
      'has a draft of its own',
      [userText('a')],
      [assistantText('b'), userText('c')],
      ['user: a', 'assistant: b', 'user: c'],
    ],
  ]
  it.each(cases)('%s', (_name, clean, behind, expected) => {
    expect(outline(bodyOf(clean, counting().writer, behind))).toEqual(expected)
  })

  it('that grows is written anew only at its end', () => {
    const { writer, written } = counting()
    const clean: Message[] = [userText('start')]
    const rounds = 200
    for (let n = 0; n < rounds; n++) {
      clean.push(assistantCalls(`${n}`), toolResult(`${n}`, `result ${n}`))
      bodyOf(clean, writer)
    }
    // While it was one of the last three messages, and once when it was settled.
    const times = clean.slice(0, -4).map((message) => written.get(message) ?? 0)
    expect(Math.max(...times)).toBeLessThanOrEqual(4)
  })

  it('begins anew when its head or its writer changes', () => {
    const clean = [
      userText('a'),
      assistantText('b'),
      userText('c'),
      assistantText('d'),
      userText('e'),
      assistantText('f'),
      userText('g'),
    ]
    const plain = counting().writer
    const loud: BlockRenderer = {
      render: (message) => [{ json: JSON.stringify(textIn(message).toUpperCase()), isMarkable: true }],
    }
    expect(outline(bodyOf(clean, plain))[0]).toBe('user: a')
    expect(outline(bodyOf(clean, loud))[0]).toBe('user: A')
    const other = new TextDecoder().decode(
      renderAlternatingBody({ head: '[ ', foot: ']', transcript: clean, trailing: [] }, loud),
    )
    expect(other.startsWith('[ {')).toBe(true)
  })

  it('has marks in its last messages, not behind them, and not where nothing can be marked', () => {
    const clean = [userText('a'), assistantText('b'), userText('c'), assistantText('d'), userText('e')]
    const writer: BlockRenderer = {
      render: (message) => [
        { json: JSON.stringify(textIn(message)), isMarkable: textIn(message) !== 'd' },
        { json: '"tail"', isMarkable: false },
      ],
    }
    const marks: CacheMarks = { messageCount: 3, addMark: (json) => json.toUpperCase() }
    expect(outline(bodyOf(clean, writer, [userText('x')], marks))).toEqual([
      'user: a|tail',
      'assistant: b|tail',
      'user: C|tail',
      'assistant: d|tail',
      'user: E|tail|x|tail',
    ])
  })
})
