/** Reads what memory contributes to the prompts of new sessions. */

import type { MemoryMaterial } from '#agent/core/recall/memory.ts'
import type { MemoryRows } from './memory-rows.ts'

/** Undefined as long as nothing is stored. */
export function readMemoryMaterial(rows: MemoryRows): MemoryMaterial | undefined {
  const isForeign = rows.isForeign({ target: 'memory' })
  const projects = rows.owners('project')
  const material = {
    memory: rows.entries({ target: 'memory' }),
    owners: rows.owners(),
    ...(projects.length && { projects }),
    ...(isForeign && { isForeign }),
  }
  return material.memory.length || material.owners.length || projects.length ? material : undefined
}
