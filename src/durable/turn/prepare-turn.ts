/**
 * Prepares what the first turn of a session fixes: the system prompt that every later turn replays byte for byte. It
 * runs before the synchronous start of the turn, so a part of the prompt may be read from another object.
 */

import type { PromptRecord } from '#agent/core/prompt-layer.ts'
import { type BuildOptions, buildPrompt } from './prompt/build-prompt.ts'
import type { TurnSession } from './turn-session.ts'

/** Values that are stored with the start of the turn. */
export type Preparation = { readonly prompt?: string; readonly promptRecord?: PromptRecord }

const nothing: Preparation = {}

/** Returns at once for a session that has its prompt, and when no part has to wait. */
export function prepareTurn(session: TurnSession, options?: BuildOptions): Promise<Preparation> | Preparation {
  const { prompt, promptRecord } = session.meta
  if (prompt === undefined) return buildPrompt(session, options)
  if (!session.journal.isBlank) return nothing
  return { prompt, ...(promptRecord && { promptRecord }) }
}

/**
 * Builds the prompt of a session again, with what its tenant has now. The next model call uses it, which costs the
 * provider's cache once. Does nothing before the first turn, which builds the prompt anyway. Returns whether the text
 * has changed.
 */
export async function rebuildPrompt(session: TurnSession): Promise<boolean> {
  const { prompt: before } = session.meta
  if (before === undefined) return false
  const built = await buildPrompt(session, { isFresh: true })
  // The session may have been deleted during the wait.
  if (!session.exists) return false
  session.updateMeta(built)
  return built.prompt !== before
}
