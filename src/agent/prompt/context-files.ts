/** Chooses the files of a workspace that describe its project, and how much of them fits into a prompt. */

type ContextFileKind = {
  /** In one folder the first of these names counts. */
  readonly names: readonly string[]
  /** `chain`: the files of all folders from the root down. `nearest`: the one closest to the working directory. */
  readonly reach: 'chain' | 'nearest'
}

/** The first kind that has a file with text is used, and no other. */
const kinds: readonly ContextFileKind[] = [
  { names: ['.hermes.md', 'HERMES.md'], reach: 'nearest' },
  { names: ['AGENTS.override.md'], reach: 'nearest' },
  { names: ['AGENTS.md', 'agents.md'], reach: 'chain' },
  { names: ['CLAUDE.md', 'claude.md'], reach: 'nearest' },
  { names: ['.cursorrules'], reach: 'nearest' },
]

/** Rules for every task belong to the last kind; those for files come with the results of calls. */
export const cursorRuleFolder = '.cursor/rules'

export type Folder = {
  readonly path: string
  /** The names of the files in it. */
  readonly names: ReadonlySet<string>
}

/**
 * Returns the candidates by precedence: groups of paths, each in the order in which it is read. `folders`: from the root
 * to the working directory. The first group with text is used.
 */
export function listContextFiles(folders: readonly Folder[]): readonly (readonly string[])[] {
  return kinds
    .map(({ names, reach }) => {
      const found = folders.flatMap(({ path, names: present }) => {
        const name = names.find((each) => present.has(each))
        return name === undefined ? [] : [`${path === '/' ? '' : path}/${name}`]
      })
      return reach === 'chain' ? found : found.slice(-1)
    })
    .filter((group) => group.length > 0)
}

/** Also the names of the files that the prompt is made from. */
export const contextFileNames: ReadonlySet<string> = new Set(kinds.flatMap(({ names }) => names))

const minCapChars = 20_000
const maxCapChars = 500_000
const windowShare = 0.06
/** Of a small window, so that the files never crowd out the conversation. */
const maxWindowShare = 0.25
const charsPerToken = 4

/** Characters of context files in a prompt. `window`: that of the model in tokens. */
export function contextFileCap(window: number | undefined): number {
  if (window === undefined) return minCapChars
  const windowChars = window * charsPerToken
  const wanted = Math.min(maxCapChars, Math.max(minCapChars, windowChars * windowShare))
  return Math.floor(Math.min(wanted, windowChars * maxWindowShare))
}

/** Characters of the context file of one folder, beside a result. */
export const maxHintChars = 8_000
/** Folders above a touched path that are looked at, itself included. */
export const maxHintAncestors = 5

/** Lists the folders from `root` down to `path`, which lies in it or is it. Only the root for a path outside. */
export function foldersTo(root: string, path: string): readonly string[] {
  if (path !== root && !path.startsWith(`${root}/`)) return [root]
  const below = path.slice(root.length).split('/').filter(Boolean)
  return [root, ...below.map((_, i) => `${root}/${below.slice(0, i + 1).join('/')}`)]
}
