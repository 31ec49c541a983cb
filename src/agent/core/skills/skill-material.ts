/** Defines what a tenant adds to the index of skills in prompts. */

import type { SkillHead } from './skill.ts'

/** Decides whether a session is offered a skill. */
export type NamedSkill = Pick<SkillHead, 'name' | 'category' | 'platforms' | 'requires' | 'fallbackFor'>
export type IndexedSkill = NamedSkill & Pick<SkillHead, 'description'>

export type SkillMaterial = {
  /** The most important ones first. */
  readonly own: readonly IndexedSkill[]
  /** Names of bundled skills that are not offered. */
  readonly hidden: readonly string[]
}
