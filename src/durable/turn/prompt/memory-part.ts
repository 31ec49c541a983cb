/**
 * Builds the layers of memory: what the tenant remembers, and the profile of the person who asks. They are read once, so
 * a change within a session leaves its prompt as it is.
 */

import type { PromptLayer } from '#agent/core/prompt-layer.ts'
import { createLayer } from '#agent/prompt/layers.ts'
import { memoryReach } from '#agent/memory/memory-reach.ts'
import { renderMemory } from '#agent/memory/memory-scan.ts'
import type { PromptContext, PromptPart } from './prompt-part.ts'

/** Others read along in a group, so its sessions have no memory in their prompts; and without the tool there is none. */
export const memoryPart: PromptPart = (context) => {
  const { session, settings, material, tools, authority } = context
  const { memory_enabled = true } = settings.memory ?? {}
  if (!material.memory || !tools.has('memory') || session.meta.origin?.isGroup) return undefined
  const memory = memory_enabled ? [createWhole('memory', renderMemory('memory', material.memory.memory))] : []
  const owner = memoryReach(authority)?.owner
  if (owner === undefined || !material.memory.owners.includes(owner)) return memory
  return withProfile(memory, owner, context)
}

async function withProfile(
  memory: readonly PromptLayer[],
  owner: string,
  { session, settings, authority }: PromptContext,
) {
  if (settings.memory?.user_profile_enabled === false) return memory
  const entries = await session.profileOf(authority)
  return [...memory, createWhole('user', renderMemory('user', entries), owner)]
}

/** The stores have limits of their own, which the settings may raise: the budget never cuts them. */
const createWhole = (name: 'memory' | 'user', text: string, owner?: string): PromptLayer => {
  const layer = createLayer(name, text)
  return { ...layer, budget: Math.max(layer.budget, text.length), ...(owner !== undefined && { owner }) }
}
