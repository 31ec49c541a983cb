/** Parses a message that begins with names of skills: `/release-notes /write-commit since v2`. */

/** `rest`: the request that follows the names. */
export type SkillInvocation = { readonly names: readonly string[]; readonly rest: string }

const maxStacked = 5

/**
 * Undefined when the first word is no name of a skill. Of further words that begin with a slash only those that name a
 * skill are taken, because a request may begin with a path.
 */
export function parseInvocation(input: string, isSkill: (name: string) => boolean): SkillInvocation | undefined {
  const names: string[] = []
  let rest = input.trimStart()
  while (names.length < maxStacked) {
    const word = /^\/([a-z0-9][a-z0-9._-]{0,63})(?=\s|$)/i.exec(rest)
    const name = word?.[1]?.toLowerCase()
    if (!word || name === undefined || !isSkill(name)) break
    if (!names.includes(name)) names.push(name)
    rest = rest.slice(word[0].length).trimStart()
  }
  return names.length ? { names, rest } : undefined
}
