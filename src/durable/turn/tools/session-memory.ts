/** Provides the memory of the tenant and of the session's project to the tools of a session, and counts the refused changes of a run. */

import type { Memory, MemoryProject, MemoryResult, MemoryTarget } from '#agent/core/recall/memory.ts'
import { memoryOf } from '#durable/tenant/memory/memory.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { tenantStub } from '#durable/platform/addresses.ts'

/** After so many refusals in one turn the model is told to give up. */
const maxRefusals = 3

export type SessionMemoryOptions = {
  readonly env: Env
  readonly tenantId: string
  /** The run that makes the calls. */
  readonly runId: () => string
  readonly isGroup: () => boolean
  readonly project: () => MemoryProject | undefined
}

export function createSessionMemory({ env, tenantId, runId, isGroup, project }: SessionMemoryOptions): Memory {
  /** Forgotten with the memory of the object: then the model has three tries again. */
  let refusals = { runId: '', count: 0 }
  const stub = () => memoryOf(tenantStub(env, tenantId))

  function isLastTry({ kind }: MemoryResult): boolean {
    const run = runId()
    const before = refusals.runId === run ? refusals.count : 0
    refusals = { runId: run, count: kind === 'refused' ? before + 1 : 0 }
    return refusals.count >= maxRefusals
  }

  /** Others read along in a group. */
  const explainGroup = (target: MemoryTarget): MemoryResult | undefined =>
    target === 'user' && isGroup()
      ? { kind: 'unavailable', error: 'Profiles of people are not used in groups.' }
      : undefined

  return {
    read: async (authority, target) => explainGroup(target) ?? (await stub().read(authority, target, project())),
    change: async (authority, change) => {
      const result = explainGroup(change.target) ?? (await stub().change(authority, { ...change, project: project() }))
      forgetSnapshot(tenantId)
      return { result, isLast: isLastTry(result) }
    },
  }
}
