/** Decides who may change which skill. */

import type { Authority, Principal } from '#agent/core/permission/authority.ts'
import type { SkillChange, SkillSource } from '#agent/core/skills/skill.ts'
import { skillFile } from './skill-names.ts'

/** The review after a turn acts as this principal. It changes skills that no person has asked it to change. */
export const learningReview: Extract<Principal, { kind: 'job' }> = { kind: 'job', id: 'learning-review' }

export const isLearningReview = ({ principal }: Pick<Authority, 'principal'>): boolean =>
  principal.kind === learningReview.kind && principal.id === learningReview.id

type GuardedSkill = { readonly source: SkillSource; readonly isPinned: boolean }

export type ChangeContext = {
  readonly isReview: boolean
  /** The files that exist, with their hashes. */
  readonly files: ReadonlyMap<string, string>
  /** The hash of the changed file when it was last read. */
  readonly readHash: string | undefined
}

/** The file that a change writes or removes. Undefined: the whole skill. */
export function changedFile(change: SkillChange): string | undefined {
  switch (change.action) {
    case 'create':
    case 'edit':
      return skillFile
    case 'patch':
    case 'write_file':
    case 'remove_file':
      return change.path
    case 'delete':
      return undefined
  }
}

/** Explains why a change of an existing skill is refused. Undefined when it may be made. */
export function explainRefusedChange(
  change: SkillChange,
  { source, isPinned }: GuardedSkill,
  { isReview, files, readHash }: ChangeContext,
): string | undefined {
  const { name, action } = change
  if (source === 'bundled') return `${name} comes with the deployment. Create a skill with another name instead.`
  if (isPinned && action === 'delete') return `${name} is pinned. A person has to unpin it before it can be deleted.`
  if (!isReview) return undefined
  if (isPinned) return `${name} is pinned: the review does not change it.`
  if (source !== 'agent')
    return `${name} belongs to a person (${source}): the review changes only skills that the agent wrote. Create another one.`
  const path = changedFile(change) ?? skillFile
  const current = files.get(path)
  if (current !== undefined && current !== readHash)
    return `Read ${path} of ${name} with skill_view first: it is overwritten only in the version that was read.`
  return undefined
}
