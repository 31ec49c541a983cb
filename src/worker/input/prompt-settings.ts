/** Refuses settings for the system prompt that name an unknown personality, or that hold directives of an attack. */

import type { Settings } from '#agent/core/settings.ts'
import { findPersonality, listPersonalities, noPersonality } from '#agent/prompt/personalities.ts'
import { scan } from '#agent/untrusted/injection-scan.ts'
import { invalid } from '../errors.ts'

/** `known`: the settings below those of the request. Values that are null remove a setting and are not checked. */
export function requirePromptSettings({ agent }: Settings, known: Settings): void {
  if (!agent) return
  const { soul, personality, personalities } = agent
  if (soul) requireHarmless(soul, 'agent.soul')
  for (const [name, text] of Object.entries(personalities ?? {}))
    if (text) requireHarmless(text, `agent.personalities.${name}`)
  const own = { ...known.agent?.personalities, ...personalities }
  if (!personality || personality === noPersonality || findPersonality(personality, own)) return
  throw invalid(
    `There is no personality ${personality}. Use one of ${listPersonalities(own).join(', ')}, or ${noPersonality}.`,
    'agent.personality',
  )
}

/** For every text that becomes a part of prompts. */
export function requireHarmless(text: string, field: string): void {
  const [finding] = scan(text, 'context')
  if (finding)
    throw invalid(`Line ${finding.line} looks like an attack (${finding.kind}): ${finding.excerpt}. Reword it.`, field)
}
