/** Defines what a tenant adds to the index of skills in prompts. */

import type { SkillHead } from './skill.ts'

export type IndexedSkill = Pick<
  SkillHead,
  'name' | 'description' | 'category' | 'platforms' | 'requires' | 'fallbackFor'
>

export type SkillMaterial = {
  /** The most important ones first. */
  readonly own: readonly IndexedSkill[]
  /** Names of bundled skills that are not offered. */
  readonly hidden: readonly string[]
}
