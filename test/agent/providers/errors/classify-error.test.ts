import { describe, expect, it } from 'vitest'
import type { FailureKind } from '../../../../src/agent/model/failure.ts'
import { ErrorInBody } from '../../../../src/agent/providers/openai/chat-stream.ts'
import { type CallContext, classifyError } from '../../../../src/agent/providers/errors/classify-error.ts'
import { type PhraseGroup, phrases } from '../../../../src/agent/providers/errors/phrases.ts'

const now = Date.UTC(2026, 10, 21, 12, 0, 0)
const calm: CallContext = {
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
const kind = (thrown: unknown, around: Partial<CallContext> = {}) => classifyError(thrown, { ...calm, ...around }).kind

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
    ['a conflict of a moment', 409, 'Conflict', 'conflict'],
    ['a request that came too early', 425, 'Too early', 'conflict'],
    ['a limit under 409', 409, 'Too many concurrent requests, rate limit', 'rate'],
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

  it.each([
    ['context_length_exceeded', 'invalid_request_error', 'too-long'],
    ['insufficient_quota', 'insufficient_quota', 'quota'],
    ['rate_limit_exceeded', 'tokens', 'rate'],
    ['model_not_found', 'invalid_request_error', 'missing-model'],
    [null, 'authentication_error', 'auth'],
    [null, 'overloaded_error', 'overloaded'],
    [null, 'request_too_large', 'too-large'],
    [null, 'billing_error', 'quota'],
    [null, 'permission_error', 'forbidden'],
    [null, 'timeout_error', 'network'],
    [null, 'api_error', 'server'],
    ['', 'invalid_request_error', 'invalid'],
    ['content_filter', 'invalid_request_error', 'refused'],
    [529, 'whatever', 'overloaded'],
    ['429', 'whatever', 'rate'],
  ] as const)('reads the code %s and the type %s of an error inside an answer', (code, type, expected) => {
    expect(kind(new ErrorInBody({ message: 'x', code, type }))).toBe(expected)
  })

  it('believes the words beside a code that only says whose fault it is', () => {
    const inBody = (type: string, message: string) => kind(new ErrorInBody({ message, type }))
    expect(inBody('invalid_request_error', "This model's maximum context length is 8192 tokens")).toBe('too-long')
    expect(inBody('api_error', 'The model is overloaded')).toBe('overloaded')
  })

  it('finds what an aggregator wraps in an error inside an answer', () => {
    const metadata = { raw: '{"error":{"type":"rate_limit_error"}}' }
    expect(kind(new ErrorInBody({ message: 'Provider returned error', metadata }))).toBe('rate')
    expect(kind(new ErrorInBody('Rate limit reached'))).toBe('rate')
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
    const wide = { contextWindow: 1_000_000, messages: 300 }
    expect(kind(error(400, 'Bad Request'), { ...wide, promptTokens: 390_000 })).toBe('invalid')
    expect(kind(error(400, 'Bad Request'), { ...wide, promptTokens: 410_000 })).toBe('too-long')
  })

  it('a disconnect is a full window when the prompt is huge, unless the model thinks', () => {
    const lost = error(undefined, 'server disconnected')
    expect(kind(lost)).toBe('network')
    expect(kind(lost, { promptTokens: 150_000 })).toBe('too-long')
    expect(kind(lost, { promptTokens: 150_000, reasoning: true })).toBe('network')
    expect(kind(lost, { messages: 201 })).toBe('too-long')
    const wide = { contextWindow: 1_000_000, messages: 300 }
    expect(kind(lost, { ...wide, promptTokens: 500_000 })).toBe('network')
    expect(kind(lost, { ...wide, promptTokens: 610_000 })).toBe('too-long')
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
    classifyError(error(429, message, { headers: new Headers(headers) }), calm).retryAfterMs

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
  ])('is read from words, all of them: %s', (words, expected) => {
    expect(after({}, words)).toBe(expected)
  })

  it.each([
    ['2026-11-21T14:00:10+02:00', 10_000],
    ['2026-11-21T06:30:10.250-05:30', 10_000],
    ['2026-11-21T12:00:10.5Z', 10_000],
  ])('is read from ISO 8601 with its offset: %s', (value, expected) => {
    expect(after({ 'retry-after': value })).toBe(expected)
    expect(after({}, `Your usage limit resets at ${value}.`)).toBe(expected)
  })

  it.each([
    ['seconds since 1970', { resets_at: now / 1_000 + 90 }, 90_000],
    ['seconds', { type: 'usage_limit_reached', resets_in_seconds: 45 }, 45_000],
    ['a duration', { details: { retryDelay: '17s' } }, 17_000],
    ['milliseconds among headers', { metadata: { headers: { 'X-RateLimit-Reset': String(now + 5_000) } } }, 5_000],
    ['ISO 8601', { reset_at: '2026-11-21T12:00:10Z' }, 10_000],
  ])('is read from fields of the error: %s', (_name, fields, expected) => {
    expect(classifyError(error(429, 'slow down', { error: fields }), calm).retryAfterMs).toBe(expected)
  })

  it('of a minute’s allowance is read where Google says it, and is no empty account', () => {
    const message =
      'You exceeded your current quota, please check your plan and billing details.\nPlease retry in 30.512s.'
    const violations = [{ quotaId: 'GenerateRequestsPerMinutePerProjectPerModel-FreeTier' }]
    const details = [
      { '@type': 'QuotaFailure', violations },
      { '@type': 'RetryInfo', retryDelay: '30s' },
    ]
    const body = { code: 429, message, status: 'RESOURCE_EXHAUSTED', details }
    expect(classifyError(error(429, `429 ${message}`, { error: body }), calm)).toMatchObject({
      kind: 'rate',
      retryAfterMs: 30_000,
    })
    expect(classifyError(error(429, `429 ${message}`), calm)).toMatchObject({ kind: 'rate', retryAfterMs: 30_512 })
    const empty = { error: { code: 'insufficient_quota', message } }
    expect(kind(error(429, `429 ${message}`, empty))).toBe('quota')
    expect(kind(error(429, 'Insufficient balance. Top up and retry.'))).toBe('quota')
  })

  it('in a header is taken before one in the error', () => {
    const both = error(429, 'slow down', { headers: new Headers({ 'retry-after': '30' }), error: { resets_at: 5 } })
    expect(classifyError(both, calm).retryAfterMs).toBe(30_000)
  })

  it('is nothing where nothing is said, and where the allowance is not used up', () => {
    expect(after({})).toBeUndefined()
    expect(after({ 'x-ratelimit-reset': '60', 'x-ratelimit-remaining': '12' })).toBeUndefined()
  })

  it('the tokens that may be asked for are read too', () => {
    expect(classifyError(error(400, 'max_tokens too large: available 1,000'), calm)).toMatchObject({ available: 1_000 })
  })

  const window = "This model's maximum context length is 32768 tokens"
  it.each([
    [
      `'max_tokens' or 'max_completion_tokens' is too large: 32000. ${window} and your request has 5000 input tokens (32000 > 32768 - 5000).`,
      27_768,
    ],
    [`'max_tokens' is too large: 32000. ${window} and your request has 5,000 input tokens.`, 27_768],
    [`${window}. However, you requested 34000 tokens (30000 in the messages, 4000 in max_tokens).`, 2_768],
    ['input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease either', 11_760],
  ])('are what the prompt leaves of the window: %s', (message, available) => {
    expect(classifyError(error(400, message), calm)).toMatchObject({ kind: 'output-cap', available })
  })

  it.each([
    `${window}. However, you requested 40000 tokens (39000 in the messages, 1000 in max_tokens).`,
    `${window}. However, you requested 33268 tokens (32268 in the messages, 1000 in max_tokens).`,
    'input length and `max_tokens` exceed context limit: 210000 + 4096 > 200000, decrease either',
  ])('are too few when the prompt leaves nothing to speak of: %s', (message) => {
    expect(kind(error(400, message))).toBe('too-long')
  })
})

it('keys never stand in a message', () => {
  const { message } = classifyError(error(401, 'Incorrect API key provided: sk-proj-abcdefghijkl'), calm)
  expect(message).toBe('Incorrect API key provided: sk-…')
})

it.each([
  ['Zq7-odd-looking', 'No such key: Zq7-odd-looking.', 'No such key: ….'],
  ['AKIDEXAMPLE:wJalrXUtnFEMI', 'AKIDEXAMPLE may not do this with wJalrXUtnFEMI', '… may not do this with …'],
  ['key', 'A key is a key.', 'A key is a key.'],
  ['', 'There is no key.', 'There is no key.'],
])('the key %j that was sent stands in no message, whatever it looks like', (key, said, shown) => {
  expect(classifyError(error(401, said), { ...calm, key }).message).toBe(shown)
})

describe('of several signs the first in the order counts', () => {
  it.each([
    ['a refusal before a status', error(429, 'Your request was flagged by our filter: content_filter'), 'refused'],
    ['a status before a code', error(503, 'x', { type: 'rate_limit_error' }), 'overloaded'],
    [
      'a tier under 429 before a rate',
      error(429, 'Extra usage is required for long context requests'),
      'long-context-tier',
    ],
    ['an image before a window', error(400, 'image exceeds 5 MB maximum, maximum context length'), 'image-too-large'],
    [
      'a cap on output before a window',
      error(400, 'max_tokens too large, maximum of 4096 exceeds context length'),
      'output-cap',
    ],
    ['a window before a model', error(400, 'prompt is too long for model not found'), 'too-long'],
    ['a code before words', error(undefined, 'overloaded', { code: 'insufficient_quota' }), 'quota'],
    ['money before a rate', error(undefined, 'insufficient credits, rate limit'), 'quota'],
    [
      'a certificate before the wire',
      error(undefined, 'fetch failed', { cause: new Error('certificate has expired') }),
      'tls',
    ],
  ] as const)('%s', (_name, thrown, expected) => expect(kind(thrown)).toBe(expected))
})

describe('every phrase is enough by itself', () => {
  type Meaning = { readonly kind: FailureKind; readonly status?: number; readonly beside?: string }
  const meanings: Record<PhraseGroup, Meaning> = {
    refused: { kind: 'refused' },
    thinkingSignature: { kind: 'thinking-signature', status: 400 },
    encryptedReasoning: { kind: 'encrypted-reasoning', status: 400 },
    longContextTier: { kind: 'long-context-tier', status: 429 },
    longContextBeta: { kind: 'long-context-beta', status: 400 },
    grammar: { kind: 'grammar', status: 400 },
    billing: { kind: 'quota' },
    rate: { kind: 'rate' },
    usageLimit: { kind: 'quota', status: 402 },
    passing: { kind: 'rate', status: 402, beside: 'usage limit' },
    overloaded: { kind: 'overloaded' },
    overflow: { kind: 'too-long' },
    payload: { kind: 'too-large' },
    image: { kind: 'image-too-large', status: 400 },
    toolContent: { kind: 'tool-content', status: 400 },
    model: { kind: 'missing-model' },
    badRequest: { kind: 'invalid', status: 400 },
    accountPolicy: { kind: 'account-policy', status: 404 },
    emptyProvider: { kind: 'server', status: 400 },
    keyDead: { kind: 'key-dead' },
    auth: { kind: 'auth' },
    forbidden: { kind: 'forbidden' },
    certificate: { kind: 'tls' },
    tlsPassing: { kind: 'network' },
    connect: { kind: 'network' },
    disconnect: { kind: 'network' },
  }
  const all = Object.entries(phrases).flatMap(([group, list]) =>
    list.map((phrase) => ({ group, phrase, ...meanings[group as PhraseGroup] })),
  )
  it.each(all)('$group: $phrase', ({ phrase, kind: expected, status, beside = '' }) => {
    expect(kind(error(status, `${beside} and then: ${phrase} for a reason`))).toBe(expected)
  })
})
