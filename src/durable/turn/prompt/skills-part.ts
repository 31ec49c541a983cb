/** Builds the index of skills: those of the tenant, then the bundled ones, as far as the session has what they need. */

import type { PromptLayer } from '#agent/core/prompt-layer.ts'
import type { IndexedSkill } from '#agent/core/skills/skill-material.ts'
import { createLayer } from '#agent/prompt/layers.ts'
import { isOffered } from '#agent/skills/readiness.ts'
import { renderSkillIndex } from '#agent/skills/skill-index.ts'
import { loadBundledIndex } from '#backends/modules.ts'
import type { PromptContext, PromptPart } from './prompt-part.ts'

/** Without the tool that loads them, no skill is named. Waits only for the first prompt of an isolate. */
export const skillsPart: PromptPart = (context) => {
  if (!context.tools.has('skill_view')) return undefined
  const loading = loadBundledIndex()
  return loading instanceof Promise
    ? loading.then((bundled) => renderLayer(context, bundled))
    : renderLayer(context, loading)
}

function renderLayer({ tools, material }: PromptContext, bundled: readonly IndexedSkill[]): PromptLayer | undefined {
  const { own = [], hidden = [] } = material.skills ?? {}
  const has = { tools: new Set(tools.keys()), toolsets: new Set([...tools.values()].map(({ toolset }) => toolset)) }
  const skills = [...own, ...bundled.filter(({ name }) => !hidden.includes(name))]
  const index = renderSkillIndex(skills.filter((skill) => isOffered(skill, has)))
  return index === undefined ? undefined : createLayer('skills', index)
}
