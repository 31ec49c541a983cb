import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Entry } from '#agent/core/history.ts'
import { type Message, textIn, userText } from '#agent/core/message.ts'
import { arrangeEntries, assembleContext } from '#agent/prompt/compression/assemble.ts'
import { planCompression } from '#agent/prompt/compression/boundaries.ts'
import { repairPairs } from '#agent/prompt/compression/assemble.ts'
import { createSummaryMessage, parseSummary } from '#agent/prompt/compression/summary-message.ts'
import { sanitise } from '#agent/providers/shared/sanitise.ts'
import { wellFormed } from '../../loop/simulation.ts'
import { answers, asks, callsTool, returns, toEntries } from './messages.ts'

/** Replaces what `planCompression` says by a summary. */
function compress(messages: readonly Message[], tailTokens = 10_000): readonly Message[] {
  const entries = toEntries(messages)
  const { covers, keeps } = planCompression(entries, { protectFirst: 3, protectLast: 20, tailTokens })
  const summary: Entry = {
    ...toEntries([createSummaryMessage('so far', ['todo'])])[0]!,
    seq: entries.length + 1,
    covers,
    keeps,
  }
  return assembleContext(arrangeEntries([...entries, summary]))
}
const shape = (messages: readonly Message[]) => messages.map(({ role }) => role[0]).join('')
const dialogue = (turns: number) => Array.from({ length: turns }, (_, i) => [asks(`${i}`), answers(`${i}`)]).flat()

describe('the summary', () => {
  it('is marked as a record, ends with a mark, and is read back without both', () => {
    const message = createSummaryMessage('## Goal: a parser', ['The todo list: …'])
    expect(textIn(message)).toMatch(
      /^Summary of the earlier part[^]*not an instruction[^]*## Goal: a parser\n\n\[End of/,
    )
    expect(parseSummary(message)).toBe('## Goal: a parser')
    expect(parseSummary(userText('another text', 'summary'))).toBe('another text')
  })

  it('has the role of the assistant between two messages of the user', () => {
    // The head ends with the second question, and the tail begins with one.
    const context = compress(dialogue(30))
    expect(shape(context)).toBe(`uau${'a'}${'ua'.repeat(10)}`)
    expect(context[3]).toMatchObject({ role: 'assistant', source: 'notice' })
  })

  it('has the role of the user before a message of the assistant', () => {
    const steps = Array.from({ length: 40 }, (_, i) => [callsTool(`${i}`), returns(`${i}`)]).flat()
    const context = compress([answers('Hello, how can I help?'), ...steps])
    expect(context.find(({ role }) => role === 'user')).toMatchObject({ source: 'summary' })
  })

  it('begins the request where both roles would repeat', () => {
    const steps = Array.from({ length: 40 }, (_, i) => [callsTool(`${i}`), returns(`${i}`)]).flat()
    const [first, second] = compress([asks('the task'), ...steps])
    expect(first?.role).toBe('user')
    expect(textIn(first!)).toMatch(/^Summary of[^]*todo\n\nthe task$/)
    expect(second?.role).toBe('assistant')
  })

  it('CP5: keeps the roles alternating and at least one user message when the head has only an assistant', () => {
    const context = compress([answers('Hello.'), ...dialogue(30)])
    expect(wellFormed(context)).toBe(undefined)
    expect(context.some(({ role }) => role === 'user')).toBe(true)
    expect(sanitise(context)[0]?.role).toBe('user')
  })
})

it('every compressed conversation is well-formed, and a provider gets it unchanged', () => {
  const turn = fc.constantFrom(
    [asks('u'), answers('a')],
    [asks('u'), callsTool('1'), returns('1', 'r'.repeat(900)), answers('a')],
    [asks('u'), callsTool('2'), returns('2'), callsTool('3'), returns('3'), userText('more'), answers('a')],
    [asks('u'), answers('a'), userText('n', 'process'), answers('b')],
  )
  fc.assert(
    fc.property(
      fc.array(turn, { minLength: 2, maxLength: 30 }),
      fc.array(fc.constant([callsTool('x'), returns('x', 'long '.repeat(100))]), { maxLength: 30 }),
      fc.nat(4_000),
      (turns, steps, tailTokens) => {
        const context = compress([...turns.flat(), asks('now'), ...steps.flat()], tailTokens)
        expect(wellFormed(context)).toBe(undefined)
        expect(context.some((message) => message.role === 'user' && textIn(message).endsWith('now'))).toBe(true)
        // Ids that models use again are renamed; nothing else changes.
        expect(shape(sanitise(context))).toBe(shape(context))
      },
    ),
  )
})

describe('repairPairs()', () => {
  it('returns a valid transcript as it is', () => {
    const messages = [asks('go'), callsTool('1'), returns('1'), answers('done')]
    expect(repairPairs(messages)).toBe(messages)
  })

  it('drops a result without its call and answers a call without its result', () => {
    const repaired = repairPairs([returns('0'), asks('go'), callsTool('1'), asks('and?'), answers('done')])
    expect(shape(repaired)).toBe('uatua')
    expect(repaired[2]).toMatchObject({ callId: '1', failed: true })
  })

  it('leaves the last calls open, because their results are still to come', () => {
    const messages = [asks('go'), callsTool('1')]
    expect(repairPairs(messages)).toBe(messages)
  })
})
