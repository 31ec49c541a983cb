import { describe, expect, it } from 'vitest'
import type { FailureKind } from '../../../src/agent/model/failure.ts'
import { type Circumstances, classify } from '../../../src/agent/wire/classify.ts'

const now = Date.UTC(2026, 10, 21, 12, 0, 0)
const calm: Circumstances = {
  promptTokens: 1_000,
  contextWindow: 200_000,
  messages: 4,
  reasoning: false,
  aggregator: false,
  stalled: false,
  now,
}

const error = (status: number | undefined, message: string, more: object = {}) =>
  Object.assign(new Error(message), { ...(status && { status }), ...more })
const kind = (thrown: unknown, around: Partial<Circumstances> = {}) => classify(thrown, { ...calm, ...around }).kind

describe('an error is understood by its status and the words beside it', () => {
  const cases: readonly (readonly [string, number | undefined, string, FailureKind])[] = [
    ['a refused key', 401, 'Incorrect API key provided', 'auth'],
    ['a revoked key', 401, 'This token has been revoked', 'key-dead'],
    ['no money', 402, 'Payment required', 'quota'],
    ['a limit that waiting lifts, under 402', 402, 'usage limit reached, try again in 5 min', 'rate'],
    ['a key that may not', 403, 'Permission denied for this project', 'forbidden'],
    ['a key limit under 403', 403, 'key limit exceeded', 'quota'],
    ['an unknown model', 404, 'The model `gpt-9` does not exist', 'missing-model'],
    ['a bare 404', 404, 'Not Found', 'unknown'],
    ['account rules under 404', 404, 'No endpoints found matching your data policy', 'account-policy'],
    ['a slow server', 408, 'Request timeout', 'network'],
    ['too many bytes', 413, 'Request Entity Too Large', 'too-large'],
    ['too many requests', 429, 'Too many requests', 'rate'],
    ['an overloaded server under 429', 429, 'The engine is overloaded', 'overloaded'],
    ['an empty account under 429', 429, 'You exceeded your current quota, please check your plan', 'quota'],
    ['a tier under 429', 429, 'Extra usage is required for long context requests', 'long-context-tier'],
    ['a broken server', 500, 'Internal error', 'server'],
    ['a full window under 500', 500, 'prompt is too long: 210000 tokens', 'too-long'],
    ['an overloaded server', 529, 'Overloaded', 'overloaded'],
    ['an unavailable server', 503, 'Service unavailable', 'overloaded'],
    ['a full window', 400, "This model's maximum context length is 128000 tokens", 'too-long'],
    ['a full window, in Chinese', 400, '输入超过最大长度', 'too-long'],
    ['throttling that counts tokens', 429, 'Throttling: too many tokens, please slow down', 'rate'],
    ['an image that is too large', 400, 'image exceeds 5 MB maximum', 'image-too-large'],
    ['results that may only be text', 400, 'tool message content must be a string', 'tool-content'],
    ['thinking that does not verify', 400, 'Invalid `signature` in thinking block', 'thinking-signature'],
    ['reasoning that does not decrypt', 400, 'invalid_encrypted_content', 'encrypted-reasoning'],
    ['a schema that does not compile', 400, 'failed to parse grammar', 'grammar'],
    ['more output than there is', 400, 'max_tokens is too large; available 1000 tokens', 'output-cap'],
    ['a parameter that is not known', 400, 'Unrecognized request argument supplied: foo', 'invalid'],
    ['an account policy', 400, 'no endpoints available matching your guardrail', 'account-policy'],
    ['a filter', 400, 'The response was filtered: ResponsibleAIPolicyViolation', 'refused'],
    ['an upstream that is gone, under 400', 400, 'Provider returned error', 'server'],
    ['a certificate', undefined, 'certificate verify failed: self-signed certificate', 'tls'],
    ['a TLS alert', undefined, 'SSL alert: bad record mac', 'network'],
    ['a broken connection', undefined, 'Network connection lost.', 'network'],
    ['an internal error of the platform', undefined, 'internal error; reference = abc123', 'network'],
    ['a name that does not resolve', undefined, 'getaddrinfo failed', 'network'],
    ['something else', undefined, 'what is this', 'unknown'],
  ]
  it.each(cases)('%s', (_name, status, message, expected) => {
    expect(kind(error(status, message))).toBe(expected)
  })

  it('reads codes where there is no status', () => {
    expect(kind(error(undefined, 'slow', { type: 'rate_limit_error' }))).toBe('rate')
    expect(kind(error(undefined, 'slow', { type: 'overloaded_error' }))).toBe('overloaded')
    expect(kind(error(undefined, 'long', { code: 'context_length_exceeded' }))).toBe('too-long')
  })

  it('finds the upstream error that an aggregator wraps', () => {
    const wrapped = error(undefined, 'Provider returned error', {
      error: { code: 429, metadata: { raw: '{"error":{"message":"rate-limited upstream"}}' } },
    })
    expect(kind(wrapped, { aggregator: true })).toBe('upstream-rate')
    expect(kind(error(429, 'rate-limited upstream, retry shortly'), { aggregator: true })).toBe('upstream-rate')
    expect(kind(error(429, 'rate-limited upstream, retry shortly'))).toBe('rate')
  })

  it('follows causes, but not for ever', () => {
    expect(kind(new Error('Connection error.', { cause: new Error('ECONNREFUSED') }))).toBe('network')
    const loop: { cause?: unknown; message: string } = { message: 'x' }
    loop.cause = loop
    expect(kind(loop)).toBe('unknown')
  })
})

describe('what is not said is read off the circumstances', () => {
  it('a short 400 without a reason is a full window when the prompt is long', () => {
    expect(kind(error(400, 'Bad Request'))).toBe('invalid')
    expect(kind(error(400, 'Bad Request'), { messages: 81 })).toBe('too-long')
    expect(kind(error(400, 'Bad Request'), { promptTokens: 90_000 })).toBe('too-long')
  })

  it('a disconnect is a full window when the prompt is huge, unless the model thinks', () => {
    const lost = error(undefined, 'server disconnected')
    expect(kind(lost)).toBe('network')
    expect(kind(lost, { promptTokens: 150_000 })).toBe('too-long')
    expect(kind(lost, { promptTokens: 150_000, reasoning: true })).toBe('network')
    expect(kind(error(undefined, 'connection refused'), { promptTokens: 150_000 })).toBe('network')
  })

  it('a call that was given up for silence is stalled, and one we cancelled is aborted', () => {
    const cancelled = Object.assign(new Error('This operation was aborted'), { name: 'AbortError' })
    expect(kind(cancelled)).toBe('aborted')
    expect(kind(cancelled, { stalled: true })).toBe('stalled')
  })
})

describe('the time to wait', () => {
  const after = (headers: Record<string, string>, message = 'slow down') =>
    classify(error(429, message, { headers: new Headers(headers) }), calm).retryAfterMs

  it.each([
    ['seconds', { 'retry-after': '30' }, 30_000],
    ['milliseconds', { 'retry-after-ms': '1500' }, 1_500],
    ['an HTTP date', { 'retry-after': 'Sat, 21 Nov 2026 12:01:00 GMT' }, 60_000],
    ['a time in seconds', { 'x-ratelimit-reset': String(now / 1_000 + 90) }, 90_000],
    ['a time in milliseconds', { 'x-ratelimit-reset': String(now + 5_000) }, 5_000],
    ['ISO 8601', { 'x-ratelimit-reset': '2026-11-21T12:00:10Z' }, 10_000],
    ['a duration', { 'x-ratelimit-reset-tokens': '6m0s' }, 360_000],
  ])('is read from %s', (_name, headers, expected) => {
    expect(after(headers as unknown as Record<string, string>)).toBe(expected)
  })

  it('is read from words', () => {
    expect(after({}, 'Rate limit reached. Please try again in 20s.')).toBe(20_000)
    expect(after({}, 'too many requests, retry after 5 minutes')).toBe(300_000)
  })

  it('is nothing where nothing is said, and where the allowance is not used up', () => {
    expect(after({})).toBeUndefined()
    expect(after({ 'x-ratelimit-reset': '60', 'x-ratelimit-remaining': '12' })).toBeUndefined()
  })

  it('the tokens that may be asked for are read too', () => {
    expect(classify(error(400, 'max_tokens too large: available 1,000'), calm)).toMatchObject({ available: 1_000 })
  })
})

it('keys never stand in a message', () => {
  const { message } = classify(error(401, 'Incorrect API key provided: sk-proj-abcdefghijkl'), calm)
  expect(message).toBe('Incorrect API key provided: sk-…')
})
