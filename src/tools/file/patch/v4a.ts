/**
 * The multi-file patch format models are trained on: `*** Begin Patch`, then files to add, delete or
 * update with hunks of ` `, `-` and `+` lines under optional `@@` hints.
 */

export type Hunk = {
  /** Lines that stand somewhere above the hunk: the enclosing function, say. */
  readonly hints: readonly string[]
  readonly before: readonly string[]
  readonly after: readonly string[]
}

export type FileChange =
  | { readonly do: 'add'; readonly path: string; readonly content: string }
  | { readonly do: 'delete'; readonly path: string }
  | { readonly do: 'update'; readonly path: string; readonly moveTo?: string; readonly hunks: readonly Hunk[] }

const HEADER = /^\*\*\* (Add|Delete|Update) File: (.+)$/
const MOVE = /^\*\*\* Move to: (.+)$/

export const pathsIn = (patch: string): string[] =>
  patch.split('\n').flatMap((line) => {
    const path = HEADER.exec(line.trim())?.[2] ?? MOVE.exec(line.trim())?.[1]
    return path === undefined ? [] : [path.trim()]
  })

type Section = { readonly action: string; readonly path: string; readonly lines: string[] }

/** The changes, or a sentence on what is wrong with the patch. */
export function parsePatch(patch: string): readonly FileChange[] | string {
  const sections: Section[] = []
  for (const line of patch.replaceAll('\r\n', '\n').split('\n')) {
    if (/^\*\*\* (Begin|End) Patch\s*$/.test(line)) continue
    const header = HEADER.exec(line.trimEnd())
    if (header) sections.push({ action: header[1] ?? '', path: (header[2] ?? '').trim(), lines: [] })
    else if (sections.length > 0) sections.at(-1)?.lines.push(line)
    else if (line.trim() !== '')
      return `The patch begins with "${line.slice(0, 80)}" where a "*** Update File: path" is due.`
  }
  if (sections.length === 0)
    return 'The patch names no file: "*** Add File: ", "*** Update File: " or "*** Delete File: ".'
  const changes: FileChange[] = []
  for (const section of sections) {
    const change = changeOf(section)
    if (typeof change === 'string') return change
    changes.push(change)
  }
  return changes
}

function changeOf({ action, path, lines }: Section): FileChange | string {
  const used = lines.at(-1) === '' ? lines.slice(0, -1) : lines
  if (action === 'Delete') return { do: 'delete', path }
  if (action === 'Add') return addition(path, used)
  return update(path, used)
}

function update(path: string, lines: readonly string[]): FileChange | string {
  const moveTo = MOVE.exec(lines[0]?.trimEnd() ?? '')?.[1]?.trim()
  const hunks = hunksOf(moveTo === undefined ? lines : lines.slice(1))
  if (typeof hunks === 'string') return `${path}: ${hunks}`
  if (hunks.length === 0 && moveTo === undefined) return `${path}: the update has no hunks.`
  return { do: 'update', path, hunks, ...(moveTo !== undefined && { moveTo }) }
}

function addition(path: string, lines: readonly string[]): FileChange | string {
  const wrong = lines.find((line) => !line.startsWith('+'))
  if (wrong !== undefined) return `${path}: every line of a new file begins with "+", not: ${wrong.slice(0, 80)}`
  return { do: 'add', path, content: lines.map((line) => `${line.slice(1)}\n`).join('') }
}

type OpenHunk = { hints: string[]; before: string[]; after: string[] }

function hunksOf(lines: readonly string[]): Hunk[] | string {
  const hunks: OpenHunk[] = []
  const open = (): OpenHunk => {
    const hunk = { hints: [], before: [], after: [] }
    hunks.push(hunk)
    return hunk
  }
  let hunk: OpenHunk | undefined
  for (const line of lines) {
    if (line.startsWith('*** End of File')) continue
    if (line.startsWith('@@')) {
      // Several hints in a row narrow one hunk.
      if (!hunk || hunk.before.length + hunk.after.length > 0) hunk = open()
      const hint = line
        .slice(2)
        .replace(/@@\s*$/, '')
        .trim()
      if (hint !== '' && !/^-\d+(,\d+)? \+\d+/.test(hint)) hunk.hints.push(hint)
      continue
    }
    hunk ??= open()
    if (!take(hunk, line)) return `a hunk line begins with " ", "-", "+" or "@@", not: ${line.slice(0, 80)}`
  }
  return hunks.filter(({ before, after }) => before.length + after.length > 0)
}

function take({ before, after }: OpenHunk, line: string): boolean {
  const text = line.slice(1)
  if (line.startsWith('+')) after.push(text)
  else if (line.startsWith('-')) before.push(text)
  else if (line.startsWith(' ') || line === '') {
    before.push(text)
    after.push(text)
  } else return false
  return true
}
