import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Message, userText } from '../../../src/agent/model/message.ts'
import { renderTranscript, renderExcerpt, findTailStart } from '../../../src/agent/prompt/compression.ts'
import { estimateTokens } from '../../../src/agent/prompt/estimate-tokens.ts'

const answer = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }], stop: 'end' })
const call = (id: string): Message => ({
  role: 'assistant',
  content: [{ type: 'call', id, name: 'look', input: { at: id } }],
  stop: 'tools',
})
const result = (callId: string, text = 'found'): Message => ({
  role: 'tool',
  callId,
  name: 'look',
  content: [{ type: 'text', text }],
  failed: false,
})

describe('findTailStart()', () => {
  const message = fc.constantFrom<Message>(userText('u'), answer('a'), call('1'), result('1'), userText('n', 'notice'))
  const transcripts = fc.array(message, { maxLength: 60 })

  it('never separates a call from its results', () => {
    fc.assert(
      fc.property(transcripts, fc.integer({ min: 0, max: 30 }), (transcript, keep) => {
        const from = findTailStart(transcript, keep)
        expect(from).toBeGreaterThanOrEqual(0)
        expect(from).toBeLessThanOrEqual(transcript.length)
        expect(from > 0 && transcript[from]?.role).not.toBe('tool')
      }),
    )
  })

  it('returns an earlier start when more messages are kept', () => {
    const transcript = Array.from({ length: 40 }, (_, i) => (i % 2 ? answer(`${i}`) : userText(`${i}`)))
    expect(findTailStart(transcript, 4)).toBeGreaterThan(findTailStart(transcript, 12))
    expect(findTailStart([], 4)).toBe(0)
  })

  it('keeps a call together with all results of its batch', () => {
    const batch = Array.from({ length: 30 }, (_, i) => result(`${i}`))
    expect(findTailStart([userText('go'), answer('yes'), userText('now'), call('x'), ...batch], 5)).toBeLessThanOrEqual(
      3,
    )
  })
})

describe('renderTranscript()', () => {
  it('renders one line for each message and call', () => {
    expect(renderTranscript([userText('look'), call('1'), result('1', 'a tree'), answer('A tree.')])).toBe(
      '[user] look\n[assistant]  → look({"at":"1"})\n[look returned] a tree\n[assistant] A tree.',
    )
  })

  it.each([
    ['Han', '吾輩貓'.repeat(100_000)],
    ['hashes at its ends', `${'deadbeef'.repeat(5_000)}${' a word'.repeat(10_000)}${'deadbeef'.repeat(5_000)}`],
    ['Han at its ends', `${'貓'.repeat(20_000)}${' a word'.repeat(10_000)}${'貓'.repeat(20_000)}`],
  ])('truncates to the maximum of tokens: %s', (_name, words) => {
    const text = renderTranscript([userText(words)], 30_000)
    expect(estimateTokens(text)).toBeLessThanOrEqual(30_000)
    expect(estimateTokens(text)).toBeGreaterThan(20_000)
    expect(text).toMatch(/characters left out/)
    expect(renderTranscript([userText('短い')], 30_000)).toBe('[user] 短い')
  })

  it('returns almost nothing when no tokens are left', () => {
    expect(estimateTokens(renderTranscript([userText('貓'.repeat(1_000))], -5))).toBeLessThan(50)
  })
})

describe('renderExcerpt()', () => {
  it('removes the middle of a long text and states how much is missing', () => {
    const text = renderExcerpt([userText(`begin ${'x'.repeat(50_000)} end`)])
    expect(text).toMatch(/^\[user\] begin x+\n\[… \d+ characters left out …\]\nx+ end$/)
    expect(text.length).toBeLessThan(8_200)
  })
})
