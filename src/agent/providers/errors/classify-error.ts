/**
 * Classifies an error of a provider or of the network as a `Failure`. The rules are an ordered list; the
 * first match wins. Rules read the status together with the message, because providers use one status
 * for several errors.
 */

import type { Failure, FailureKind } from '#agent/core/failure.ts'
import { containsPhrase } from './phrases.ts'
import { parseRetryAfter } from './retry-after.ts'
import { isAbortError } from '../shared/abort-error.ts'

/** Facts about the failed call that disambiguate its error. */
export type ErrorContext = {
  readonly promptTokens: number
  readonly contextWindow: number
  readonly messageCount: number
  /** The model reasons before it answers, so a long silence is not a sign of an oversized prompt. */
  readonly isReasoning: boolean
  /** The provider forwards requests to other providers. */
  readonly isAggregator: boolean
  /** The call was cancelled by the idle timeout. */
  readonly isStalled: boolean
  readonly now: number
  /** The API key of the call; it is removed from the error message. */
  readonly key?: string | undefined
}

type ErrorRule = (details: ErrorDetails, context: ErrorContext) => FailureKind | undefined

export function classifyError(error: unknown, context: ErrorContext): Failure {
  const details = extractErrorDetails(error)
  const { status, message, text, headers } = details
  const kind = context.isStalled ? 'stalled' : isAbortError(error) ? 'aborted' : classifyDetails(details, context)
  const after = kindsWithRetryAfter.has(kind) ? parseRetryAfter(headers, details, context.now) : undefined
  const available = kind === 'output-cap' ? parseAvailableTokens(text) : undefined
  return {
    kind,
    message:
      kind === 'stalled' ? 'the provider sent nothing for too long' : redactKeys(message, context.key).slice(0, 500),
    ...(status !== undefined && { status }),
    ...(after !== undefined && { retryAfterMs: after }),
    ...(available !== undefined && { available }),
  }
}

/** Kinds for which `retryAfterMs` is reported. */
const kindsWithRetryAfter: ReadonlySet<FailureKind> = new Set([
  'rate',
  'upstream-rate',
  'quota',
  'overloaded',
  'server',
  'conflict',
])

/** Removes API keys from a message, because providers quote the key they refuse. */
const redactKeys = (message: string, key = '') =>
  key
    .split(':')
    .filter((part) => part.length >= 6)
    .reduce((text, part) => text.replaceAll(part, '…'), message)
    .replace(/\b(sk|pk|key|tok|gsk|xai)[-_][\w*.-]{6,}/gi, '$1-…')

function classifyDetails(details: ErrorDetails, context: ErrorContext): FailureKind {
  for (const rule of rules) {
    const kind = rule(details, context)
    if (kind) return kind
  }
  return 'unknown'
}

const whenPhrase =
  (kind: FailureKind, group: Parameters<typeof containsPhrase>[1]): ErrorRule =>
  ({ text }) =>
    containsPhrase(text, group) ? kind : undefined

const whenStatus =
  (statuses: readonly number[], rule: ErrorRule): ErrorRule =>
  (details, context) =>
    details.status !== undefined && statuses.includes(details.status) ? rule(details, context) : undefined

const firstMatch =
  (...list: readonly ErrorRule[]): ErrorRule =>
  (details, context) => {
    for (const rule of list) {
      const kind = rule(details, context)
      if (kind) return kind
    }
    return undefined
  }

const always =
  (kind: FailureKind): ErrorRule =>
  () =>
    kind

/** Matches content refusals. This rule is first in the list, because a refusal must not be retried. */
const matchRefusal = firstMatch(whenPhrase('refused', 'refused'), ({ codes }) =>
  codes.some((code) => code === 'content_filter' || code === 'content_policy_violation') ? 'refused' : undefined,
)

/** Classifies "usage limit" as `rate` when the message says that waiting helps, else as `quota`. */
const matchUsageLimit: ErrorRule = ({ text }) => {
  if (!containsPhrase(text, 'usageLimit')) return undefined
  return containsPhrase(text, 'transient') ? 'rate' : 'quota'
}

/** The names of the field: OpenAI's old and new one, that of the Responses API, of TGI, of Google and of Bedrock. */
const outputLimitName = /max_(?:completion_|output_|new_)?tokens|max(?:output)?tokens|maximum tokens you requested/

const matchOutputCap: ErrorRule = ({ text }) => {
  if (!outputLimitName.test(text)) return undefined
  const remaining = parseRemainingTokens(text)
  if (remaining !== undefined) return remaining < minOutputTokens ? 'too-long' : 'output-cap'
  const isOutputCap =
    /(available|maximum|at most|less than|supports|limit of|range|<=)/.test(text) &&
    parseAvailableTokens(text) !== undefined
  return isOutputCap ? 'output-cap' : undefined
}

/** With less room than this an answer would be truncated on every retry, so the prompt counts as too long. */
const minOutputTokens = 1_000

/** Error messages that give the window and the prompt tokens, as vLLM, Anthropic and OpenAI write them, among others. */
const tokenSumPatterns = [
  /> *(?<window>\d+) *- *(?<prompt>\d+)/,
  /(?<!\d)(?<prompt>\d+) {0,3}\+ {0,3}\d+ {0,3}> {0,3}(?<window>\d+)/,
  /must be <= (?<window>\d+)\. given: (?<prompt>\d+) `inputs`/, // Text Generation Inference
  /maximum context length is (?<window>\d+) tokens.{0,80}?(?<prompt>\d+) (?:input tokens|(?:tokens )?in the messages)/s,
]

/** Parses how many tokens the prompt leaves in the context window. */
function parseRemainingTokens(text: string): number | undefined {
  const digits = text.replaceAll(/(?<=\d),(?=\d{3})/g, '')
  const { window, prompt } = tokenSumPatterns.map((pattern) => pattern.exec(digits)?.groups).find(Boolean) ?? {}
  return window === undefined ? undefined : Number(window) - Number(prompt)
}

/** Parses the output tokens that are left: window minus prompt, else the number after "available", "at most" and the like. */
function parseAvailableTokens(text: string): number | undefined {
  const remaining = parseRemainingTokens(text)
  if (remaining !== undefined) return remaining
  const digits = availablePatterns.map((pattern) => pattern.exec(text)?.[1]).find(Boolean)
  return digits === undefined ? undefined : Number(digits.replaceAll(',', ''))
}

const availablePatterns = [
  /> ?(\d[\d,]{1,9}), which is the maximum/, // Anthropic
  /(?:valid range of \w{0,40} is \[\d{1,3}, ?|range is from 1 \(inclusive\) to |model limit of )(\d[\d,]{1,9})/, // DeepSeek, Google, Bedrock
  /(?:available(?: tokens)?|at most|maximum(?: of| is| output tokens(?: is)?)?|less than or equal to|supports(?: at most)?|<=)\D{0,30}?(\d[\d,]{1,9})/,
]

const matchRate: ErrorRule = ({ text }, { isAggregator }) =>
  isAggregator && /upstream|provider returned|temporarily rate-limited/.test(text) ? 'upstream-rate' : 'rate'

/** "Too many tokens" is a rate limit when waiting helps, and a prompt that is too long otherwise. */
const matchTokenRate: ErrorRule = ({ text, codes }) => {
  if (!text.includes('too many tokens')) return undefined
  const isRate = /\b(?:wait|rate|throttl\w*|try again|retry|slow down|per (?:second|minute|hour|day))\b/.test(text)
  return isRate || codes.some((code) => /throttl|rate_?limit/.test(code)) ? 'rate' : undefined
}

/** Aggregators and gateways answer an oversized prompt with a short 400 without a reason. */
const matchBareBadRequest: ErrorRule = ({ text }, { promptTokens, contextWindow, messageCount }) => {
  if (text.length >= 30) return undefined
  const isFull = promptTokens > contextWindow * 0.4
  const isLong = contextWindow <= 256_000 && (promptTokens > 80_000 || messageCount > 80)
  return isFull || isLong ? 'too-long' : 'invalid'
}

const matchBadRequest = firstMatch(
  whenPhrase('tool-content', 'toolContent'),
  whenPhrase('image-too-large', 'image'),
  whenPhrase('encrypted-reasoning', 'encryptedReasoning'),
  matchOutputCap,
  whenPhrase('invalid', 'badRequest'),
  whenPhrase('server', 'emptyProvider'),
  whenPhrase('too-large', 'payload'),
  whenPhrase('too-long', 'overflow'),
  whenPhrase('account-policy', 'accountPolicy'),
  whenPhrase('missing-model', 'model'),
  whenPhrase('rate', 'rate'),
  whenPhrase('quota', 'billing'),
  whenPhrase('key-dead', 'keyDead'),
  whenPhrase('auth', 'auth'),
  matchBareBadRequest,
  always('invalid'),
)

/** Google uses OpenAI's message for an empty account for its per-minute limit too, but adds when to retry. */
const matchQuota: ErrorRule = ({ text, codes }) => {
  if (codes.includes('insufficient_quota')) return 'quota'
  if (!containsPhrase(text, 'billing')) return undefined
  return text.includes('exceeded your current quota') && containsPhrase(text, 'transient') ? undefined : 'quota'
}

const matchTooManyRequests = firstMatch(whenPhrase('overloaded', 'overloaded'), matchQuota, matchRate)

const matchServerError = firstMatch(
  whenPhrase('overloaded', 'overloaded'),
  whenPhrase('invalid', 'badRequest'),
  whenPhrase('too-long', 'overflow'),
  always('server'),
)

const matchStatus = firstMatch(
  whenStatus([401], firstMatch(whenPhrase('key-dead', 'keyDead'), always('auth'))),
  whenStatus([402], firstMatch(matchUsageLimit, always('quota'))),
  whenStatus(
    [403],
    firstMatch(
      whenPhrase('quota', 'billing'),
      whenPhrase('key-dead', 'keyDead'),
      matchUsageLimit,
      whenPhrase('auth', 'auth'),
      always('forbidden'),
    ),
  ),
  whenStatus(
    [404],
    firstMatch(
      whenPhrase('quota', 'billing'),
      whenPhrase('account-policy', 'accountPolicy'),
      whenPhrase('missing-model', 'model'),
      always('unknown'),
    ),
  ),
  whenStatus([408], always('network')),
  whenStatus(
    [409, 425],
    firstMatch(whenPhrase('overloaded', 'overloaded'), whenPhrase('rate', 'rate'), always('conflict')),
  ),
  whenStatus([413], firstMatch(whenPhrase('image-too-large', 'image'), always('too-large'))),
  whenStatus([429], matchTooManyRequests),
  whenStatus([503, 529], firstMatch(whenPhrase('invalid', 'badRequest'), always('overloaded'))),
  whenStatus([400, 422], matchBadRequest),
  ({ status, text }, context) => {
    if (status === undefined) return undefined
    if (status >= 500) return matchServerError({ status, text, codes: [], message: '', headers: undefined }, context)
    if (status >= 300 && status < 400) return 'network'
    return status >= 400 ? 'invalid' : undefined
  },
)

/** A connection that breaks without an error on a huge prompt is treated as `too-long`: the server could not process it. */
const matchDisconnect: ErrorRule = ({ text }, { isReasoning, promptTokens, contextWindow, messageCount }) => {
  if (!containsPhrase(text, 'disconnect')) return undefined
  if (isReasoning) return 'network'
  const isFull = promptTokens > contextWindow * 0.6
  const isLong = contextWindow <= 256_000 && (promptTokens > 120_000 || messageCount > 200)
  return isFull || isLong ? 'too-long' : 'network'
}

/** Matches codes that name a specific error. */
const matchCode: ErrorRule = ({ codes }) =>
  kindsByCode.find(([, names]) => names.some((name) => codes.includes(name)))?.[0]

/** Matches codes that only say whose fault it is. The message decides the kind. */
const matchFaultCode: ErrorRule = (details, context) => {
  const { codes } = details
  if (codes.some((code) => providerFaultCodes.has(code))) return matchServerError(details, context)
  return codes.some((code) => requestFaultCodes.has(code)) ? matchBadRequest(details, context) : undefined
}

const rules: readonly ErrorRule[] = [
  matchRefusal,
  whenPhrase('no-stream', 'noStream'),
  whenPhrase('no-images', 'noImages'),
  ({ status, ...details }, context) => (status === 429 ? undefined : matchTokenRate({ status, ...details }, context)),
  whenStatus([400], whenPhrase('thinking-signature', 'thinkingSignature')),
  whenStatus([429], whenPhrase('long-context-tier', 'longContextTier')),
  whenStatus([400], whenPhrase('long-context-beta', 'longContextBeta')),
  whenStatus([400, 500], whenPhrase('grammar', 'grammar')),
  matchStatus,
  matchCode,
  matchFaultCode,
  whenPhrase('quota', 'billing'),
  whenPhrase('rate', 'rate'),
  whenPhrase('overloaded', 'overloaded'),
  whenPhrase('too-large', 'payload'),
  whenPhrase('too-long', 'overflow'),
  whenPhrase('missing-model', 'model'),
  whenPhrase('key-dead', 'keyDead'),
  whenPhrase('auth', 'auth'),
  whenPhrase('forbidden', 'forbidden'),
  whenPhrase('tls', 'certificate'),
  whenPhrase('network', 'tlsTransient'),
  matchDisconnect,
  whenPhrase('network', 'connect'),
  ({ codes }) => (codes.some((code) => transportCodes.has(code)) ? 'network' : undefined),
  ({ codes }) => (codes.includes('syntaxerror') ? 'malformed' : undefined),
]

/** Error names that mean a network failure, whatever their message says. */
const transportCodes: ReadonlySet<string> = new Set([
  'apiconnectionerror',
  'apiconnectiontimeouterror',
  'typeerror',
  'streambroken',
])

// Lists the error codes and types of providers. They decide where there is no HTTP status: for an error inside a 200
// answer, and for exceptions in a stream. All are lower case.

/** Ordered: if an error carries several codes, the first row wins. */
const kindsByCode: readonly (readonly [FailureKind, readonly string[]])[] = [
  ['too-long', ['context_length_exceeded', 'string_above_max_length', 'model_context_window_exceeded']],
  ['encrypted-reasoning', ['invalid_encrypted_content']],
  ['quota', ['insufficient_quota', 'billing_error', 'billing_hard_limit_reached', 'billing_not_active']],
  ['key-dead', ['account_deactivated']],
  ['auth', ['authentication_error', 'invalid_api_key', 'invalid_authentication', 'unrecognizedclientexception']],
  ['missing-model', ['model_not_found', 'not_found_error', 'resourcenotfoundexception']],
  ['forbidden', ['permission_error', 'permission_denied', 'accessdeniedexception']],
  ['too-large', ['request_too_large']],
  ['overloaded', ['overloaded_error', 'engine_overloaded', 'service_unavailable', 'serviceunavailableexception']],
  ['overloaded', ['modelnotreadyexception', 'slow_down', 'unavailable']],
  ['rate', ['rate_limit_error', 'ratelimiterror', 'rate_limit_exceeded', 'rate_limited', 'too_many_requests']],
  ['rate', ['throttlingexception', 'servicequotaexceededexception', 'resource_exhausted', 'tokens', 'requests']],
  ['network', ['timeout_error', 'timeout', 'modeltimeoutexception', 'deadline_exceeded']],
  ['server', ['modelstreamerrorexception']],
]

/** Codes that only say that the provider failed. */
const providerFaultCodes: ReadonlySet<string> = new Set([
  'server_error',
  'api_error',
  'internal_server_error',
  'internal_error',
  'internalserverexception',
  'modelerrorexception',
  'internal',
  'upstream_error',
])

/** Codes that only say that the request is invalid. */
const requestFaultCodes: ReadonlySet<string> = new Set([
  'invalid_request_error',
  'invalid_argument',
  'validationexception',
  'bad_request',
])

type ErrorDetails = {
  readonly status: number | undefined
  /** Error codes, error types and class names. Lower case. */
  readonly codes: readonly string[]
  /** All messages, outermost first, one per line. Lower case. */
  readonly text: string
  /** The outermost message, unchanged. */
  readonly message: string
  readonly headers: Headers | undefined
  /** Values of reset and retry fields: a duration or a time. */
  readonly resets?: readonly string[]
}

/** Maximum nesting of causes, and of errors inside the messages of aggregators. */
const maxDepth = 5
/** Maximum entries read from a list, such as Google's `details`. */
const maxListItems = 20
/** Limits the text that is matched, because some patterns backtrack. */
const maxTextChars = 10_000
const codeFields = ['code', 'type', 'status', 'reason', 'name'] as const
const textFields = ['message', 'errorMessage', 'error_description', 'detail', 'raw', 'reason'] as const
const nestedFields = ['error', 'cause', 'metadata', 'errorArgs', 'body', 'details', 'headers'] as const
/** For example ChatGPT `resets_at`, Google `retryDelay`, and OpenRouter `X-RateLimit-Reset` in the headers of the body. */
const resetFields = /^(x-ratelimit-)?(reset|resets|retry)_?(at|until|after|delay|in_seconds)?$/i

type Collected = {
  status: number | undefined
  codes: string[]
  texts: string[]
  resets: string[]
  headers: Headers | undefined
}

/** Extracts the status, codes, messages and headers from a thrown value of any shape. */
function extractErrorDetails(error: unknown): ErrorDetails {
  const collected: Collected = { status: undefined, codes: [], texts: [], resets: [], headers: undefined }
  collect(error, collected, 0)
  const texts = [...new Set(collected.texts.map((text) => text.trim()).filter(Boolean))]
  return {
    status: collected.status,
    codes: [...new Set(collected.codes.map((code) => code.toLowerCase()))],
    text: texts.join('\n').slice(0, maxTextChars).toLowerCase(),
    message: texts[0] ?? '',
    headers: collected.headers,
    resets: collected.resets,
  }
}

function collect(value: unknown, collected: Collected, depth: number): void {
  if (depth > maxDepth) return
  if (typeof value === 'string') collectFromText(value, collected, depth)
  else if (Array.isArray(value)) for (const item of value.slice(0, maxListItems)) collect(item, collected, depth + 1)
  else if (typeof value === 'object' && value !== null)
    collectFromRecord(value as Record<string, unknown>, collected, depth)
}

function collectFromRecord(record: Record<string, unknown>, collected: Collected, depth: number): void {
  collected.status ??= getStatus(record)
  if (record['headers'] instanceof Headers) collected.headers ??= record['headers']
  collected.codes.push(...codeFields.flatMap((field) => getText(record, field)))
  for (const text of textFields.flatMap((field) => getText(record, field))) collectFromText(text, collected, depth)
  for (const [name, value] of Object.entries(record))
    if (resetFields.test(name) && (typeof value === 'number' || typeof value === 'string'))
      collected.resets.push(`${value}`)
  for (const field of nestedFields) collect(record[field], collected, depth + 1)
}

const getText = (record: Record<string, unknown>, field: string): readonly string[] => {
  const value = record[field]
  return typeof value === 'string' ? [value] : []
}

/** Reads `status`, or `code`, where aggregators put the upstream's status. */
function getStatus({ status, code }: Record<string, unknown>): number | undefined {
  if (typeof status === 'number') return status
  const number = Number(code)
  return number >= 400 && number < 600 ? number : undefined
}

/** Records a message, and parses JSON in it: aggregators wrap the upstream's error in a string. */
function collectFromText(text: string, collected: Collected, depth: number): void {
  collected.texts.push(text.slice(0, 4_000))
  const start = text.indexOf('{')
  if (start < 0 || depth >= maxDepth) return
  try {
    collect(JSON.parse(text.slice(start)), collected, depth + 1)
  } catch {
    // Not JSON. The text itself is already recorded.
  }
}
