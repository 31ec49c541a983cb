/** Renders what a tenant adds to the index of skills. */

import type { SkillMaterial } from '#agent/core/skills/skill-material.ts'
import { describeSkill } from '#agent/skills/skill-verdict.ts'
import { isForeign, lastActivity } from './skill-summary.ts'
import type { SkillRecord, SkillRows } from './skill-rows.ts'

/** Undefined when the tenant adds nothing. */
export function readSkillMaterial(rows: SkillRows): SkillMaterial | undefined {
  const records = rows.list()
  if (records.length === 0) return undefined
  const offered = records.filter(({ source, archivedAt }) => source !== 'bundled' && archivedAt === undefined)
  const own = offered.toSorted(byImportance).map(({ head, ...record }) => ({
    name: head.name,
    description: describeSkill({ head, source: record.source, isForeign: isForeign({ ...record, head }) }),
    category: head.category,
    platforms: head.platforms,
    requires: head.requires,
    fallbackFor: head.fallbackFor,
  }))
  return { own, hidden: records.filter(isHiding).map(({ name }) => name) }
}

/** Pinned skills first, then those that were used or changed last. */
const byImportance = (one: SkillRecord, other: SkillRecord): number =>
  Number(other.isPinned) - Number(one.isPinned) || lastActivity(other) - lastActivity(one)

/** Whether a bundled skill of the name is archived or replaced. */
const isHiding = ({ source, archivedAt }: SkillRecord): boolean => source !== 'bundled' || archivedAt !== undefined
