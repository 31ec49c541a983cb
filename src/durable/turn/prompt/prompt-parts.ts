/** Lists the parts of the system prompt. Their layers have a fixed order, so the order of this list does not matter. */

import { environmentPart } from './environment-part.ts'
import { guidancePart } from './guidance-part.ts'
import { memoryPart } from './memory-part.ts'
import type { PromptPart } from './prompt-part.ts'
import { settingsPart } from './settings-part.ts'
import { workspacePart } from './workspace-part.ts'
import { skillsPart } from './skills-part.ts'

export const promptParts: readonly PromptPart[] = [
  guidancePart,
  settingsPart,
  environmentPart,
  workspacePart,
  skillsPart,
  memoryPart,
]
