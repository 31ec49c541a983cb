import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Entry } from '#agent/core/history.ts'
import { callsIn, type Message, userText } from '#agent/core/message.ts'
import { type BoundaryOptions, planCompression } from '#agent/prompt/compression/boundaries.ts'
import { createSummaryMessage } from '#agent/prompt/compression/summary-message.ts'
import { answers, asks, callsTool, returns, toEntries } from './messages.ts'

const options: BoundaryOptions = { protectFirst: 3, protectLast: 20, tailTokens: 10_000 }
const dialogue = (turns: number, text = 'words'): Message[] =>
  Array.from({ length: turns }, (_, i) => [asks(`${text} ${i}`), answers(`${text} ${i}`)]).flat()
const seqs = (entries: readonly Entry[]) => entries.map(({ seq }) => seq)

/** The seqs of the kept messages, in the order in which they are sent. */
function keptSeqs(messages: readonly Message[], given: Partial<BoundaryOptions> = {}) {
  const entries = toEntries(messages)
  const { covers, keeps } = planCompression(entries, { ...options, ...given })
  return { ...keeps, tail: seqs(entries.filter(({ seq }) => seq > covers)) }
}

describe('the first compression', () => {
  it('keeps the first 3 messages and the last 20', () => {
    const { head, tail } = keptSeqs(dialogue(50))
    expect(head).toEqual([1, 2, 3])
    expect(tail).toEqual(Array.from({ length: 20 }, (_, i) => 81 + i))
  })

  it('keeps as many first and last messages as the settings say', () => {
    const { head, tail } = keptSeqs(dialogue(50), { protectFirst: 1, protectLast: 6 })
    expect([head, tail]).toEqual([[1], [95, 96, 97, 98, 99, 100]])
    expect(keptSeqs(dialogue(50), { protectFirst: 0 }).head).toEqual([])
  })

  it.each([
    ['20 messages within the budget', 'w', 10_000, 20],
    ['8 messages that exceed it by up to a half', 'word '.repeat(100), 900, 8],
    ['3 messages whatever their size', 'word '.repeat(4_000), 500, 3],
  ])('keeps %s', (_name, text, tailTokens, count) => {
    expect(keptSeqs(dialogue(50, text), { tailTokens }).tail).toHaveLength(count)
  })

  it('keeps at most half of a short conversation, and no head', () => {
    expect(keptSeqs(dialogue(3))).toEqual({ head: [], requests: [], tail: [4, 5, 6].filter((seq) => seq > 3) })
  })

  it('keeps no head that is larger than the tail may be', () => {
    expect(keptSeqs([asks('paste '.repeat(20_000)), ...dialogue(50).slice(1)]).head).toEqual([])
  })

  it('ends the head before a user message when an assistant message follows the summary', () => {
    const steps = Array.from({ length: 40 }, (_, i) => [callsTool(`${i}`), returns(`${i}`)]).flat()
    const messages = [asks('one'), answers('one'), asks('two'), answers('two'), ...steps]
    // The request 3 is open, so it follows the summary.
    expect(keptSeqs(messages)).toMatchObject({ head: [1, 2], requests: [3] })
  })
})

describe('later compressions', () => {
  it('keep no head, and update the summary before', () => {
    const first = {
      ...toEntries([createSummaryMessage('so far')])[0]!,
      seq: 41,
      covers: 30,
      keeps: { head: [1], requests: [] },
    }
    const later = toEntries(dialogue(60)).slice(41)
    const [head] = toEntries([asks('first')])
    const plan = planCompression([head!, first, ...later], options)
    expect(plan.previous).toBe(first)
    expect(plan.keeps.head).toEqual([])
    expect(plan.replaced[0]).toBe(head)
    expect(plan.replaced).not.toContain(first)
  })

  it('have nothing to replace while only the summary is old', () => {
    const summary = { ...toEntries([createSummaryMessage('so far')])[0]!, seq: 3, covers: 2 }
    const request = { ...toEntries([asks('go on')])[0]!, seq: 4 }
    expect(planCompression([summary, request], options).replaced).toEqual([])
  })
})

describe('the request that is worked on', () => {
  const steps = (count: number) => Array.from({ length: count }, (_, i) => [callsTool(`${i}`), returns(`${i}`)]).flat()

  it('is kept after the summary when the work on it is longer than the tail', () => {
    expect(keptSeqs([...dialogue(10), asks('the task'), ...steps(40)]).requests).toEqual([21])
  })

  it('is kept together with a message that redirected it', () => {
    const redirect = { ...asks('use the other file') }
    const messages = [...dialogue(10), asks('the task'), ...steps(20), redirect, ...steps(20)]
    const entries = toEntries(messages).map((entry) => (entry.seq > 21 ? { ...entry, runId: 'run_11' } : entry))
    expect(planCompression(entries, options).keeps.requests).toEqual([21, 62])
  })

  it('is not a notice, a nudge or a summary', () => {
    const notes = [userText('over budget', 'nudge'), userText('restarted', 'notice'), userText('so far', 'summary')]
    const messages = [
      ...dialogue(10),
      asks('the task'),
      ...steps(10),
      ...notes.flatMap((note) => [note, answers('ok')]),
      ...steps(20),
    ]
    expect(keptSeqs(messages).requests).toEqual([21])
  })
})

describe('CP4: a cut inside a group of calls', () => {
  it('keeps the call and all its results', () => {
    const batch: Message = {
      role: 'assistant',
      content: Array.from({ length: 9 }, (_, i) => callsIn(callsTool(`b${i}`))[0]!),
      stop: 'tools',
    }
    const results = Array.from({ length: 9 }, (_, i) => returns(`b${i}`))
    const messages = [...dialogue(20), asks('go'), batch, ...results, answers('done')]
    const { tail } = keptSeqs(messages, { protectLast: 4 })
    // The last answer alone is fewer than the three that are always kept.
    expect(tail).toHaveLength(11)
    expect(keptSeqs([...messages, ...dialogue(2)], { protectLast: 8 }).tail).toHaveLength(5)
  })

  it('holds for any conversation: groups are whole, the newest request is sent, nothing is counted twice', () => {
    const group = fc.constantFrom(
      [asks('u')],
      [answers('a')],
      [callsTool('1'), returns('1')],
      [callsTool('2'), returns('2', 'r'.repeat(3_000))],
      [userText('n', 'notice')],
    )
    fc.assert(
      fc.property(
        fc.array(group, { maxLength: 40 }),
        fc.record({ protectFirst: fc.nat(6), protectLast: fc.nat(30), tailTokens: fc.nat(3_000) }),
        (groups, given) => {
          const entries = toEntries(groups.flat())
          const plan = planCompression(entries, given)
          const replaced = new Set(seqs(plan.replaced))
          const split = entries.filter(
            ({ seq, message }) => message.role === 'tool' && replaced.has(seq) !== replaced.has(seq - 1),
          )
          expect(split).toEqual([])
          const newest = entries.findLast(({ message }) => message.role === 'user' && !message.source)
          expect(newest !== undefined && replaced.has(newest.seq)).toBe(false)
          const kept = [...plan.keeps.head, ...plan.keeps.requests]
          const tail = entries.filter(({ seq }) => seq > plan.covers)
          expect(kept.length + replaced.size + tail.length).toBe(entries.length)
        },
      ),
    )
  })
})
