/**
 * Prepares what the first turn of a session fixes: the system prompt that every later turn replays byte for byte. It
 * runs before the synchronous start of the turn, so a part of the prompt may be read from another object.
 */

import type { Settings } from '../../agent/model/settings.ts'
import type { SessionMetadata } from '../storage/session-metadata.ts'

/** The parts of a session that its prompt is built from. */
export type PreparedSession = {
  readonly tenantId: string
  readonly meta: SessionMetadata
  readonly settings: Settings
  readonly journal: { readonly isBlank: boolean }
  readonly toolRuntime: { readonly systemPrompt: (settings: Settings, createdAt: number) => string }
}

/** One part of the system prompt; undefined when this session has none. */
export type PromptPart = (session: PreparedSession) => Promise<string | undefined> | string | undefined

/** The parts in their order. Memory, skills, MCP tools and context files become further parts. */
const promptParts: readonly PromptPart[] = [
  ({ toolRuntime, settings, meta }) => toolRuntime.systemPrompt(settings, meta.createdAt),
]

/** Values that are stored with the start of the turn. */
export type Preparation = { readonly prompt?: string }

const nothing: Preparation = {}

/** Returns at once when every part does: then nothing is awaited between creating a session and its first turn. */
export function prepareTurn(
  session: PreparedSession,
  parts: readonly PromptPart[] = promptParts,
): Promise<Preparation> | Preparation {
  if (session.meta.prompt !== undefined && !session.journal.isBlank) return nothing
  if (session.meta.prompt !== undefined) return { prompt: session.meta.prompt }
  const texts = parts.map((part) => part(session))
  // The promise of an RPC call is no `Promise`: everything that is not a text is waited for.
  const isWaiting = texts.some((text) => typeof text === 'object')
  return isWaiting ? Promise.all(texts).then(joined) : joined(texts as readonly (string | undefined)[])
}

const joined = (texts: readonly (string | undefined)[]): Preparation => ({
  prompt: texts.filter((text) => text !== undefined && text !== '').join('\n\n'),
})
