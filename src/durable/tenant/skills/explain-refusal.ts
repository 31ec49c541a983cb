/** Explains to the model why a change of a skill is refused, and what to do instead. */

import type { Authority } from '#agent/core/permission/authority.ts'
import type { SkillChange } from '#agent/core/skills/skill.ts'
import { explainRefusedChange, isLearningReview } from '#agent/skills/change-guard.ts'
import { describeFindings } from '#agent/skills/skill-verdict.ts'
import type { OfferedSkill } from './bundled-skills.ts'
import type { CheckedSkill } from './check-skill.ts'
import type { SkillRecord } from './skill-rows.ts'

export const needsScope =
  'The sender may not change skills, because they act in all sessions: it takes a key with the scope write, or an admin of the channel.'

export const explainUnknown = (name: string, similar: readonly string[]): string =>
  `There is no skill ${name}.${similar.length ? ` Similar: ${similar.join(', ')}.` : ' Call skills_list.'}`

export function explainGuard(
  authority: Authority,
  change: SkillChange,
  found: OfferedSkill | undefined,
  readHash: string | undefined,
): string | undefined {
  const files = new Map(found?.files.map((one) => [one.path, one.hash]))
  const context = { isReview: isLearningReview(authority), files, readHash }
  return found && explainRefusedChange(change, found.record, context)
}

/** Explains why text is refused. What a person accepted before stays accepted. */
export function explainFindings(
  { verdict, findings }: CheckedSkill,
  before: SkillRecord | undefined,
  isCautionAccepted: boolean,
): string | undefined {
  if (verdict === 'dangerous')
    return `Refused: the text contains directives that a skill may not have (${describeFindings(findings)}). Describe the task instead.`
  if (verdict === 'safe' || isCautionAccepted || before?.verdict === 'caution') return undefined
  return `Refused: the text needs the approval of a person (${describeFindings(findings)}). Write the passage in one call, so that it can be approved, or leave it out.`
}
