/** Renders what is stored about a skill for the API, the tools and the prompt. */

import type { SkillSummary } from '#agent/core/skills/skill.ts'
import type { SkillRecord } from './skill-rows.ts'

const dayMs = 86_400_000
const staleAfterMs = 30 * dayMs
export const archiveAfterMs = 90 * dayMs

/** When somebody used or changed the skill last. */
export const lastActivity = ({ updatedAt, usedAt = 0 }: SkillRecord): number => Math.max(updatedAt, usedAt)

/** Skills that people wrote themselves, bundled and pinned ones stay whether they are used or not. */
export const canBecomeStale = ({ source, isPinned, archivedAt }: SkillRecord): boolean =>
  (source === 'agent' || source === 'imported') && !isPinned && archivedAt === undefined

/** Skills that the model wrote before there were marks may be foreign. */
export const isForeign = ({ source, isForeign: stored }: SkillRecord): boolean =>
  source === 'imported' || (source === 'agent' && stored !== false) || stored === true

export function toSummary(record: SkillRecord, now: number): SkillSummary {
  const { head, source, verdict, isPinned, archivedAt, hash, createdAt, updatedAt, usedAt, origin } = record
  return {
    head,
    source,
    verdict,
    isPinned,
    ...(archivedAt !== undefined && { archivedAt }),
    isStale: canBecomeStale(record) && now - lastActivity(record) >= staleAfterMs,
    hash,
    createdAt,
    updatedAt,
    ...(usedAt !== undefined && { usedAt }),
    ...(origin && { origin: origin.url }),
    isForeign: isForeign(record),
  }
}
