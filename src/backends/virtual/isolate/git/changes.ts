/** Compares two states of a repository (commits, the index, the working tree) and renders the differences. */

import * as git from 'isomorphic-git'
import { compare, type Comparison, linesOf, unifiedHunks } from '../commands/compare.ts'
import type { Repository } from './repository.ts'

export type Side = { readonly mode: string; readonly oid: string; readonly text: () => Promise<string> }
export type TreeChange = { readonly path: string; readonly before: Side | undefined; readonly after: Side | undefined }

/** A commit by its hash, or `undefined` for the state before the first. */
export type TreeState = { readonly of: 'commit'; readonly oid: string | undefined } | { readonly of: 'index' | 'files' }

const emptyTreeOid = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'

const createWalker = (state: TreeState) => {
  if (state.of === 'commit') return git.TREE({ ref: state.oid ?? emptyTreeOid })
  return state.of === 'index' ? git.STAGE() : git.WORKDIR()
}

const decoder = new TextDecoder()

async function getSide(
  repository: Repository,
  entry: git.WalkerEntry | null,
  state: TreeState,
): Promise<Side | undefined> {
  if (!entry || (await entry.type()) !== 'blob') return undefined
  const oid = (await entry.oid()) ?? ''
  const read = async (): Promise<string> => {
    const bytes = state.of === 'files' ? await entry.content() : (await git.readBlob({ ...repository, oid })).blob
    return bytes ? decoder.decode(bytes) : ''
  }
  const mode = (await entry.mode()) ?? 0o100644
  const isLink = mode >> 12 === 0o12
  return { mode: isLink ? '120000' : mode & 0o111 ? '100755' : '100644', oid, text: read }
}

type EntryPair = readonly [git.WalkerEntry | null, git.WalkerEntry | null]

const isTree = async (entry: git.WalkerEntry | null): Promise<boolean> =>
  entry !== null && (await entry.type()) === 'tree'

type ChangeWalk = {
  readonly states: readonly [TreeState, TreeState]
  readonly isWanted: (path: string) => boolean
  /** Paths of the working tree that are compared even when the first state does not have them. */
  readonly tracked: ReadonlySet<string> | undefined
}

/** Whether a path is an untracked file, or excluded by the caller. */
const isExcluded = ({ states, isWanted, tracked }: ChangeWalk, path: string, before: git.WalkerEntry | null): boolean =>
  !isWanted(path) || (states[1].of === 'files' && !before && !tracked?.has(path))

const isSame = (before: Side | undefined, after: Side | undefined): boolean =>
  before?.oid === after?.oid && before?.mode === after?.mode

const isUntracked = ({ states, tracked }: ChangeWalk, before: git.WalkerEntry | null): boolean =>
  states[1].of === 'files' && !before && !tracked

/** Returns the change of one file; `null` skips an untracked directory. */
async function changeAt(
  repository: Repository,
  walk: ChangeWalk,
  path: string,
  [a, b]: EntryPair,
): Promise<TreeChange | null | undefined> {
  const { states } = walk
  if (path === '.') return undefined
  if ((await isTree(a)) || (await isTree(b))) return isUntracked(walk, a) ? null : undefined
  if (isExcluded(walk, path, a)) return undefined
  const before = await getSide(repository, a, states[0])
  const after = await getSide(repository, b, states[1])
  return isSame(before, after) ? undefined : { path, before, after }
}

/** Sorted by path, without untracked files. */
export async function changesBetween(
  repository: Repository,
  states: readonly [TreeState, TreeState],
  isWanted: (path: string) => boolean = () => true,
): Promise<TreeChange[]> {
  const [from, to] = states
  const tracked = to.of === 'files' && from.of !== 'index' ? new Set(await git.listFiles({ ...repository })) : undefined
  const walk = { states, isWanted, tracked }
  const found = (await git.walk({
    ...repository,
    trees: [createWalker(from), createWalker(to)],
    map: (path, [a = null, b = null]) => changeAt(repository, walk, path, [a, b]),
    reduce: async (parent: TreeChange | undefined, children: (TreeChange | TreeChange[])[]) => [
      ...(parent ? [parent] : []),
      ...children.flat(),
    ],
  })) as TreeChange[] | undefined
  return (found ?? []).filter(({ before, after }) => before || after).toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

const isBinary = (text: string): boolean => text.slice(0, 8000).includes('\0')

async function getComparison({ before, after }: TreeChange): Promise<Comparison | undefined> {
  const [a, b] = [(await before?.text()) ?? '', (await after?.text()) ?? '']
  return isBinary(a) || isBinary(b) ? undefined : compare(linesOf(a), linesOf(b))
}

function heading({ path, before, after }: TreeChange): string {
  const lines = [`diff --git a/${path} b/${path}`]
  if (!before) lines.push(`new file mode ${after?.mode ?? ''}`)
  else if (!after) lines.push(`deleted file mode ${before.mode}`)
  else if (before.mode !== after.mode) lines.push(`old mode ${before.mode}`, `new mode ${after.mode}`)
  const hash = (side: Side | undefined): string => (side?.oid ?? '').slice(0, 7) || '0000000'
  const mode = before && after && before.mode === after.mode ? ` ${after.mode}` : ''
  if (before?.oid !== after?.oid) lines.push(`index ${hash(before)}..${hash(after)}${mode}`)
  return `${lines.join('\n')}\n`
}

async function renderPatch(change: TreeChange, context = 3): Promise<string> {
  const { path, before, after } = change
  if (before?.oid === after?.oid) return heading(change)
  const comparison = await getComparison(change)
  const [from, to] = [before ? `a/${path}` : '/dev/null', after ? `b/${path}` : '/dev/null']
  if (!comparison) return `${heading(change)}Binary files ${from} and ${to} differ\n`
  const hunks = unifiedHunks(comparison, context, true)
  return heading(change) + (hunks === '' ? '' : `--- ${from}\n+++ ${to}\n${hunks}`)
}

export async function renderPatches(changes: readonly TreeChange[], context = 3): Promise<string> {
  const patches: string[] = []
  for (const change of changes) patches.push(await renderPatch(change, context))
  return patches.join('')
}

export const renderLetter = ({ before, after }: TreeChange): string => {
  if (!before) return 'A'
  return after ? 'M' : 'D'
}

type Count = { readonly path: string; readonly added: number; readonly removed: number; readonly binary: boolean }

async function countLines(changes: readonly TreeChange[]): Promise<Count[]> {
  const counts: Count[] = []
  for (const change of changes) {
    const comparison = await getComparison(change)
    const sum = (pick: (one: Comparison['changes'][number]) => number): number =>
      (comparison?.changes ?? []).reduce((total, one) => total + pick(one), 0)
    const [added, removed] = [sum(({ fromB, toB }) => toB - fromB), sum(({ fromA, toA }) => toA - fromA)]
    counts.push({ path: change.path, added, removed, binary: !comparison })
  }
  return counts
}

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`

function summary(counts: readonly Count[]): string {
  const added = counts.reduce((sum, count) => sum + count.added, 0)
  const removed = counts.reduce((sum, count) => sum + count.removed, 0)
  const parts = [` ${plural(counts.length, 'file')} changed`]
  if (added > 0 || removed === 0) parts.push(`${plural(added, 'insertion')}(+)`)
  if (removed > 0 || added === 0) parts.push(`${plural(removed, 'deletion')}(-)`)
  return `${parts.join(', ')}\n`
}

const statWidth = 80

export async function renderStat(
  changes: readonly TreeChange[],
  options: { readonly short: boolean } = { short: false },
): Promise<string> {
  if (changes.length === 0) return ''
  const counts = await countLines(changes)
  if (options.short) return summary(counts)
  const widest = Math.max(...counts.map(({ path }) => path.length))
  const digits = String(Math.max(...counts.map(({ added, removed }) => added + removed))).length
  const room = Math.max(10, statWidth - widest - digits - 6)
  const scale = Math.min(1, room / Math.max(1, ...counts.map(({ added, removed }) => added + removed)))
  const bar = (mark: string, count: number): string =>
    mark.repeat(count === 0 ? 0 : Math.max(1, Math.floor(count * scale)))
  const lines = counts.map(({ path, added, removed, binary }) => {
    const numbers = binary
      ? 'Bin'
      : `${String(added + removed).padStart(digits)} ${bar('+', added)}${bar('-', removed)}`
    return ` ${path.padEnd(widest)} | ${numbers}\n`
  })
  return lines.join('') + summary(counts)
}

/** Renders ` create mode 100644 f` for new files and ` delete mode …` for deleted ones. */
export const listModes = (changes: readonly TreeChange[]): string =>
  changes
    .flatMap(({ path, before, after }) => {
      if (!before) return [` create mode ${after?.mode ?? ''} ${path}\n`]
      return after ? [] : [` delete mode ${before.mode} ${path}\n`]
    })
    .join('')
