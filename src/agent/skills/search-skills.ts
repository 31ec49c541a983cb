/** Ranks skills by the words of a query: names count most, then tags and descriptions, then the beginning of the text. */

import type { SkillHead } from '#agent/core/skills/skill.ts'

/** A later part of a skill says nothing new about what it is for. */
const maxReadChars = 16 * 1024
const minWordChars = 2

export type SearchableSkill = {
  readonly head: Pick<SkillHead, 'name' | 'description' | 'category' | 'tags'>
  /** Its SKILL.md. */
  readonly text: string
}

const wordsOf = (text: string): readonly string[] =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length >= minWordChars)

/** Words count as the same when one begins with the other: `invoice` finds `invoices`. */
const isSame = (one: string, other: string): boolean =>
  one === other || (one.length > 3 && other.startsWith(one)) || (other.length > 3 && one.startsWith(other))

const weights = { name: 8, tags: 5, description: 3, text: 1 } as const
const fieldNames = ['name', 'tags', 'description', 'text'] as const

/** Names of skills that have at least one word of the query, the best ones first. */
export function searchSkills(skills: readonly SearchableSkill[], query: string): readonly string[] {
  const asked = [...new Set(wordsOf(query))]
  const scores = skills.map(({ head, text }) => {
    const fields = {
      name: wordsOf(head.name),
      tags: wordsOf([head.category, ...head.tags].join(' ')),
      description: wordsOf(head.description),
      text: [...new Set(wordsOf(text.slice(0, maxReadChars)))],
    }
    return asked.map((word) =>
      fieldNames.reduce((sum, name) => sum + (fields[name].some((one) => isSame(word, one)) ? weights[name] : 0), 0),
    )
  })
  // A word that most skills have tells nothing.
  const rarity = asked.map((_word, i) => Math.log(1 + skills.length / (1 + scores.filter((one) => one[i]).length)))
  const ranked = skills.map(({ head }, at) => ({
    name: head.name,
    score: (scores[at] ?? []).reduce((sum, score, i) => sum + score * (rarity[i] ?? 0), 0),
  }))
  return ranked
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score || (one.name < other.name ? -1 : 1))
    .map(({ name }) => name)
}
