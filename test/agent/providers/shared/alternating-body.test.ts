import { describe, expect, it } from 'vitest'
import { type Message, textIn, userText } from '../../../../src/agent/model/message.ts'
import { alternatingBody, type Marks, type Writer } from '../../../../src/agent/providers/shared/alternating-body.ts'
import { answered, asked, found } from '../support/requests.ts'

/** Counts how often it writes a message. */
function counting(): { readonly writer: Writer; readonly written: Map<Message, number> } {
  const written = new Map<Message, number>()
  const blocks: Writer['blocks'] = (message) => {
    written.set(message, (written.get(message) ?? 0) + 1)
    return [{ json: JSON.stringify(textIn(message) || 'call'), markable: true }]
  }
  return { writer: { blocks }, written }
}
const bodyOf = (clean: readonly Message[], writer: Writer, behind: readonly Message[] = [], marks?: Marks) =>
  new TextDecoder().decode(alternatingBody({ head: '[', foot: ']', clean, behind, marks }, writer))
const outline = (body: string) =>
  (JSON.parse(body) as { role: string; content: string[] }[]).map(
    ({ role, content }) => `${role}: ${content.join('|')}`,
  )

describe('a transcript for two roles', () => {
  const cases: readonly (readonly [string, readonly Message[], readonly Message[], readonly string[]])[] = [
    ['is what was said', [userText('a')], [], ['user: a']],
    [
      'has results, and what is said behind them, in one message',
      [userText('a'), asked('1', '2'), found('1', 'x'), found('2', 'y'), userText('b')],
      [userText('c')],
      ['user: a', 'assistant: call', 'user: x|y|b|c'],
    ],
    ['does not end with the model', [userText('a'), answered('b')], [], ['user: a', 'assistant: b', 'user: Go on.']],
    [
      'does not begin with the model',
      [answered('a')],
      [userText('b')],
      ['user: (What was said before is not kept.)', 'assistant: a', 'user: b'],
    ],
    ['is never empty', [], [], ['user: (What was said before is not kept.)']],
    ['has a draft of its own', [userText('a')], [answered('b'), userText('c')], ['user: a', 'assistant: b', 'user: c']],
  ]
  it.each(cases)('%s', (_name, clean, behind, expected) => {
    expect(outline(bodyOf(clean, counting().writer, behind))).toEqual(expected)
  })

  it('that grows is written anew only at its end', () => {
    const { writer, written } = counting()
    const clean: Message[] = [userText('start')]
    const rounds = 200
    for (let n = 0; n < rounds; n++) {
      clean.push(asked(`${n}`), found(`${n}`, `result ${n}`))
      bodyOf(clean, writer)
    }
    // While it was one of the last three messages, and once when it was settled.
    const times = clean.slice(0, -4).map((message) => written.get(message) ?? 0)
    expect(Math.max(...times)).toBeLessThanOrEqual(4)
  })

  it('begins anew when its head or its writer changes', () => {
    const clean = [
      userText('a'),
      answered('b'),
      userText('c'),
      answered('d'),
      userText('e'),
      answered('f'),
      userText('g'),
    ]
    const plain = counting().writer
    const loud: Writer = {
      blocks: (message) => [{ json: JSON.stringify(textIn(message).toUpperCase()), markable: true }],
    }
    expect(outline(bodyOf(clean, plain))[0]).toBe('user: a')
    expect(outline(bodyOf(clean, loud))[0]).toBe('user: A')
    const other = new TextDecoder().decode(alternatingBody({ head: '[ ', foot: ']', clean, behind: [] }, loud))
    expect(other.startsWith('[ {')).toBe(true)
  })

  it('has marks in its last messages, not behind them, and not where nothing can be marked', () => {
    const clean = [userText('a'), answered('b'), userText('c'), answered('d'), userText('e')]
    const writer: Writer = {
      blocks: (message) => [
        { json: JSON.stringify(textIn(message)), markable: textIn(message) !== 'd' },
        { json: '"tail"', markable: false },
      ],
    }
    const marks: Marks = { count: 3, mark: (json) => json.toUpperCase() }
    expect(outline(bodyOf(clean, writer, [userText('x')], marks))).toEqual([
      'user: a|tail',
      'assistant: b|tail',
      'user: C|tail',
      'assistant: d|tail',
      'user: E|tail|x|tail',
    ])
  })
})
