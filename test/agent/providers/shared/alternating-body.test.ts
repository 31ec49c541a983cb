import { describe, expect, it } from 'vitest'
import { type Message, textIn, userText } from '#agent/core/message.ts'
import { renderAlternatingBody, type CacheMarks, type BlockRenderer } from '#agent/providers/shared/alternating-body.ts'
import { assistantText, assistantCalls, toolResult } from '../support/requests.ts'

/** A renderer that counts how often it renders each message. */
function createCountingRenderer(): { readonly renderer: BlockRenderer; readonly renderCounts: Map<Message, number> } {
  const renderCounts = new Map<Message, number>()
  const blocks: BlockRenderer['render'] = (message) => {
    renderCounts.set(message, (renderCounts.get(message) ?? 0) + 1)
    return [{ json: JSON.stringify(textIn(message) || 'call'), isMarkable: true }]
  }
  return { renderer: { render: blocks }, renderCounts }
}
const renderBody = (
  transcript: readonly Message[],
  renderer: BlockRenderer,
  trailing: readonly Message[] = [],
  marks?: CacheMarks,
) =>
  new TextDecoder().decode(
    renderAlternatingBody(
      { head: '[', foot: ']', transcript: transcript, trailing: trailing, cacheMarks: marks },
      renderer,
    ),
  )
const summarise = (body: string) =>
  (JSON.parse(body) as { role: string; content: string[] }[]).map(
    ({ role, content }) => `${role}: ${content.join('|')}`,
  )

describe('a body with two roles', () => {
  const cases: readonly (readonly [string, readonly Message[], readonly Message[], readonly string[]])[] = [
    ['has one message per message', [userText('a')], [], ['user: a']],
    [
      'joins results and the texts after them into one user message',
      [userText('a'), assistantCalls('1', '2'), toolResult('1', 'x'), toolResult('2', 'y'), userText('b')],
      [userText('c')],
      ['user: a', 'assistant: call', 'user: x|y|b|c'],
    ],
    [
      'does not end with an assistant message',
      [userText('a'), assistantText('b')],
      [],
      ['user: a', 'assistant: b', 'user: Go on.'],
    ],
    [
      'does not begin with an assistant message',
      [assistantText('a')],
      [userText('b')],
      ['user: (What was said before is not kept.)', 'assistant: a', 'user: b'],
    ],
    ['is not empty for an empty transcript', [], [], ['user: (What was said before is not kept.)']],
    [
      'sends a draft as an assistant message',
      [userText('a')],
      [assistantText('b'), userText('c')],
      ['user: a', 'assistant: b', 'user: c'],
    ],
  ]
  it.each(cases)('%s', (_name, transcript, trailing, expected) => {
    expect(summarise(renderBody(transcript, createCountingRenderer().renderer, trailing))).toEqual(expected)
  })

  it('renders only the end of a growing transcript again', () => {
    const { renderer, renderCounts } = createCountingRenderer()
    const transcript: Message[] = [userText('start')]
    const rounds = 200
    for (let n = 0; n < rounds; n++) {
      transcript.push(assistantCalls(`${n}`), toolResult(`${n}`, `result ${n}`))
      renderBody(transcript, renderer)
    }
    // Up to three times among the last groups, and once for the stable prefix.
    const times = transcript.slice(0, -4).map((message) => renderCounts.get(message) ?? 0)
    expect(Math.max(...times)).toBeLessThanOrEqual(4)
  })

  it('renders everything again when the head or the renderer changes', () => {
    const transcript = [
      userText('a'),
      assistantText('b'),
      userText('c'),
      assistantText('d'),
      userText('e'),
      assistantText('f'),
      userText('g'),
    ]
    const lowerCase = createCountingRenderer().renderer
    const upperCase: BlockRenderer = {
      render: (message) => [{ json: JSON.stringify(textIn(message).toUpperCase()), isMarkable: true }],
    }
    expect(summarise(renderBody(transcript, lowerCase))[0]).toBe('user: a')
    expect(summarise(renderBody(transcript, upperCase))[0]).toBe('user: A')
    const other = new TextDecoder().decode(
      renderAlternatingBody({ head: '[ ', foot: ']', transcript: transcript, trailing: [] }, upperCase),
    )
    expect(other.startsWith('[ {')).toBe(true)
  })

  it('adds cache marks to the last messages only, and skips messages without a markable block', () => {
    const transcript = [userText('a'), assistantText('b'), userText('c'), assistantText('d'), userText('e')]
    const renderer: BlockRenderer = {
      render: (message) => [
        { json: JSON.stringify(textIn(message)), isMarkable: textIn(message) !== 'd' },
        { json: '"tail"', isMarkable: false },
      ],
    }
    const marks: CacheMarks = { messageCount: 3, addMark: (json) => json.toUpperCase() }
    expect(summarise(renderBody(transcript, renderer, [userText('x')], marks))).toEqual([
      'user: a|tail',
      'assistant: b|tail',
      'user: C|tail',
      'assistant: d|tail',
      'user: E|tail|x|tail',
    ])
  })
})
