/**
 * Lists fields of OpenAI's API that no model behind the agent can honour. Their default is accepted, because clients
 * send it; every other value is refused by name, so that no answer differs silently from what was asked for.
 */

import * as z from 'zod'
import { AppError } from '../errors.ts'

type Unsupported = {
  readonly isDefault: (value: unknown) => boolean
  /** Why, or what to do instead. */
  readonly hint: string
}

const isEmpty = (value: unknown): boolean => Array.isArray(value) && !value.length

export const unsupportedFields = {
  n: { isDefault: (value) => value === 1, hint: 'An agent gives one answer. Send the request again for another one.' },
  best_of: { isDefault: (value) => value === 1, hint: 'An agent gives one answer.' },
  logprobs: { isDefault: (value) => value === false, hint: 'An answer of several model calls has no probabilities.' },
  top_logprobs: { isDefault: (value) => value === 0, hint: 'An answer of several model calls has no probabilities.' },
  include: {
    isDefault: (value) => Array.isArray(value) && !value.includes('message.output_text.logprobs'),
    hint: 'An answer of several model calls has no probabilities.',
  },
  modalities: {
    isDefault: (value) => Array.isArray(value) && value.every((one) => one === 'text'),
    hint: 'Answers are text. Use POST /v1/audio/speech for audio.',
  },
  audio: { isDefault: () => false, hint: 'Answers are text. Use POST /v1/audio/speech for audio.' },
  prediction: { isDefault: () => false, hint: 'Leave it out: it would only make one model call faster.' },
  moderation: { isDefault: () => false, hint: 'Answers are not moderated by this API.' },
  suffix: { isDefault: (value) => value === '', hint: 'The agent answers messages.' },
  echo: { isDefault: (value) => value === false, hint: 'The agent answers messages.' },
  function_call: {
    isDefault: (value) => value === 'auto' || value === 'none',
    hint: 'Use tools and tool_choice.',
  },
} satisfies Readonly<Record<string, Unsupported>>

type Name = keyof typeof unsupportedFields
const anyValue = z.unknown().optional()

/** Accepts any value: `refuseUnsupported` decides about it. */
export const unsupportedSchema = Object.fromEntries(
  Object.entries(unsupportedFields).map(([name, { hint }]) => [
    name,
    anyValue.describe(`Only its default is accepted. ${hint}`),
  ]),
) as { readonly [Field in Name]: typeof anyValue }

/** Throws 400 with the name of the first field whose value nothing can honour. */
export function refuseUnsupported(body: object): void {
  for (const [name, value] of Object.entries(body)) {
    const field: Unsupported | undefined = Object.hasOwn(unsupportedFields, name)
      ? unsupportedFields[name as Name]
      : undefined
    if (!field || value === null || value === undefined || isEmpty(value) || field.isDefault(value)) continue
    throw new AppError(400, 'unsupported', `${name} is not supported with this value. ${field.hint}`, { param: name })
  }
}
