/** Counts the tokens of the next request: the conversation and what is sent with it each time. */

import type { TurnOptions } from '#agent/core/turn-options.ts'
import { estimateTokens } from '#agent/prompt/estimate-tokens.ts'
import type { SessionMetadata } from '#durable/storage/session-metadata.ts'
import { turnScope } from './tools/turn-scope.ts'
import type { TurnSession } from './turn-session.ts'

export function contextTokens(session: TurnSession): number {
  const schemas = session.toolRuntime.schemas(session.settings, turnScope(session))
  const fixed = schemaTokens(schemas) + promptTokens(session.meta) + ephemeralTokens(session.store.current()?.options)
  return session.store.contextTokens() + fixed
}

/** By the object that is counted: settings share their list of schemas, and a session replaces its metadata. */
const counts = new WeakMap<object, number>()

function countOnce(of: object, text: () => string): number {
  let tokens = counts.get(of)
  if (tokens === undefined) counts.set(of, (tokens = estimateTokens(text())))
  return tokens
}

export const schemaTokens = (schemas: object): number => countOnce(schemas, () => JSON.stringify(schemas))

/** Of the stored prompt. */
export const promptTokens = (meta: SessionMetadata): number =>
  meta.promptRecord?.layers.reduce((sum, { tokens }) => sum + tokens, 0) ?? countOnce(meta, () => meta.prompt ?? '')

/** Of the instructions of one request, which are no part of the stored prompt. */
export const ephemeralTokens = (options: TurnOptions | undefined): number =>
  options?.instructions ? countOnce(options, () => options.instructions ?? '') : 0
