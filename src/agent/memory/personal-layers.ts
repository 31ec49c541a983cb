/** Hides the layers of a stored prompt that the asker of a turn may not be answered with. */

import type { PersonalLayers, PromptLayer } from '#agent/core/prompt-layer.ts'
import { type Asker, memoryReach } from './memory-reach.ts'

/** Undefined when the prompt has no such layer. */
export function personalLayers(layers: readonly PromptLayer[]): PersonalLayers | undefined {
  const textOf = (wanted: string) => layers.find(({ name, text }) => name === wanted && text.trim() !== '')
  const memory = textOf('memory')?.text.trim()
  const projectMemory = textOf('project_memory')?.text.trim()
  const user = textOf('user')
  if (memory === undefined && projectMemory === undefined && !user) return undefined
  return {
    ...(memory !== undefined && { memory }),
    ...(projectMemory !== undefined && { projectMemory }),
    ...(user && { profile: { owner: user.owner ?? '', text: user.text.trim() } }),
  }
}

/**
 * Returns the prompt for a turn. For the person who began the session it is the stored text, byte for byte. Somebody else
 * gets it without the profile, and who may not read the tenant's sessions without the memory of tenant and project too.
 */
export function promptFor(prompt: string, personal: PersonalLayers | undefined, authority: Asker): string {
  if (!personal) return prompt
  const reach = memoryReach(authority)
  // Nobody in particular asks when a job or a process reports into the session: then it stays as it is.
  const isOther = reach?.isShared || (reach?.owner !== undefined && reach.owner !== personal.profile?.owner)
  const hidden = [
    ...(reach ? [] : [personal.memory, personal.projectMemory]),
    ...(!reach || isOther ? [personal.profile?.text] : []),
  ]
  return hidden.reduce<string>((text, layer) => (layer ? removeLayer(text, layer) : text), prompt)
}

const removeLayer = (prompt: string, layer: string): string => {
  const at = prompt.lastIndexOf(layer)
  if (at < 0) return prompt
  return `${prompt.slice(0, at).trimEnd()}\n\n${prompt.slice(at + layer.length).trimStart()}`.trim()
}
