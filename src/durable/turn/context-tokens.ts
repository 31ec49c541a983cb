/** Counts the tokens of the next request: the conversation and the fixed part before it. */

import { estimateTokens } from '../../agent/prompt/estimate-tokens.ts'
import { turnAuthority } from './turn-authority.ts'
import type { TurnSession } from './turn-session.ts'

export const contextTokens = (session: TurnSession): number => session.store.contextTokens() + fixedTokens(session)

/** Tokens of the system prompt and the tool schemas, by the list of schemas, which changes with the settings. */
const cache = new WeakMap<object, number>()

function fixedTokens(session: TurnSession): number {
  const schemas = session.toolRuntime.schemas(session.settings, turnAuthority(session))
  let tokens = cache.get(schemas)
  if (tokens === undefined) {
    tokens = estimateTokens(JSON.stringify(schemas)) + estimateTokens(session.meta.prompt ?? '')
    cache.set(schemas, tokens)
  }
  return tokens
}
