/** Builds the layers that come from settings: who the agent is, how it speaks, its instructions, and the date. */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import { defaultSettings } from '#agent/core/settings.ts'
import { defaultIdentity } from '#agent/prompt/identity.ts'
import { createLayer } from '#agent/prompt/layers.ts'
import { findPersonality, renderPersonality } from '#agent/prompt/personalities.ts'
import { blockFindings } from '#agent/untrusted/injection-scan.ts'
import type { PromptPart } from './prompt-part.ts'

export const settingsPart: PromptPart = ({ settings, now }) => {
  const { instructions = '', timezone = defaultSettings.timezone, agent = {} } = settings
  const personality = agent.personality && findPersonality(agent.personality, agent.personalities)
  return [
    // Refused when it is stored, and left out here, because the scan may have learned more since.
    createLayer('identity', agent.soul?.trim() ? blockOnce(agent.soul) : defaultIdentity),
    createLayer('personality', personality ? renderPersonality(blockOnce(personality)) : ''),
    createLayer('instructions', instructions),
    createLayer('date', `Date when this prompt was written: ${dateIn(timezone, now)} (${timezone}).`),
  ]
}

/** Sessions of one tenant have the same texts. */
const blocked = new BoundedMap<string, string>(20)

function blockOnce(text: string): string {
  let result = blocked.get(text)
  if (result === undefined) blocked.set(text, (result = blockFindings(text)))
  return result
}

/** A zone may be written in thousands of ways, in small letters and large ones. */
const formats = new BoundedMap<string, Intl.DateTimeFormat>(100)

/** YYYY-MM-DD: the time of day would defeat the provider's cache. Making a format costs more than a hundred uses of it. */
function dateIn(timeZone: string, at: number): string {
  let format = formats.get(timeZone)
  if (!format) formats.set(timeZone, (format = new Intl.DateTimeFormat('en-CA', { timeZone })))
  return format.format(at)
}
