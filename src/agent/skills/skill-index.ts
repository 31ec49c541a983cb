/** Renders the index of skills for the system prompt: one line for each skill, by category, within a budget. */

import type { SkillHead } from '#agent/core/skills/skill.ts'

type ListedSkill = Pick<SkillHead, 'name' | 'description' | 'category'>

/** Of the whole index. The tool `skills_list` shows the rest. */
const maxIndexChars = 8_000
const maxLineChars = 240

const introduction = `Skills are tested instructions for a kind of work. Before you begin a task that one of them covers, load it with skill_view and follow it. Do not load one that does not fit.`

/** Undefined without skills. Skills that come first are kept when the budget is too small, so that the order is that of importance. */
export function renderSkillIndex(skills: readonly ListedSkill[], maxChars = maxIndexChars): string | undefined {
  if (skills.length === 0) return undefined
  const kept: ListedSkill[] = []
  let left = maxChars - introduction.length
  for (const skill of skills) {
    left -= renderLine(skill).length + skill.category.length + 2
    if (left < 0) break
    kept.push(skill)
  }
  const omitted = skills.length - kept.length
  return [
    introduction,
    ...groupByCategory(kept).map(([category, members]) => [`${category}:`, ...members.map(renderLine)].join('\n')),
    ...(omitted > 0 ? [`${omitted} more: call skills_list.`] : []),
  ].join('\n')
}

/** A description is written by others: it stays on its line. */
function renderLine({ name, description }: ListedSkill): string {
  const flat = description.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim()
  const line = `- ${name}: ${flat}`
  return line.length > maxLineChars ? `${line.slice(0, maxLineChars - 1).trimEnd()}…` : line
}

function groupByCategory(skills: readonly ListedSkill[]): readonly (readonly [string, readonly ListedSkill[]])[] {
  const groups = new Map<string, ListedSkill[]>()
  for (const skill of skills.toSorted(byName))
    groups.set(skill.category, [...(groups.get(skill.category) ?? []), skill])
  return [...groups].toSorted(([one], [other]) => (one < other ? -1 : 1))
}

const byName = (one: ListedSkill, other: ListedSkill): number => (one.name < other.name ? -1 : 1)
