/** Tests parsing of retry times through classifyError(), with the headers and bodies that providers send. */

import { describe, expect, it } from 'vitest'
import { type ErrorContext, classifyError } from '#agent/providers/errors/classify-error.ts'

const now = Date.UTC(2026, 10, 21, 12, 0, 0)
const smallCall: ErrorContext = {
  promptTokens: 1_000,
  contextWindow: 200_000,
  messageCount: 4,
  isReasoning: false,
  isAggregator: false,
  isStalled: false,
  now,
}

const error = (status: number | undefined, message: string, more: object = {}) =>
  Object.assign(new Error(message), { ...(status && { status }), ...more })
const kindOf = (thrown: unknown, context: Partial<ErrorContext> = {}) =>
  classifyError(thrown, { ...smallCall, ...context }).kind

describe('the retry time of an error', () => {
  const retryAfterOf = (headers: Record<string, string>, message = 'slow down') =>
    classifyError(error(429, message, { headers: new Headers(headers) }), smallCall).retryAfterMs

  it.each([
    ['seconds', { 'retry-after': '30' }, 30_000],
    ['milliseconds', { 'retry-after-ms': '1500' }, 1_500],
    ['an HTTP date', { 'retry-after': 'Sat, 21 Nov 2026 12:01:00 GMT' }, 60_000],
    ['seconds since 1970', { 'x-ratelimit-reset': String(now / 1_000 + 90) }, 90_000],
    ['milliseconds since 1970', { 'x-ratelimit-reset': String(now + 5_000) }, 5_000],
    ['ISO 8601', { 'x-ratelimit-reset': '2026-11-21T12:00:10Z' }, 10_000],
    ['a duration', { 'x-ratelimit-reset-tokens': '6m0s' }, 360_000],
  ])('is parsed from %s', (_name, headers, expected) => {
    expect(retryAfterOf(headers as unknown as Record<string, string>)).toBe(expected)
  })

  it('is parsed from prose', () => {
    expect(retryAfterOf({}, 'Rate limit reached. Please try again in 20s.')).toBe(20_000)
    expect(retryAfterOf({}, 'too many requests, retry after 5 minutes')).toBe(300_000)
  })

  it.each([
    ['Please try again in 7m12s.', 432_000],
    ['Please try again in 1h5m. Visit the console.', 3_900_000],
    ['Please try again in 6.254s.', 6_254],
    ['Please try again in 1m26.4s.', 86_400],
    ['Please try again in 850ms.', 850],
    ['Please wait 2 minutes and 30 seconds.', 150_000],
    ['resets in 1 day, 2 hours', 93_600_000],
    ['Please retry in 3 hrs', 10_800_000],
    ['Please wait. There may be 20 requests in 60 seconds.', undefined],
    ['Please retry after 5 megabytes', undefined],
  ])('is parsed from all units in prose: %s', (words, expected) => {
    expect(retryAfterOf({}, words)).toBe(expected)
  })

  it.each([
    ['2026-11-21T14:00:10+02:00', 10_000],
    ['2026-11-21T06:30:10.250-05:30', 10_000],
    ['2026-11-21T12:00:10.5Z', 10_000],
  ])('is parsed from ISO 8601 with an offset: %s', (value, expected) => {
    expect(retryAfterOf({ 'retry-after': value })).toBe(expected)
    expect(retryAfterOf({}, `Your usage limit resets at ${value}.`)).toBe(expected)
  })

  it.each([
    ['seconds since 1970', { resets_at: now / 1_000 + 90 }, 90_000],
    ['seconds', { type: 'usage_limit_reached', resets_in_seconds: 45 }, 45_000],
    ['a duration', { details: { retryDelay: '17s' } }, 17_000],
    ['milliseconds among headers', { metadata: { headers: { 'X-RateLimit-Reset': String(now + 5_000) } } }, 5_000],
    ['ISO 8601', { reset_at: '2026-11-21T12:00:10Z' }, 10_000],
  ])('is parsed from fields of the error: %s', (_name, fields, expected) => {
    expect(classifyError(error(429, 'slow down', { error: fields }), smallCall).retryAfterMs).toBe(expected)
  })

  it('is parsed from Google’s per-minute limit, which is a rate limit and not an exhausted quota', () => {
    const message =
      'You exceeded your current quota, please check your plan and billing details.\nPlease retry in 30.512s.'
    const violations = [{ quotaId: 'GenerateRequestsPerMinutePerProjectPerModel-FreeTier' }]
    const details = [
      { '@type': 'QuotaFailure', violations },
      { '@type': 'RetryInfo', retryDelay: '30s' },
    ]
    const body = { code: 429, message, status: 'RESOURCE_EXHAUSTED', details }
    expect(classifyError(error(429, `429 ${message}`, { error: body }), smallCall)).toMatchObject({
      kind: 'rate',
      retryAfterMs: 30_000,
    })
    expect(classifyError(error(429, `429 ${message}`), smallCall)).toMatchObject({ kind: 'rate', retryAfterMs: 30_512 })
    const exhausted = { error: { code: 'insufficient_quota', message } }
    expect(kindOf(error(429, `429 ${message}`, exhausted))).toBe('quota')
    expect(kindOf(error(429, 'Insufficient balance. Top up and retry.'))).toBe('quota')
  })

  it('comes from the header before the body', () => {
    const both = error(429, 'slow down', { headers: new Headers({ 'retry-after': '30' }), error: { resets_at: 5 } })
    expect(classifyError(both, smallCall).retryAfterMs).toBe(30_000)
  })

  it('is undefined without a hint, and while the allowance is not used up', () => {
    expect(retryAfterOf({})).toBeUndefined()
    expect(retryAfterOf({ 'x-ratelimit-reset': '60', 'x-ratelimit-remaining': '12' })).toBeUndefined()
  })
})
