/**
 * Builds the layers of memory: what the tenant and the project of the session remember, and the profile of the person who
 * asks. They are read once, so a change within a session leaves its prompt as it is.
 */

import { allMarks, privateMarks } from '#agent/core/marks.ts'
import type { PromptLayer } from '#agent/core/prompt-layer.ts'
import type { MemoryMaterial, MemoryTarget } from '#agent/core/recall/memory.ts'
import { memoryReach } from '#agent/memory/memory-reach.ts'
import { renderMemory } from '#agent/memory/memory-scan.ts'
import { defaultMemoryLimits } from '#agent/memory/memory-store.ts'
import { createLayer } from '#agent/prompt/layers.ts'
import type { PromptContext } from './prompt-part.ts'

export async function buildMemoryLayers(
  context: PromptContext,
  material: MemoryMaterial,
): Promise<readonly PromptLayer[]> {
  const { session, settings, authority } = context
  const { memory: entries, isForeign } = material
  const isOn = settings.memory?.memory_enabled ?? true
  const read = ownStores(context, material).map(async ({ target, owner }) => {
    const stored = await session.storedMemory(authority, target)
    return render(context, target, { entries: stored.entries, isForeign: stored.marks.isForeign, owner })
  })
  return [...(isOn ? [render(context, 'memory', { entries, isForeign })] : []), ...(await Promise.all(read))]
}

type OwnStore = { readonly target: 'user' | 'project'; readonly owner?: string }

/** The stores that have something, and belong to the asker or the project of the session. */
function ownStores(
  { session, settings, authority }: PromptContext,
  { projects = [], owners }: MemoryMaterial,
): readonly OwnStore[] {
  const { memory_enabled, user_profile_enabled } = {
    memory_enabled: true,
    user_profile_enabled: true,
    ...settings.memory,
  }
  const has = (list: readonly string[], id: string | undefined): id is string => id !== undefined && list.includes(id)
  const owner = memoryReach(authority)?.owner
  return [
    ...(memory_enabled && has(projects, session.meta.project?.id) ? [{ target: 'project' as const }] : []),
    ...(user_profile_enabled && has(owners, owner) ? [{ target: 'user' as const, owner }] : []),
  ]
}

type Store = {
  readonly entries: readonly string[]
  readonly isForeign?: true | undefined
  readonly owner?: string | undefined
}

/** The stores have limits of their own, which the settings may raise: the budget never cuts them. */
function render({ settings }: PromptContext, target: MemoryTarget, { entries, isForeign, owner }: Store): PromptLayer {
  const { memory_char_limit, user_char_limit } = settings.memory ?? {}
  const limit = (target === 'user' ? user_char_limit : memory_char_limit) ?? defaultMemoryLimits[target]
  const layer = createLayer(target === 'project' ? 'project_memory' : target, renderMemory(target, entries, limit))
  const budget = Math.max(layer.budget, layer.text.length)
  // An empty store holds nothing.
  const marks = layer.text ? { marks: isForeign ? allMarks : privateMarks } : {}
  return { ...layer, budget, ...(owner !== undefined && { owner }), ...marks }
}
