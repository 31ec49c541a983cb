import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DeliveryRecord, SendOutcome } from '../../../src/agent/model/delivery.ts'
import {
  afterAttempt,
  renderDigest,
  maxReplyAgeMs,
  interrupt,
  isOpen,
  type DeliveryOptions,
  nextDeliveryStep,
  afterFailedProbe,
  maxNoticeAgeMs,
  createDelivery,
  startSending,
  mayBecomeSilent,
  renderAnswer,
} from '../../../src/agent/policy/delivery-attempt.ts'

const plain: DeliveryOptions = { isIdempotent: false, isLongLived: false }
const keyed: DeliveryOptions = { isIdempotent: true, isLongLived: false }
const patient: DeliveryOptions = { isIdempotent: false, isLongLived: true }
const began = 1_000_000_000
const out = () => startSending(createDelivery(began))
const send = { do: 'send', isMarked: false, asksFirst: false }
const marked = { do: 'send', isMarked: true, asksFirst: true }
const failed: SendOutcome = { of: 'failed', detail: 'HTTP 502' }
const lost: SendOutcome = { of: 'lost', detail: 'the connection broke' }
const format: SendOutcome = { of: 'format', detail: "can't parse entities" }

describe('a part that was prepared', () => {
  it('is sent', () => expect(nextDeliveryStep(createDelivery(began), plain, began)).toEqual(send))

  it.each([
    ['a reply, in time', plain, maxReplyAgeMs, send],
    ['a reply, too late', plain, maxReplyAgeMs + 1, { do: 'expire' }],
    ['a question, late', patient, maxReplyAgeMs + 1, send],
    ['a question, a day later', patient, maxNoticeAgeMs + 1, { do: 'expire' }],
  ])('goes by its age: %s', (_name, manner, age, step) => {
    expect(nextDeliveryStep(createDelivery(began), manner, began + age)).toEqual(step)
  })

  it('is not older because the clock went back', () => {
    expect(nextDeliveryStep(createDelivery(began), plain, began - 10 * maxReplyAgeMs)).toEqual(send)
    expect(
      nextDeliveryStep({ ...createDelivery(began), due: began + 5_000 }, plain, began - 10 * maxReplyAgeMs),
    ).toEqual(send)
  })
})

describe('an attempt', () => {
  it('that was taken is the last one, and its id is kept', () => {
    expect(afterAttempt(out(), { of: 'sent', id: '7' }, plain, began)).toMatchObject({ state: 'sent', platformId: '7' })
  })

  it('that was too much waits as long as told', () => {
    const after = afterAttempt(out(), { of: 'busy', waitMs: 7_000, detail: '429' }, plain, began)
    expect(nextDeliveryStep(after, plain, began)).toEqual({ do: 'wait', until: began + 7_000 })
    expect(nextDeliveryStep(after, plain, began + 7_000)).toEqual(send)
  })

  it('that has to wait beyond the time of a reply expires at once', () => {
    const after = afterAttempt(out(), { of: 'busy', waitMs: 3_600_000, detail: '429' }, plain, began)
    expect(nextDeliveryStep(after, plain, began)).toEqual({ do: 'expire' })
  })

  it('that failed is made again, later each time, unmarked', () => {
    let custody = out()
    const pauses: number[] = []
    let now = began
    for (let n = 0; n < 12; n++) {
      custody = afterAttempt(startSending(custody), failed, plain, now)
      pauses.push(custody.due - now)
      now = custody.due
    }
    expect(nextDeliveryStep({ ...custody, due: 0 }, plain, began)).toEqual(send)
    expect(pauses.slice(0, 5)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000])
    expect(Math.max(...pauses)).toBe(300_000)
    expect(nextDeliveryStep(custody, plain, now)).toEqual({ do: 'expire' })
  })

  it('that could not be parsed is made once without styles', () => {
    const again = afterAttempt(out(), format, plain, began)
    expect([again.isPlain, nextDeliveryStep(again, plain, began)]).toEqual([true, send])
    expect(afterAttempt(startSending(again), format, plain, began)).toMatchObject({ state: 'dead' })
  })

  it('that is refused is the last one', () => {
    const refused: SendOutcome = { of: 'refused', scope: 'chat', detail: 'Forbidden: bot was blocked by the user' }
    expect(afterAttempt(out(), refused, plain, began)).toMatchObject({ state: 'dead', error: refused.detail })
  })
})

describe('an attempt of which nobody knows whether it was taken', () => {
  const ways = [
    ['the object died', (custody: DeliveryRecord, manner: DeliveryOptions) => interrupt(custody, manner, began)],
    [
      'the connection broke',
      (custody: DeliveryRecord, manner: DeliveryOptions) => afterAttempt(custody, lost, manner, began),
    ],
  ] as const

  it.each(ways)('%s: is made once more, marked, when something harmless has got through', (_name, lose) => {
    const again = lose(out(), plain)
    expect(nextDeliveryStep(again, plain, again.due)).toEqual(marked)
    expect(lose(startSending(again), plain)).toMatchObject({ state: 'unknown' })
  })

  it.each(ways)('%s: is made again unmarked where the platform knows it', (_name, lose) => {
    const again = lose(out(), keyed)
    expect(nextDeliveryStep(again, keyed, again.due)).toEqual(send)
    expect(isOpen(lose(startSending(again), keyed))).toBe(true)
  })

  it('stays the one attempt while the platform cannot be reached', () => {
    let custody = interrupt(out(), plain, began)
    for (let n = 0; n < 5; n++) custody = afterFailedProbe(custody, lost, plain, custody.due)
    expect(nextDeliveryStep(custody, plain, custody.due)).toEqual(marked)
  })

  it('is still marked when it failed in between', () => {
    const again = afterAttempt(startSending(interrupt(out(), plain, began)), failed, plain, began)
    expect(nextDeliveryStep(again, plain, again.due)).toEqual(marked)
  })
})

const outcome: fc.Arbitrary<SendOutcome | 'death'> = fc.constantFrom<(SendOutcome | 'death')[]>(
  failed,
  lost,
  format,
  'death',
  { of: 'sent', id: '1' },
  { of: 'busy', waitMs: 1_000, detail: '429' },
  { of: 'busy', detail: '429' },
  { of: 'gone', detail: 'message to edit not found' },
  { of: 'refused', scope: 'message', detail: 'Bad Request' },
)

describe('whatever happens', () => {
  it('at most one unmarked message arrives, at most one marked one, and there is an end', () => {
    fc.assert(
      fc.property(fc.array(outcome, { maxLength: 60 }), fc.boolean(), (outcomes, takenWhenLost) => {
        let custody = createDelivery(began)
        let now = began
        const arrived: boolean[] = []
        for (const what of outcomes) {
          const step = nextDeliveryStep(custody, plain, now)
          if (step.do === 'wait') now = step.until
          if (step.do !== 'send') {
            if (step.do === 'expire') break
            continue
          }
          const isLost = what === 'death' || what.of === 'lost'
          if (isLost ? takenWhenLost : what.of === 'sent') arrived.push(step.isMarkedDuplicate)
          custody =
            what === 'death'
              ? interrupt(startSending(custody), plain, now)
              : afterAttempt(startSending(custody), what, plain, now)
          if (!isOpen(custody)) break
        }
        expect(['', 'false', 'true', 'false,true']).toContain(arrived.join())
      }),
    )
  })

  it('a platform that fails for ever is given up', () => {
    let custody: DeliveryRecord = createDelivery(began)
    for (let n = 0; n < 1_000 && isOpen(custody); n++)
      custody = afterAttempt(startSending(custody), failed, patient, began)
    expect(custody).toMatchObject({ state: 'dead', error: 'gave up: HTTP 502' })
  })
})

describe('silence', () => {
  it.each(['[SILENT]', 'SILENT', 'NO_REPLY', 'NO REPLY', ' [SILENT]\n'])(
    '%j is kept, but not towards a person',
    (text) => {
      expect(renderAnswer(text, false)).toBe('')
      expect(renderAnswer(text, true)).toContain('No answer')
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

describe('the line in place of replies that are too old', () => {
  it('says how many there were and how the last one began', () => {
    expect(renderDigest(1, 'Hello\n  there')).toContain('began: “Hello there”')
    expect(renderDigest(3, 'x')).toContain('3 replies')
  })

  it('cuts no character in two', () => {
    expect(renderDigest(1, `${'a'.repeat(159)}😀😀`).isWellFormed()).toBe(true)
  })
})
