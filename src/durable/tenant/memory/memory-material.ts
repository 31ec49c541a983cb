/** Reads what memory contributes to the prompts of new sessions. */

import type { MemoryMaterial } from '#agent/core/recall/memory.ts'
import type { MemoryRows } from './memory-rows.ts'

/** Undefined as long as nothing is stored. */
export function readMemoryMaterial(rows: MemoryRows): MemoryMaterial | undefined {
  const isForeign = rows.isForeign({ target: 'memory' })
  const material = {
    memory: rows.entries({ target: 'memory' }),
    owners: rows.owners(),
    ...(isForeign && { isForeign }),
  }
  return material.memory.length || material.owners.length ? material : undefined
}
