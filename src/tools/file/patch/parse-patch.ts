/**
 * Parses the multi-file patch format that models are trained on (V4A): `*** Begin Patch`, then files to add, delete or
 * update with hunks of ` `, `-` and `+` lines under optional `@@` hints.
 */

export type Hunk = {
  /** Lines above the hunk, such as the head of the enclosing function. */
  readonly hints: readonly string[]
  readonly before: readonly string[]
  readonly after: readonly string[]
}

export type PatchOperation =
  | { readonly do: 'add'; readonly path: string; readonly content: string }
  | { readonly do: 'delete'; readonly path: string }
  | { readonly do: 'update'; readonly path: string; readonly moveTo?: string; readonly hunks: readonly Hunk[] }

const fileHeader = /^\*\*\* (Add|Delete|Update) File: (.+)$/
const moveHeader = /^\*\*\* Move to: (.+)$/

export const listPatchPaths = (patch: string): string[] =>
  patch.split('\n').flatMap((line) => {
    const path = fileHeader.exec(line.trim())?.[2] ?? moveHeader.exec(line.trim())?.[1]
    return path === undefined ? [] : [path.trim()]
  })

type PatchSection = { readonly action: string; readonly path: string; readonly lines: string[] }

/** Returns the changes, or an error text. */
export function parsePatch(patch: string): readonly PatchOperation[] | string {
  const sections: PatchSection[] = []
  for (const line of patch.replaceAll('\r\n', '\n').split('\n')) {
    if (/^\*\*\* (Begin|End) Patch\s*$/.test(line)) continue
    const header = fileHeader.exec(line.trimEnd())
    if (header) sections.push({ action: header[1] ?? '', path: (header[2] ?? '').trim(), lines: [] })
    else if (sections.length > 0) sections.at(-1)?.lines.push(line)
    else if (line.trim() !== '')
      return `The patch begins with "${line.slice(0, 80)}" where a "*** Update File: path" is due.`
  }
  if (sections.length === 0)
    return 'The patch names no file: "*** Add File: ", "*** Update File: " or "*** Delete File: ".'
  const changes: PatchOperation[] = []
  for (const section of sections) {
    const change = parseSection(section)
    if (typeof change === 'string') return change
    changes.push(change)
  }
  return changes
}

function parseSection({ action, path, lines }: PatchSection): PatchOperation | string {
  const content = lines.at(-1) === '' ? lines.slice(0, -1) : lines
  if (action === 'Delete') return { do: 'delete', path }
  if (action === 'Add') return parseAddition(path, content)
  return parseUpdate(path, content)
}

function parseUpdate(path: string, lines: readonly string[]): PatchOperation | string {
  const moveTo = moveHeader.exec(lines[0]?.trimEnd() ?? '')?.[1]?.trim()
  const hunks = parseHunks(moveTo === undefined ? lines : lines.slice(1))
  if (typeof hunks === 'string') return `${path}: ${hunks}`
  if (hunks.length === 0 && moveTo === undefined) return `${path}: the update has no hunks.`
  return { do: 'update', path, hunks, ...(moveTo !== undefined && { moveTo }) }
}

function parseAddition(path: string, lines: readonly string[]): PatchOperation | string {
  const invalidLine = lines.find((line) => !line.startsWith('+'))
  if (invalidLine !== undefined)
    return `${path}: every line of a new file begins with "+", not: ${invalidLine.slice(0, 80)}`
  return { do: 'add', path, content: lines.map((line) => `${line.slice(1)}\n`).join('') }
}

type OpenHunk = { hints: string[]; before: string[]; after: string[] }

function parseHunks(lines: readonly string[]): Hunk[] | string {
  const hunks: OpenHunk[] = []
  const startHunk = (): OpenHunk => {
    const hunk = { hints: [], before: [], after: [] }
    hunks.push(hunk)
    return hunk
  }
  let hunk: OpenHunk | undefined
  for (const line of lines) {
    if (line.startsWith('*** End of File')) continue
    if (line.startsWith('@@')) {
      // Consecutive hints belong to one hunk.
      if (!hunk || hunk.before.length + hunk.after.length > 0) hunk = startHunk()
      const hint = line
        .slice(2)
        .replace(/@@\s*$/, '')
        .trim()
      if (hint !== '' && !/^-\d+(,\d+)? \+\d+/.test(hint)) hunk.hints.push(hint)
      continue
    }
    hunk ??= startHunk()
    if (!addLine(hunk, line)) return `a hunk line begins with " ", "-", "+" or "@@", not: ${line.slice(0, 80)}`
  }
  return hunks.filter(({ before, after }) => before.length + after.length > 0)
}

function addLine({ before, after }: OpenHunk, line: string): boolean {
  const text = line.slice(1)
  if (line.startsWith('+')) after.push(text)
  else if (line.startsWith('-')) before.push(text)
  else if (line.startsWith(' ') || line === '') {
    before.push(text)
    after.push(text)
  } else return false
  return true
}
