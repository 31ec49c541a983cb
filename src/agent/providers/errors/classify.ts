/**
 * What an error of a provider or of the network means, in the vocabulary of the policies. An ordered
 * list of rules; the first that knows speaks. Statuses are read together with the words beside
 * them, because providers use the same status for different things.
 */

import type { Failure, FailureKind } from '../../model/failure.ts'
import { type Evidence, evidenceOf } from './evidence.ts'
import { codeKinds, ourFault, theirFault } from './codes.ts'
import { says } from './phrases.ts'
import { retryAfter } from './retry-after.ts'
import { isAbort } from '../shared/cancellation.ts'

/** What was asked, as far as it helps to read the answer. */
export type Circumstances = {
  readonly promptTokens: number
  readonly contextWindow: number
  readonly messages: number
  /** The model thinks before it speaks: a long silence is no sign of a prompt that is too long. */
  readonly reasoning: boolean
  /** The provider passes requests on to others. */
  readonly aggregator: boolean
  /** The call was given up because nothing came for too long. */
  readonly stalled: boolean
  readonly now: number
  /** The key that was sent: it is taken out of whatever the provider says. */
  readonly key?: string | undefined
}

type Rule = (evidence: Evidence, around: Circumstances) => FailureKind | undefined

export function classify(error: unknown, around: Circumstances): Failure {
  const evidence = evidenceOf(error)
  const { status, message, text, headers } = evidence
  const kind = around.stalled ? 'stalled' : isAbort(error) ? 'aborted' : kindOf(evidence, around)
  const after = waits.has(kind) ? retryAfter(headers, evidence, around.now) : undefined
  const available = kind === 'output-cap' ? availableTokens(text) : undefined
  return {
    kind,
    message:
      kind === 'stalled' ? 'the provider sent nothing for too long' : withoutKeys(message, around.key).slice(0, 500),
    ...(status !== undefined && { status }),
    ...(after !== undefined && { retryAfterMs: after }),
    ...(available !== undefined && { available }),
  }
}

/** Kinds for which a time to wait means something. */
const waits: ReadonlySet<FailureKind> = new Set(['rate', 'upstream-rate', 'quota', 'overloaded', 'server', 'conflict'])

/** Providers quote the key they refuse. */
const withoutKeys = (message: string, key = '') =>
  key
    .split(':')
    .filter((part) => part.length >= 6)
    .reduce((text, part) => text.replaceAll(part, '…'), message)
    .replace(/\b(sk|pk|key|tok|gsk|xai)[-_][\w*.-]{6,}/gi, '$1-…')

function kindOf(evidence: Evidence, around: Circumstances): FailureKind {
  for (const rule of rules) {
    const kind = rule(evidence, around)
    if (kind) return kind
  }
  return 'unknown'
}

const words =
  (kind: FailureKind, group: Parameters<typeof says>[1]): Rule =>
  ({ text }) =>
    says(text, group) ? kind : undefined

const at =
  (statuses: readonly number[], rule: Rule): Rule =>
  (evidence, around) =>
    evidence.status !== undefined && statuses.includes(evidence.status) ? rule(evidence, around) : undefined

const firstOf =
  (...list: readonly Rule[]): Rule =>
  (evidence, around) => {
    for (const rule of list) {
      const kind = rule(evidence, around)
      if (kind) return kind
    }
    return undefined
  }

const always =
  (kind: FailureKind): Rule =>
  () =>
    kind

/** Only a word that stands alone names a whole file of rules: `refused` before all others, because it must not be retried. */
const refused = firstOf(words('refused', 'refused'), ({ codes }) =>
  codes.some((code) => code === 'content_filter' || code === 'content_policy_violation') ? 'refused' : undefined,
)

/** "Usage limit" is a rate when waiting lifts it, and a matter of money when not. */
const usageLimit: Rule = ({ text }) => {
  if (!says(text, 'usageLimit')) return undefined
  return says(text, 'passing') ? 'rate' : 'quota'
}

const outputCap: Rule = ({ text }) => {
  if (!text.includes('max_tokens')) return undefined
  const room = roomIn(text)
  if (room !== undefined) return room < leastRoom ? 'too-long' : 'output-cap'
  const isCap = /(available|maximum|at most|less than|supports)/.test(text) && availableTokens(text) !== undefined
  return isCap ? 'output-cap' : undefined
}

/** Tokens: an answer in less than this would be cut off, however often it is asked for. */
const leastRoom = 1_000

/** How providers do the sum of prompt and answer: vLLM, Anthropic, and in words. */
const sums = [
  /> *(?<window>\d+) *- *(?<prompt>\d+)/,
  /(?<prompt>\d+) *\+ *\d+ *> *(?<window>\d+)/,
  /maximum context length is (?<window>\d+) tokens.{0,80}?(?<prompt>\d+) (?:input tokens|(?:tokens )?in the messages)/s,
]

/** What the prompt leaves of the window. */
function roomIn(text: string): number | undefined {
  const digits = text.replaceAll(/(?<=\d),(?=\d{3})/g, '')
  const { window, prompt } = sums.map((sum) => sum.exec(digits)?.groups).find(Boolean) ?? {}
  return window === undefined ? undefined : Number(window) - Number(prompt)
}

/** What is left for an answer, or the number that stands behind "available", "at most" and the like. */
function availableTokens(text: string): number | undefined {
  const room = roomIn(text)
  if (room !== undefined) return room
  const said =
    /(?:available(?: tokens)?|at most|maximum(?: of| is| output tokens(?: is)?)?|less than or equal to|supports(?: at most)?|<=)\D{0,30}?(\d[\d,]{1,9})/.exec(
      text,
    )?.[1]
  return said === undefined ? undefined : Number(said.replaceAll(',', ''))
}

const rateOrUpstream: Rule = ({ text }, { aggregator }) =>
  aggregator && /upstream|provider returned|temporarily rate-limited/.test(text) ? 'upstream-rate' : 'rate'

/** Aggregators and gateways answer a prompt that is too long with a short 400 and no reason. */
const bareBadRequest: Rule = ({ text }, { promptTokens, contextWindow, messages }) => {
  if (text.length >= 30) return undefined
  const full = promptTokens > contextWindow * 0.4
  const long = contextWindow <= 256_000 && (promptTokens > 80_000 || messages > 80)
  return full || long ? 'too-long' : 'invalid'
}

const badRequest = firstOf(
  words('tool-content', 'toolContent'),
  words('image-too-large', 'image'),
  words('encrypted-reasoning', 'encryptedReasoning'),
  outputCap,
  words('invalid', 'badRequest'),
  words('server', 'emptyProvider'),
  words('too-large', 'payload'),
  words('too-long', 'overflow'),
  words('account-policy', 'accountPolicy'),
  words('missing-model', 'model'),
  words('rate', 'rate'),
  words('quota', 'billing'),
  words('key-dead', 'keyDead'),
  words('auth', 'auth'),
  bareBadRequest,
  always('invalid'),
)

/** Google says of a minute's allowance what OpenAI says of an empty account, but also when there is more of it. */
const usedUp: Rule = ({ text, codes }) => {
  if (codes.includes('insufficient_quota')) return 'quota'
  if (!says(text, 'billing')) return undefined
  return text.includes('exceeded your current quota') && says(text, 'passing') ? undefined : 'quota'
}

const tooMany = firstOf(words('overloaded', 'overloaded'), usedUp, rateOrUpstream)

const serverError = firstOf(
  words('overloaded', 'overloaded'),
  words('invalid', 'badRequest'),
  words('too-long', 'overflow'),
  always('server'),
)

const byStatus = firstOf(
  at([401], firstOf(words('key-dead', 'keyDead'), always('auth'))),
  at([402], firstOf(usageLimit, always('quota'))),
  at(
    [403],
    firstOf(
      words('quota', 'billing'),
      words('key-dead', 'keyDead'),
      usageLimit,
      words('auth', 'auth'),
      always('forbidden'),
    ),
  ),
  at(
    [404],
    firstOf(
      words('quota', 'billing'),
      words('account-policy', 'accountPolicy'),
      words('missing-model', 'model'),
      always('unknown'),
    ),
  ),
  at([408], always('network')),
  at([409, 425], firstOf(words('overloaded', 'overloaded'), words('rate', 'rate'), always('conflict'))),
  at([413], firstOf(words('image-too-large', 'image'), always('too-large'))),
  at([429], tooMany),
  at([503, 529], firstOf(words('invalid', 'badRequest'), always('overloaded'))),
  at([400, 422], badRequest),
  ({ status, text }, around) => {
    if (status === undefined) return undefined
    if (status >= 500) return serverError({ status, text, codes: [], message: '', headers: undefined }, around)
    if (status >= 300 && status < 400) return 'network'
    return status >= 400 ? 'invalid' : undefined
  },
)

/** A connection that breaks without a word on a huge prompt: the server fell over it. */
const disconnected: Rule = ({ text }, { reasoning, promptTokens, contextWindow, messages }) => {
  if (!says(text, 'disconnect')) return undefined
  if (reasoning) return 'network'
  const full = promptTokens > contextWindow * 0.6
  const long = contextWindow <= 256_000 && (promptTokens > 120_000 || messages > 200)
  return full || long ? 'too-long' : 'network'
}

/** Codes that name what is wrong by themselves. */
const byCode: Rule = ({ codes }) => codeKinds.find(([, names]) => names.some((name) => codes.includes(name)))?.[0]

/** Codes that only say whose fault it is: the words beside them say more. */
const byFault: Rule = (evidence, around) => {
  const { codes } = evidence
  if (codes.some((code) => theirFault.has(code))) return serverError(evidence, around)
  return codes.some((code) => ourFault.has(code)) ? badRequest(evidence, around) : undefined
}

const rules: readonly Rule[] = [
  refused,
  at([400], words('thinking-signature', 'thinkingSignature')),
  at([429], words('long-context-tier', 'longContextTier')),
  at([400], words('long-context-beta', 'longContextBeta')),
  at([400, 500], words('grammar', 'grammar')),
  byStatus,
  byCode,
  byFault,
  words('quota', 'billing'),
  words('rate', 'rate'),
  words('overloaded', 'overloaded'),
  words('too-large', 'payload'),
  words('too-long', 'overflow'),
  words('missing-model', 'model'),
  words('key-dead', 'keyDead'),
  words('auth', 'auth'),
  words('forbidden', 'forbidden'),
  words('tls', 'certificate'),
  words('network', 'tlsPassing'),
  disconnected,
  words('network', 'connect'),
  ({ codes }) => (codes.some((code) => transport.has(code)) ? 'network' : undefined),
  ({ codes }) => (codes.includes('syntaxerror') ? 'malformed' : undefined),
]

/** Classes that stand for the wire, whatever they say. */
const transport: ReadonlySet<string> = new Set([
  'apiconnectionerror',
  'apiconnectiontimeouterror',
  'typeerror',
  'dropped',
])
