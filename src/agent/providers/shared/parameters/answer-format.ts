/** Decides how a provider is asked for the format of an answer: by the API, by the system text, or by both. */

import type { DialectName, ModelRequest, Quirks } from '#agent/core/dialect.ts'
import type { AnswerFormat } from '#agent/core/request/model-parameters.ts'

type FormatSupport = NonNullable<Quirks['answerFormat']>

/** Abilities of a dialect's APIs unless a profile says otherwise. Many servers forget their tools beside a format. */
const defaultSupport: Readonly<Record<DialectName, FormatSupport>> = {
  'openai-chat': 'alone',
  'openai-responses': 'alone',
  anthropic: 'none',
  'bedrock-converse': 'none',
  gemini: 'alone',
  'workers-ai': 'alone',
  demo: 'none',
}

const supportOf = (dialect: DialectName, { answerFormat = defaultSupport[dialect] }: Quirks): FormatSupport =>
  answerFormat

type FormattedRequest = Pick<ModelRequest, 'answerFormat' | 'tools' | 'draft' | 'repairs'>

/** Returns the format for the API. A draft is the beginning of the answer, which an API would begin anew. */
export function resolveNativeFormat(
  { answerFormat: format, tools, draft, repairs }: FormattedRequest,
  dialect: DialectName,
  quirks: Quirks,
): AnswerFormat | undefined {
  const support = supportOf(dialect, quirks)
  if (!format || draft || repairs?.answerFormat || support === 'none') return undefined
  if (support !== 'native' && tools.length) return undefined
  return support === 'object' ? { type: 'json_object' } : format
}

const jsonOnly = 'Your final answer must be JSON and nothing else: no text around it and no code fence.'

/**
 * Renders the instruction about the format for the system text. It is the same in all calls of a turn to one model, so
 * that its prompt stays cached. A schema that the API enforces in every call is not repeated.
 */
export function renderFormatInstruction(
  format: AnswerFormat | undefined,
  dialect: DialectName,
  { quirks, repairs }: { readonly quirks: Quirks; readonly repairs: ModelRequest['repairs'] },
): string {
  if (!format) return ''
  const isEnforced = supportOf(dialect, quirks) === 'native' && !repairs?.answerFormat
  if (format.type === 'json_object' || isEnforced) return jsonOnly
  const about = format.description ? `\nIt is: ${format.description}` : ''
  return `${jsonOnly} It must match this JSON schema:${about}\n${JSON.stringify(format.schema)}`
}
