/**
 * Renders the index of skills for the system prompt: one line for each skill, by category, within a budget. Bundled ones
 * are names alone: a search now and then costs less than their descriptions in every request.
 */

import type { SkillHead } from '#agent/core/skills/skill.ts'

type NamedSkill = Pick<SkillHead, 'name' | 'category'>
type ListedSkill = NamedSkill & Pick<SkillHead, 'description'>

/** Of the whole index. The tool `skills_list` shows the rest. */
const maxIndexChars = 8_000
const maxLineChars = 240

const introduction = `Skills are tested instructions for a kind of work. Before you begin a task that one of them covers, load it with skill_view and follow it. Do not load one that does not fit.`

const byNameAlone = 'More by name; skills_list with a query says what they do:'

/** Undefined without skills. `bundled`: after the tenant's own ones. */
export function renderSkillIndex(
  own: readonly ListedSkill[],
  bundled: readonly NamedSkill[] = [],
  maxChars = maxIndexChars,
): string | undefined {
  if (!own.length && !bundled.length) return undefined
  const names = groupByCategory(bundled).map(
    ([category, members]) => `${category}: ${members.map(({ name }) => name).join(', ')}`,
  )
  const brief = names.length ? [byNameAlone, ...names] : []
  return [introduction, ...renderDescribed(own, maxChars - brief.join('\n').length), ...brief].join('\n')
}

/** Skills that come first are kept when the budget is too small, so that the order is that of importance. */
function renderDescribed(skills: readonly ListedSkill[], maxChars: number): readonly string[] {
  const kept: ListedSkill[] = []
  let left = maxChars - introduction.length
  for (const skill of skills) {
    left -= renderLine(skill).length + skill.category.length + 2
    if (left < 0) break
    kept.push(skill)
  }
  const omitted = skills.length - kept.length
  return [
    ...groupByCategory(kept).map(([category, members]) => [`${category}:`, ...members.map(renderLine)].join('\n')),
    ...(omitted > 0 ? [`${omitted} more: call skills_list.`] : []),
  ]
}

/** A description is written by others: it stays on its line. */
function renderLine({ name, description }: ListedSkill): string {
  const flat = description.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim()
  const line = `- ${name}: ${flat}`
  return line.length > maxLineChars ? `${line.slice(0, maxLineChars - 1).trimEnd()}…` : line
}

function groupByCategory<Skill extends NamedSkill>(
  skills: readonly Skill[],
): readonly (readonly [string, readonly Skill[]])[] {
  const groups = new Map<string, Skill[]>()
  for (const skill of skills.toSorted(byName))
    groups.set(skill.category, [...(groups.get(skill.category) ?? []), skill])
  return [...groups].toSorted(([one], [other]) => (one < other ? -1 : 1))
}

const byName = (one: NamedSkill, other: NamedSkill): number => (one.name < other.name ? -1 : 1)
