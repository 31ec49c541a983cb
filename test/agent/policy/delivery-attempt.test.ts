import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DeliveryRecord, SendOutcome } from '#agent/core/delivery.ts'
import {
  afterAttempt,
  renderDigest,
  maxPreviewAgeMs,
  interrupt,
  isOpen,
  type DeliveryOptions,
  nextDeliveryStep,
  afterFailedProbe,
  maxAgeMs,
  createDelivery,
  startSending,
  mayBecomeSilent,
  renderAnswer,
} from '#agent/policy/delivery-attempt.ts'

const plain: DeliveryOptions = { isIdempotent: false, isPreview: false }
const idempotent: DeliveryOptions = { isIdempotent: true, isPreview: false }
const preview: DeliveryOptions = { isIdempotent: false, isPreview: true }
const began = 1_000_000_000
const out = () => startSending(createDelivery(began))
const send = { do: 'send', isMarkedDuplicate: false, needsProbe: false }
const marked = { do: 'send', isMarkedDuplicate: true, needsProbe: true }
const failed: SendOutcome = { kind: 'retry', detail: 'HTTP 502' }
const lost: SendOutcome = { kind: 'ambiguous', detail: 'the connection broke' }
const format: SendOutcome = { kind: 'format', detail: "can't parse entities" }

describe('a part that was prepared', () => {
  it('is sent', () => expect(nextDeliveryStep(createDelivery(began), plain, began)).toEqual(send))

  it.each([
    ['within a day', plain, maxAgeMs, send],
    ['a day later', plain, maxAgeMs + 1, { do: 'expire' }],
    ['a preview, in time', preview, maxPreviewAgeMs, send],
    ['a preview, too late', preview, maxPreviewAgeMs + 1, { do: 'expire' }],
  ])('expires by its age: %s', (_name, options, age, step) => {
    expect(nextDeliveryStep(createDelivery(began), options, began + age)).toEqual(step)
  })

  it('does not age when the clock goes backwards', () => {
    expect(nextDeliveryStep(createDelivery(began), plain, began - 10 * maxAgeMs)).toEqual(send)
    expect(nextDeliveryStep({ ...createDelivery(began), due: began + 5_000 }, plain, began - 10 * maxAgeMs)).toEqual(
      send,
    )
  })
})

describe('an attempt', () => {
  it('that succeeds is the last one, and its id is stored', () => {
    expect(afterAttempt(out(), { kind: 'sent', id: '7' }, plain, began)).toMatchObject({
      state: 'sent',
      platformId: '7',
    })
  })

  it('that hits a rate limit waits as long as the platform asks', () => {
    const after = afterAttempt(out(), { kind: 'retry', waitMs: 7_000, detail: '429' }, plain, began)
    expect(nextDeliveryStep(after, plain, began)).toEqual({ do: 'wait', until: began + 7_000 })
    expect(nextDeliveryStep(after, plain, began + 7_000)).toEqual(send)
  })

  it.each([
    ['of hours is sent after them', plain, 6 * 3_600_000, { do: 'wait', until: began + 6 * 3_600_000 }],
    ['of more than a day expires at once', plain, maxAgeMs + 1, { do: 'expire' }],
    ['of hours, as a preview, expires at once', preview, 3_600_000, { do: 'expire' }],
  ])('that hits a rate limit %s', (_name, options, waitMs, step) => {
    const after = afterAttempt(out(), { kind: 'retry', waitMs, detail: '429' }, options, began)
    expect(nextDeliveryStep(after, options, began)).toEqual(step)
  })

  it.each<[string, SendOutcome]>([
    ['an error', failed],
    ['a rate limit that names no pause', { kind: 'retry', waitMs: 0, detail: '429' }],
    ['a rate limit of a second', { kind: 'retry', waitMs: 1_000, detail: '429' }],
  ])('is repeated for a day against a platform that always answers with %s', (_name, answer) => {
    let [record, now, attempts] = [createDelivery(began), began, 0]
    while (nextDeliveryStep(record, plain, now).do !== 'expire' && isOpen(record)) {
      record = afterAttempt(startSending(record), answer, plain, now)
      now = record.due
      attempts++
    }
    expect(isOpen(record)).toBe(true)
    expect(now - began).toBeGreaterThan(maxAgeMs)
    expect(attempts).toBeLessThan(320)
  })

  it('that failed is repeated with growing pauses, unmarked', () => {
    let record = out()
    const pauses: number[] = []
    let now = began
    for (let n = 0; n < 12; n++) {
      record = afterAttempt(startSending(record), failed, plain, now)
      pauses.push(record.due - now)
      now = record.due
    }
    expect(nextDeliveryStep({ ...record, due: 0 }, plain, began)).toEqual(send)
    expect(pauses.slice(0, 5)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000])
    expect(Math.max(...pauses)).toBe(300_000)
  })

  it('that is rejected for its format is repeated once as plain text', () => {
    const again = afterAttempt(out(), format, plain, began)
    expect([again.isPlain, nextDeliveryStep(again, plain, began)]).toEqual([true, send])
    expect(afterAttempt(startSending(again), format, plain, began)).toMatchObject({ state: 'dead' })
  })

  it('that is refused for good is the last one', () => {
    const refused: SendOutcome = { kind: 'forbidden', detail: 'Forbidden: bot was blocked by the user' }
    expect(afterAttempt(out(), refused, plain, began)).toMatchObject({ state: 'dead', error: refused.detail })
  })
})

describe('an attempt with an unknown result', () => {
  const ways = [
    ['the object died', (record: DeliveryRecord, options: DeliveryOptions) => interrupt(record, options, began)],
    [
      'the connection broke',
      (record: DeliveryRecord, options: DeliveryOptions) => afterAttempt(record, lost, options, began),
    ],
  ] as const

  it.each(ways)('%s: is repeated three times, each marked and after a successful probe', (_name, lose) => {
    let record = lose(out(), plain)
    for (let repeats = 0; repeats < 3; repeats++) {
      expect(nextDeliveryStep(record, plain, record.due)).toEqual(marked)
      record = lose(startSending(record), plain)
    }
    expect(record).toMatchObject({ state: 'unknown', error: expect.stringMatching(/, 4 times$/) })
  })

  it('counts as the first one where a row of an earlier release does not say how many there were', () => {
    const { doubts: _doubts, ...earlier } = interrupt(out(), plain, began)
    let record: DeliveryRecord = earlier
    for (let repeats = 0; repeats < 2; repeats++) record = interrupt(startSending(record), plain, began)
    expect([record.state, record.doubts]).toEqual(['prepared', 3])
    expect(interrupt(startSending(record), plain, began).state).toBe('unknown')
  })

  it('counts however it came about, and only where it is unknown', () => {
    let record = out()
    const states = ([lost, failed, 'death', failed, failed, lost, 'death'] as const).map((what) => {
      record = what === 'death' ? interrupt(record, plain, began) : afterAttempt(record, what, plain, began)
      return record.state
    })
    expect(states).toEqual([...Array.from({ length: 6 }, () => 'prepared'), 'unknown'])
  })

  it.each(ways)('%s: is repeated without a mark if the platform has idempotency keys', (_name, lose) => {
    const again = lose(out(), idempotent)
    expect(nextDeliveryStep(again, idempotent, again.due)).toEqual(send)
    expect(isOpen(lose(startSending(again), idempotent))).toBe(true)
  })

  it('is repeated as often as needed where the platform accepts each form once', () => {
    const once: DeliveryOptions = { ...plain, isOnceEach: true }
    let record = out()
    for (let n = 0; n < 9; n++) record = interrupt(startSending(record), once, began)
    expect(record).toMatchObject({ state: 'prepared', isDoubtful: true, tries: 9 })
  })

  it('is not repeated while the platform cannot be reached', () => {
    let record = interrupt(out(), plain, began)
    for (let n = 0; n < 5; n++) record = afterFailedProbe(record, lost, plain, record.due)
    expect(nextDeliveryStep(record, plain, record.due)).toEqual(marked)
  })

  it('stays marked after a failure in between', () => {
    const again = afterAttempt(startSending(interrupt(out(), plain, began)), failed, plain, began)
    expect(nextDeliveryStep(again, plain, again.due)).toEqual(marked)
  })
})

const outcome: fc.Arbitrary<SendOutcome | 'death'> = fc.constantFrom<(SendOutcome | 'death')[]>(
  failed,
  lost,
  format,
  'death',
  { kind: 'sent', id: '1' },
  { kind: 'retry', waitMs: 1_000, detail: '429' },
  { kind: 'retry', detail: '429' },
  { kind: 'gone', detail: 'message to edit not found' },
  { kind: 'fatal', detail: 'Bad Request' },
)

describe('in any order of outcomes', () => {
  it('at most one unmarked message arrives, then at most three marked ones, and delivery ends', () => {
    fc.assert(
      fc.property(fc.array(outcome, { maxLength: 60 }), fc.boolean(), (outcomes, takenWhenLost) => {
        let record = createDelivery(began)
        let now = began
        const arrived: boolean[] = []
        for (const what of outcomes) {
          const step = nextDeliveryStep(record, plain, now)
          if (step.do === 'wait') now = step.until
          if (step.do !== 'send') {
            if (step.do === 'expire') break
            continue
          }
          const isLost = what === 'death' || what.kind === 'ambiguous'
          if (isLost ? takenWhenLost : what.kind === 'sent') arrived.push(step.isMarkedDuplicate)
          record =
            what === 'death'
              ? interrupt(startSending(record), plain, now)
              : afterAttempt(startSending(record), what, plain, now)
          if (!isOpen(record)) break
        }
        expect(arrived.slice(1)).not.toContain(false)
        expect(arrived.filter(Boolean).length).toBeLessThanOrEqual(3)
      }),
    )
  })

  it('a platform that always fails is given up', () => {
    let record: DeliveryRecord = createDelivery(began)
    for (let n = 0; n < 1_000 && isOpen(record); n++) record = afterAttempt(startSending(record), failed, plain, began)
    expect(record).toMatchObject({ state: 'dead', error: 'gave up: HTTP 502' })
  })
})

describe('a silent answer', () => {
  it.each(['[SILENT]', 'SILENT', 'NO_REPLY', 'NO REPLY', ' [SILENT]\n'])(
    '%j is not sent, except to a person who waits for an answer',
    (text) => {
      expect(renderAnswer(text, false)).toBe('')
      expect(renderAnswer(text, true)).toContain('not to answer')
    },
  )

  it.each(['', '[', '[SIL', ' NO', 'NO ', 'NO_REPLY\n'])('%j may become one', (text) =>
    expect(mayBecomeSilent(text)).toBe(true),
  )

  it.each(['No', '[SILENT] ok', 'NOR', 'Hello'])('%j will not', (text) => expect(mayBecomeSilent(text)).toBe(false))

  it.each(['SILENT night', 'silent', '[SILENT] ok', ''])('%j is none', (text) =>
    expect(renderAnswer(text, false)).toBe(text),
  )
})

describe('the notice of expired replies', () => {
  it('contains their number and the beginning of the last one', () => {
    expect(renderDigest(1, 'Hello\n  there')).toContain('began: “Hello there”')
    expect(renderDigest(3, 'x')).toContain('3 replies')
  })

  it('does not split a character', () => {
    expect(renderDigest(1, `${'a'.repeat(159)}😀😀`).isWellFormed()).toBe(true)
  })
})
