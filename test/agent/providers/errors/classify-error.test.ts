import { describe, expect, it } from 'vitest'
import { StreamBroken } from '#agent/core/dialect.ts'
import type { FailureKind } from '#agent/core/failure.ts'
import { ErrorInBody } from '#agent/providers/shared/error-in-body.ts'
import { type ErrorContext, classifyError } from '#agent/providers/errors/classify-error.ts'
import { type PhraseGroup, phrases } from '#agent/providers/errors/phrases.ts'

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

describe('classifyError() reads the status together with the message', () => {
  const cases: readonly (readonly [string, number | undefined, string, FailureKind])[] = [
    ['an invalid key', 401, 'Incorrect API key provided', 'auth'],
    ['a revoked key', 401, 'This token has been revoked', 'key-dead'],
    ['an unpaid account', 402, 'Payment required', 'quota'],
    ['a temporary limit under 402', 402, 'usage limit reached, try again in 5 min', 'rate'],
    ['a key without permission', 403, 'Permission denied for this project', 'forbidden'],
    ['a key limit under 403', 403, 'key limit exceeded', 'quota'],
    ['an unknown model', 404, 'The model `gpt-9` does not exist', 'missing-model'],
    ['a bare 404', 404, 'Not Found', 'unknown'],
    ['account rules under 404', 404, 'No endpoints found matching your data policy', 'account-policy'],
    ['a server timeout', 408, 'Request timeout', 'network'],
    ['a temporary conflict', 409, 'Conflict', 'conflict'],
    ['425 Too Early', 425, 'Too early', 'conflict'],
    ['a limit under 409', 409, 'Too many concurrent requests, rate limit', 'rate'],
    ['too many bytes', 413, 'Request Entity Too Large', 'too-large'],
    ['too many requests', 429, 'Too many requests', 'rate'],
    ['an overloaded server under 429', 429, 'The engine is overloaded', 'overloaded'],
    ['an exhausted quota under 429', 429, 'You exceeded your current quota, please check your plan', 'quota'],
    ['a long-context tier under 429', 429, 'Extra usage is required for long context requests', 'long-context-tier'],
    ['an internal server error', 500, 'Internal error', 'server'],
    ['a prompt that is too long under 500', 500, 'prompt is too long: 210000 tokens', 'too-long'],
    ['an overloaded server', 529, 'Overloaded', 'overloaded'],
    ['an unavailable server', 503, 'Service unavailable', 'overloaded'],
    ['a prompt that is too long', 400, "This model's maximum context length is 128000 tokens", 'too-long'],
    ['a prompt that is too long, in Chinese', 400, '输入超过最大长度', 'too-long'],
    ['a prompt that is too long for DashScope', 400, 'Range of input length should be [1, 98304]', 'too-long'],
    ['a prompt that is too long for TGI', 422, '`inputs` must have less than 6144 tokens. Given: 7000', 'too-long'],
    [
      'a prompt that is too long for DeepInfra',
      400,
      'inference request failed: sequence length 70000 exceeds the maximum 65536',
      'too-long',
    ],
    [
      'a prompt that is too long for SiliconFlow',
      400,
      '{"code":20015,"message":"length of prompt_tokens (70000) must be less than max_seq_len (65536)."}',
      'too-long',
    ],
    ['a parameter outside of its range', 400, 'Range of top_p should be (0.0, 1.0]', 'invalid'],
    ['throttling that counts tokens', 429, 'Throttling: too many tokens, please slow down', 'rate'],
    ['throttling of tokens under 400', 400, 'Too many tokens, please wait before trying again.', 'rate'],
    ['throttling of tokens under 500', 500, 'ThrottlingException: Too many tokens per day', 'rate'],
    ['throttling of tokens without a status', undefined, 'Request was throttled: too many tokens', 'rate'],
    ['too many tokens in a prompt', 400, 'too many tokens: max 128000, got 130000 generated', 'too-long'],
    ['an image that is too large', 400, 'image exceeds 5 MB maximum', 'image-too-large'],
    ['tool results that must be text', 400, 'tool message content must be a string', 'tool-content'],
    ['a thinking signature that does not verify', 400, 'Invalid `signature` in thinking block', 'thinking-signature'],
    ['reasoning that does not decrypt', 400, 'invalid_encrypted_content', 'encrypted-reasoning'],
    ['a schema that does not compile', 400, 'failed to parse grammar', 'grammar'],
    ['max_tokens above the available tokens', 400, 'max_tokens is too large; available 1000 tokens', 'output-cap'],
    ['an unknown parameter', 400, 'Unrecognized request argument supplied: foo', 'invalid'],
    ['an account policy', 400, 'no endpoints available matching your guardrail', 'account-policy'],
    ['a content filter', 400, 'The response was filtered: ResponsibleAIPolicyViolation', 'refused'],
    ['an unavailable upstream under 400', 400, 'Provider returned error', 'server'],
    ['an invalid certificate', undefined, 'certificate verify failed: self-signed certificate', 'tls'],
    ['a TLS alert', undefined, 'SSL alert: bad record mac', 'network'],
    ['a lost connection', undefined, 'Network connection lost.', 'network'],
    ['an internal error of the platform', undefined, 'internal error; reference = abc123', 'network'],
    ['a name that does not resolve', undefined, 'getaddrinfo failed', 'network'],
    ['an unknown error', undefined, 'what is this', 'unknown'],
  ]
  it.each(cases)('%s', (_name, status, message, expected) => {
    expect(kindOf(error(status, message))).toBe(expected)
  })

  it('reads error codes when there is no status', () => {
    expect(kindOf(error(undefined, 'slow', { type: 'rate_limit_error' }))).toBe('rate')
    expect(kindOf(error(undefined, 'slow', { type: 'overloaded_error' }))).toBe('overloaded')
    expect(kindOf(error(undefined, 'long', { code: 'context_length_exceeded' }))).toBe('too-long')
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
    expect(kindOf(new ErrorInBody({ message: 'x', code, type }))).toBe(expected)
  })

  it('prefers the message over a code that only says whose fault it is', () => {
    const inBody = (type: string, message: string) => kindOf(new ErrorInBody({ message, type }))
    expect(inBody('invalid_request_error', "This model's maximum context length is 8192 tokens")).toBe('too-long')
    expect(inBody('api_error', 'The model is overloaded')).toBe('overloaded')
  })

  it('reads an upstream error that an aggregator puts inside an answer', () => {
    const metadata = { raw: '{"error":{"type":"rate_limit_error"}}' }
    expect(kindOf(new ErrorInBody({ message: 'Provider returned error', metadata }))).toBe('rate')
    expect(kindOf(new ErrorInBody('Rate limit reached'))).toBe('rate')
  })

  it('reads an upstream error that an aggregator wraps in its own error', () => {
    const wrapped = error(undefined, 'Provider returned error', {
      error: { code: 429, metadata: { raw: '{"error":{"message":"rate-limited upstream"}}' } },
    })
    expect(kindOf(wrapped, { isAggregator: true })).toBe('upstream-rate')
    expect(kindOf(error(429, 'rate-limited upstream, retry shortly'), { isAggregator: true })).toBe('upstream-rate')
    expect(kindOf(error(429, 'rate-limited upstream, retry shortly'))).toBe('rate')
  })

  it('treats a broken stream as a network failure', () => {
    expect(kindOf(new StreamBroken('the stream ended'))).toBe('network')
  })

  it('follows nested causes up to a limit', () => {
    expect(kindOf(new Error('Connection error.', { cause: new Error('ECONNREFUSED') }))).toBe('network')
    const loop: { cause?: unknown; message: string } = { message: 'x' }
    loop.cause = loop
    expect(kindOf(loop)).toBe('unknown')
  })
})

describe('classifyError() uses the call context when the error gives no reason', () => {
  it('treats a short 400 without a reason as too-long when the prompt is long', () => {
    expect(kindOf(error(400, 'Bad Request'))).toBe('invalid')
    expect(kindOf(error(400, 'Bad Request'), { messageCount: 81 })).toBe('too-long')
    expect(kindOf(error(400, 'Bad Request'), { promptTokens: 90_000 })).toBe('too-long')
    const wide = { contextWindow: 1_000_000, messageCount: 300 }
    expect(kindOf(error(400, 'Bad Request'), { ...wide, promptTokens: 390_000 })).toBe('invalid')
    expect(kindOf(error(400, 'Bad Request'), { ...wide, promptTokens: 410_000 })).toBe('too-long')
  })

  it('treats a disconnect as too-long when the prompt is huge, unless the model reasons', () => {
    const lost = error(undefined, 'server disconnected')
    expect(kindOf(lost)).toBe('network')
    expect(kindOf(lost, { promptTokens: 150_000 })).toBe('too-long')
    expect(kindOf(lost, { promptTokens: 150_000, isReasoning: true })).toBe('network')
    expect(kindOf(lost, { messageCount: 201 })).toBe('too-long')
    const wide = { contextWindow: 1_000_000, messageCount: 300 }
    expect(kindOf(lost, { ...wide, promptTokens: 500_000 })).toBe('network')
    expect(kindOf(lost, { ...wide, promptTokens: 610_000 })).toBe('too-long')
    expect(kindOf(error(undefined, 'connection refused'), { promptTokens: 150_000 })).toBe('network')
  })

  it('returns stalled after the idle timeout, and aborted after a cancellation', () => {
    const cancelled = Object.assign(new Error('This operation was aborted'), { name: 'AbortError' })
    expect(kindOf(cancelled)).toBe('aborted')
    expect(kindOf(cancelled, { isStalled: true })).toBe('stalled')
  })
})

describe('the output tokens that are left', () => {
  it('are parsed from the message', () => {
    expect(classifyError(error(400, 'max_tokens too large: available 1,000'), smallCall)).toMatchObject({
      available: 1_000,
    })
  })

  it.each([
    [
      'max_completion_tokens is too large: 200000. This model supports at most 128000 completion tokens, whereas you provided 200000.',
      128_000,
    ],
    ['`max_completion_tokens` must be less than or equal to `32768`, the maximum value for this model', 32_768],
    [
      "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 128000, but got 200000 instead.",
      128_000,
    ],
    ['Invalid max_tokens value, the valid range of max_tokens is [1, 8192]', 8_192],
    [
      'Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to 65537 (exclusive).',
      65_537,
    ],
    ['The maximum tokens you requested exceeds the model limit of 4096. Try again with a lower value.', 4_096],
    ['max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5', 64_000],
  ])('are those of the model: %s', (message, available) => {
    expect(classifyError(error(400, message), smallCall)).toMatchObject({ kind: 'output-cap', available })
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
    [
      '`inputs` tokens + `max_new_tokens` must be <= 10240. Given: 2000 `inputs` tokens and 9000 `max_new_tokens`',
      8_240,
    ],
  ])('are the window minus the prompt: %s', (message, available) => {
    expect(classifyError(error(400, message), smallCall)).toMatchObject({ kind: 'output-cap', available })
  })

  it.each([
    `${window}. However, you requested 40000 tokens (39000 in the messages, 1000 in max_tokens).`,
    `${window}. However, you requested 33268 tokens (32268 in the messages, 1000 in max_tokens).`,
    'input length and `max_tokens` exceed context limit: 210000 + 4096 > 200000, decrease either',
    '`inputs` tokens + `max_new_tokens` must be <= 10240. Given: 10000 `inputs` tokens and 512 `max_new_tokens`',
  ])('count as too-long when fewer than 1,000 are left: %s', (message) => {
    expect(kindOf(error(400, message))).toBe('too-long')
  })
})

it('redacts keys in messages', () => {
  const { message } = classifyError(error(401, 'Incorrect API key provided: sk-proj-abcdefghijkl'), smallCall)
  expect(message).toBe('Incorrect API key provided: sk-…')
})

it.each([
  ['Zq7-odd-looking', 'No such key: Zq7-odd-looking.', 'No such key: ….'],
  ['AKIDEXAMPLE:wJalrXUtnFEMI', 'AKIDEXAMPLE may not do this with wJalrXUtnFEMI', '… may not do this with …'],
  ['key', 'A key is a key.', 'A key is a key.'],
  ['', 'There is no key.', 'There is no key.'],
])('redacts the key %j of the call, whatever its form', (key, given, redacted) => {
  expect(classifyError(error(401, given), { ...smallCall, key }).message).toBe(redacted)
})

describe('the first matching rule decides', () => {
  it.each([
    ['a refusal before a status', error(429, 'Your request was flagged by our filter: content_filter'), 'refused'],
    ['a status before a code', error(503, 'x', { type: 'rate_limit_error' }), 'overloaded'],
    [
      'a long-context tier under 429 before a rate limit',
      error(429, 'Extra usage is required for long context requests'),
      'long-context-tier',
    ],
    [
      'an image before a long prompt',
      error(400, 'image exceeds 5 MB maximum, maximum context length'),
      'image-too-large',
    ],
    [
      'an output cap before a long prompt',
      error(400, 'max_tokens too large, maximum of 4096 exceeds context length'),
      'output-cap',
    ],
    ['a long prompt before a missing model', error(400, 'prompt is too long for model not found'), 'too-long'],
    ['a code before the message', error(undefined, 'overloaded', { code: 'insufficient_quota' }), 'quota'],
    ['a quota before a rate limit', error(undefined, 'insufficient credits, rate limit'), 'quota'],
    [
      'a certificate before a network failure',
      error(undefined, 'fetch failed', { cause: new Error('certificate has expired') }),
      'tls',
    ],
  ] as const)('%s', (_name, thrown, expected) => expect(kindOf(thrown)).toBe(expected))
})

describe('each phrase alone decides the kind', () => {
  type Meaning = { readonly kind: FailureKind; readonly status?: number; readonly prefix?: string }
  const meanings: Record<PhraseGroup, Meaning> = {
    refused: { kind: 'refused' },
    thinkingSignature: { kind: 'thinking-signature', status: 400 },
    encryptedReasoning: { kind: 'encrypted-reasoning', status: 400 },
    longContextTier: { kind: 'long-context-tier', status: 429 },
    longContextBeta: { kind: 'long-context-beta', status: 400 },
    grammar: { kind: 'grammar', status: 400 },
    noStream: { kind: 'no-stream', status: 400 },
    noImages: { kind: 'no-images', status: 404 },
    billing: { kind: 'quota' },
    rate: { kind: 'rate' },
    usageLimit: { kind: 'quota', status: 402 },
    transient: { kind: 'rate', status: 402, prefix: 'usage limit' },
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
    tlsTransient: { kind: 'network' },
    connect: { kind: 'network' },
    disconnect: { kind: 'network' },
  }
  const all = Object.entries(phrases).flatMap(([group, list]) =>
    list.map((phrase) => ({ group, phrase, ...meanings[group as PhraseGroup] })),
  )
  it.each(all)('$group: $phrase', ({ phrase, kind: expected, status, prefix = '' }) => {
    expect(kindOf(error(status, `${prefix} and then: ${phrase} for a reason`))).toBe(expected)
  })
})
