import { describe, expect, it } from 'vitest'
import { textIn, userText } from '#agent/core/message.ts'
import { renderExcerpt } from '#agent/prompt/compression/excerpt.ts'
import { maskMessage } from '#agent/prompt/compression/mask.ts'
import { renderTranscript } from '#agent/prompt/compression/render.ts'
import { limitSummary } from '#agent/prompt/compression/summary-message.ts'
import {
  getSummaryTokens,
  renderSummaryInput,
  renderSummaryRequest,
} from '#agent/prompt/compression/summary-request.ts'
import { estimateTokens } from '#agent/prompt/estimate-tokens.ts'
import { answers, asks, callsTool, returns } from './messages.ts'

const mask = (text: string) => text.replaceAll(/sk-\w+/g, '[REDACTED]')

describe('the request for a summary', () => {
  it.each([
    [1_000, 2_000],
    [20_000, 4_000],
    [200_000, 10_000],
  ])('for %d replaced tokens allows %d', (replaced, allowed) => {
    expect(getSummaryTokens(replaced)).toBe(allowed)
  })

  it('asks for the language of the user and names focus, size and update', () => {
    const request = renderSummaryRequest({ focus: 'the tests', maxTokens: 2_000, updates: true })
    expect(request).toContain('in the language of the user')
    expect(request).toContain('the tests')
    expect(request).toContain('at most 1400 words')
    expect(request).toContain('The record so far comes first')
    expect(renderSummaryRequest()).not.toMatch(/undefined|record so far|words\./)
  })

  it('has the summary so far in full, then the messages, within 160,000 characters', () => {
    const input = renderSummaryInput({ messages: [asks('x '.repeat(200_000))], previous: 'RECORD', mask }, 1e9)
    expect(input).toMatch(/^The record so far:\nRECORD\n\nThe messages since then:\n\[user\] x /)
    expect(input.length).toBeLessThan(160_200)
  })
})

describe('CP6: secrets', () => {
  const secret = 'sk-abcdefgh12345678'
  it('are masked before anything is cut, in texts and in arguments', () => {
    const messages = [asks(`my key is ${secret}`), callsTool('1', { env: [{ key: `${'x'.repeat(190)} ${secret}` }] })]
    const masked = messages.map((message) => maskMessage(message, mask))
    expect(JSON.stringify(masked)).not.toContain('sk-')
    expect(JSON.stringify(masked)).toContain('[REDACTED]')
  })

  it('are masked in the input, in an earlier summary and in the excerpt', () => {
    const messages = [asks(secret)]
    expect(renderSummaryInput({ messages, previous: secret, mask }, 1e9)).not.toContain('sk-')
    expect(renderExcerpt(messages, { previous: secret, mask })).not.toContain('sk-')
  })
})

describe('renderTranscript()', () => {
  it('renders one line for each message and call', () => {
    const messages = [asks('look'), callsTool('1'), returns('1', 'a tree'), answers('A tree.'), userText('x', 'job')]
    expect(renderTranscript(messages)).toBe(
      '[user] look\n[assistant]  → read_file({"path":"1"})\n[read_file returned] a tree\n[assistant] A tree.\n[job] x',
    )
  })

  it.each([
    ['Han', '吾輩貓'.repeat(100_000)],
    ['hashes at its ends', `${'deadbeef'.repeat(5_000)}${' a word'.repeat(10_000)}${'deadbeef'.repeat(5_000)}`],
    ['Han at its ends', `${'貓'.repeat(20_000)}${' a word'.repeat(10_000)}${'貓'.repeat(20_000)}`],
  ])('truncates to the maximum of tokens: %s', (_name, words) => {
    const text = renderTranscript([asks(words)], 30_000)
    expect(estimateTokens(text)).toBeLessThanOrEqual(30_000)
    expect(estimateTokens(text)).toBeGreaterThan(20_000)
    expect(text).toMatch(/characters left out/)
    expect(renderTranscript([asks('短い')], 30_000)).toBe('[user] 短い')
  })

  it('returns almost nothing when no tokens are left', () => {
    expect(estimateTokens(renderTranscript([asks('貓'.repeat(1_000))], -5))).toBeLessThan(50)
  })
})

describe('renderExcerpt()', () => {
  const messages = Array.from({ length: 200 }, (_, i) => [
    asks(`question ${i} `.repeat(9)),
    answers(`answer ${i} `.repeat(9)),
  ])

  it('has at most 8,000 characters: the earlier summary, the newest requests, then the newest answers', () => {
    const text = renderExcerpt(messages.flat(), { previous: 'RECORD '.repeat(2_000), mask })
    expect(text.length).toBeLessThanOrEqual(8_000)
    expect(text).toMatch(/^RECORD[^]*characters left out[^]*No summary could be written/)
    expect(text).toContain('question 199')
    expect(text).not.toContain('question 0 ')
  })

  it('keeps the order of the messages and is the same each time', () => {
    const few = messages.slice(0, 3).flat()
    const text = renderExcerpt(few, { mask })
    expect(
      text
        .split('\n')
        .slice(1)
        .map((line) => line.slice(0, 12)),
    ).toEqual(few.map((message) => `[${message.role}] ${textIn(message)}`.slice(0, 12)))
    expect(renderExcerpt(few, { mask })).toBe(text)
  })
})

it('a summary that is longer than requested loses its end', () => {
  const text = limitSummary('a word '.repeat(10_000), 2_000)
  expect(estimateTokens(text)).toBeLessThanOrEqual(2_000)
  expect(estimateTokens(text)).toBeGreaterThan(1_800)
  expect(limitSummary('short', 2_000)).toBe('short')
})
