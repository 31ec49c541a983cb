/** Checks the names of skills and the paths of their files. Paths come from models, archives and servers. */

const maxNameChars = 64
const maxPathChars = 200
const maxPathDepth = 6

/** The file with the instructions. */
export const skillFile = 'SKILL.md'

/** The folders in which the model may write files. */
const writableFolders: readonly string[] = ['references', 'templates', 'scripts', 'assets']

const namePattern = /^[a-z0-9][a-z0-9._-]*$/

/** Explains why a text is no name of a skill. Undefined when it is one. */
export function explainBadSkillName(name: string): string | undefined {
  if (name.length > maxNameChars) return `The name of a skill has at most ${maxNameChars} characters.`
  if (!namePattern.test(name) || name.includes('..'))
    return 'Write the name of a skill with small letters, digits, dots, dashes and underscores, beginning with a letter or digit.'
  return undefined
}

/** Explains why a file of a skill cannot have this path. Undefined when it can. */
export function explainBadSkillPath(path: string): string | undefined {
  if (path.length === 0 || path.length > maxPathChars)
    return `The path of a file has between 1 and ${maxPathChars} characters.`
  if (path.startsWith('/') || path.includes('\\') || /^[A-Za-z]:/.test(path))
    return `${path} is not a path inside of the skill. Write it as references/name.md.`
  const parts = path.split('/')
  if (parts.length > maxPathDepth) return `${path} is too deep: at most ${maxPathDepth} folders.`
  if (
    parts.some((part) => part === '' || part.startsWith('.') || hasControlCharacter(part) || part !== part.normalize())
  )
    return `${path} is not a path inside of the skill: no part may be empty, hidden or "..".`
  if (path !== skillFile && path.toLowerCase() === skillFile.toLowerCase())
    return `The instructions of a skill are in ${skillFile}, with these capital letters.`
  return undefined
}

const hasControlCharacter = (text: string): boolean => /[\p{Cc}\p{Cf}]/u.test(text)

/** Explains why the model may not write this file. Undefined when it may. */
export function explainUnwritablePath(path: string): string | undefined {
  const bad = explainBadSkillPath(path)
  if (bad !== undefined) return bad
  const [folder = ''] = path.split('/')
  if (path.includes('/') && writableFolders.includes(folder)) return undefined
  return `Write files below ${writableFolders.map((name) => `${name}/`).join(', ')}. Change ${skillFile} with edit or patch.`
}
