/** Making a long transcript short, and counting what it weighs. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Message, userText } from '../../../src/agent/model/message.ts'
import { renderTranscript, renderExcerpt, findTailStart } from '../../../src/agent/prompt/compression.ts'
import { renderSystemPrompt } from '../../../src/agent/prompt/system-prompt.ts'
import { estimateTokens, estimateMessageTokens } from '../../../src/agent/prompt/estimate-tokens.ts'

const said = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }], stop: 'end' })
const asked = (id: string): Message => ({
  role: 'assistant',
  content: [{ type: 'call', id, name: 'look', input: { at: id } }],
  stop: 'tools',
})
const found = (callId: string, text = 'found'): Message => ({
  role: 'tool',
  callId,
  name: 'look',
  content: [{ type: 'text', text }],
  failed: false,
})

describe('what is kept of a transcript', () => {
  const message = fc.constantFrom<Message>(userText('u'), said('a'), asked('1'), found('1'), userText('n', 'notice'))
  const transcripts = fc.array(message, { maxLength: 60 })

  it('never begins between a call and its results', () => {
    fc.assert(
      fc.property(transcripts, fc.integer({ min: 0, max: 30 }), (transcript, keep) => {
        const from = findTailStart(transcript, keep)
        expect(from).toBeGreaterThanOrEqual(0)
        expect(from).toBeLessThanOrEqual(transcript.length)
        expect(from > 0 && transcript[from]?.role).not.toBe('tool')
      }),
    )
  })

  it('is never more than what there is, and grows with what should be kept', () => {
    const transcript = Array.from({ length: 40 }, (_, i) => (i % 2 ? said(`${i}`) : userText(`${i}`)))
    expect(findTailStart(transcript, 4)).toBeGreaterThan(findTailStart(transcript, 12))
    expect(findTailStart([], 4)).toBe(0)
  })

  it('has all results of a long batch with their call', () => {
    const batch = Array.from({ length: 30 }, (_, i) => found(`${i}`))
    expect(findTailStart([userText('go'), said('yes'), userText('now'), asked('x'), ...batch], 5)).toBeLessThanOrEqual(3)
  })

  it('is written down line by line for the model that summarises', () => {
    expect(renderTranscript([userText('look'), asked('1'), found('1', 'a tree'), said('A tree.')])).toBe(
      '[user] look\n[assistant]  → look({"at":"1"})\n[look returned] a tree\n[assistant] A tree.',
    )
  })

  it.each([
    ['Han', '吾輩貓'.repeat(100_000)],
    ['hashes at its ends', `${'deadbeef'.repeat(5_000)}${' a word'.repeat(10_000)}${'deadbeef'.repeat(5_000)}`],
    ['Han at its ends', `${'貓'.repeat(20_000)}${' a word'.repeat(10_000)}${'貓'.repeat(20_000)}`],
  ])('is cut to the room there is, in tokens: %s', (_name, words) => {
    const text = renderTranscript([userText(words)], 30_000)
    expect(estimateTokens(text)).toBeLessThanOrEqual(30_000)
    expect(estimateTokens(text)).toBeGreaterThan(20_000)
    expect(text).toMatch(/characters left out/)
    expect(renderTranscript([userText('短い')], 30_000)).toBe('[user] 短い')
  })

  it('is cut to nothing to speak of where there is no room', () => {
    expect(estimateTokens(renderTranscript([userText('貓'.repeat(1_000))], -5))).toBeLessThan(50)
  })

  it('is cut in the middle when it is too long, and says how much is missing', () => {
    const text = renderExcerpt([userText(`begin ${'x'.repeat(50_000)} end`)])
    expect(text).toMatch(/^\[user\] begin x+\n\[… \d+ characters left out …\]\nx+ end$/)
    expect(text.length).toBeLessThan(8_200)
  })
})

describe('a token count', () => {
  it.each<readonly [string, string, number]>([
    ['English', 'The quick brown fox jumps over the lazy dog. '.repeat(20), 200],
    ['JSON', '{"name": "value", "list": [1, 2, 3], "flag": true}'.repeat(20), 400],
    ['Japanese', '吾輩は猫である。名前はまだ無い。'.repeat(20), 290],
    ['a hash', 'deadbeef'.repeat(50), 235],
  ])('of %s is within a third', (_name, text, tokens) => {
    expect(estimateTokens(text)).toBeGreaterThan(tokens * 0.67)
    expect(estimateTokens(text)).toBeLessThan(tokens * 1.5)
  })

  it('grows with the text and is never negative', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        expect(estimateTokens(a)).toBeGreaterThanOrEqual(0)
        expect(estimateTokens(`${a}\n${b}`)).toBeGreaterThanOrEqual(estimateTokens(a) - 1)
      }),
    )
  })

  it('of a message counts what goes over the wire: calls too, images flat', () => {
    const image = (data: string): Message => ({
      role: 'user',
      content: [{ type: 'image', mediaType: 'image/png', data }],
    })
    expect(estimateMessageTokens(image('A'))).toBe(estimateMessageTokens(image('A'.repeat(100_000))))
    expect(estimateMessageTokens(asked('x'.repeat(400)))).toBeGreaterThan(estimateMessageTokens(asked('x')))
    expect(estimateMessageTokens(userText(''))).toBeGreaterThan(0)
  })
})

describe('the system prompt', () => {
  const parts = { date: '2026-11-21', timezone: 'Europe/Berlin' }

  it('is the same for the same parts, without the time of day', () => {
    expect(renderSystemPrompt(parts)).toBe(renderSystemPrompt({ ...parts }))
    expect(renderSystemPrompt(parts)).not.toMatch(/\d\d:\d\d/)
  })

  it('has what the tenant says, and where commands run, in a fixed order', () => {
    const text = renderSystemPrompt({ ...parts, workspace: 'a small machine', instructions: ' Speak Latin. ' })
    const places = ['You are Talaria', 'a small machine', 'Speak Latin.', '2026-11-21 (Europe/Berlin)'].map((part) =>
      text.indexOf(part),
    )
    expect(places.every((place) => place >= 0)).toBe(true)
    expect(places).toEqual(places.toSorted((a, b) => a - b))
  })
})
