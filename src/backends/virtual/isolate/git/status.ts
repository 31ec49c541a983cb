/** Computes staged, changed and untracked files, and renders git status. */

import * as git from 'isomorphic-git'
import { branchOf, type GitCall, headOf, repositoryPath, pathMatcher, type Repository } from './repository.ts'

/** `index`: compared with HEAD; `files`: compared with the index. */
export type StatusRow = {
  readonly path: string
  readonly index: string
  readonly files: string
  readonly from?: string
}

const unchanged = ' '

function indexLetter(head: number, stage: number): string {
  if (head === 0) return stage === 0 ? unchanged : 'A'
  if (stage === 0) return 'D'
  return stage === 1 ? unchanged : 'M'
}

function filesLetter(workdir: number, stage: number): string {
  if (stage === 0) return unchanged
  if (workdir === 0) return 'D'
  return stage === 3 || (stage === 1 && workdir === 2) ? 'M' : unchanged
}

/** The file that lists paths with unresolved conflicts, which git stores in its index. */
const unmergedFile = 'UNMERGED'

export async function listUnmerged({ context, repository }: GitCall): Promise<string[]> {
  const path = `${repository.gitdir}/${unmergedFile}`
  return (await context.fs.exists(path)) ? (await context.fs.readFile(path)).split('\n').filter(Boolean) : []
}

export async function setUnmerged({ context, repository }: GitCall, paths: readonly string[]): Promise<void> {
  const path = `${repository.gitdir}/${unmergedFile}`
  if (paths.length > 0) await context.fs.writeFile(path, paths.join('\n'))
  else await context.fs.rm(path, { force: true })
}

export type Status = {
  readonly rows: readonly StatusRow[]
  readonly untracked: readonly string[]
  readonly conflicts: readonly string[]
}

export async function getStatus(call: GitCall, paths: readonly string[] = []): Promise<Status> {
  const { repository } = call
  const isWanted = pathMatcher(paths.map((path) => repositoryPath(call, path)))
  const conflicts = (await listUnmerged(call)).filter(isWanted)
  const matrix = (await git.statusMatrix({ ...repository })).filter(([path]) => isWanted(path))
  const rows: StatusRow[] = []
  const untracked: string[] = []
  for (const [path, head, workdir, stage] of matrix) {
    if (conflicts.includes(path)) continue
    const row = { path, index: indexLetter(head, stage), files: filesLetter(workdir, stage) }
    if (row.index !== unchanged || row.files !== unchanged) rows.push(row)
    if (stage === 0 && workdir !== 0) untracked.push(path)
  }
  const tracked = matrix.filter(([, head, , stage]) => head !== 0 || stage !== 0).map(([path]) => path)
  return { rows: await detectRenames(repository, rows), untracked: collapseFolders(untracked, tracked), conflicts }
}

/** Replaces the files of an untracked directory by the directory. */
function collapseFolders(untracked: readonly string[], tracked: readonly string[]): string[] {
  const trackedPaths = new Set(
    tracked.flatMap((path) => path.split('/').map((_, i, parts) => parts.slice(0, i + 1).join('/'))),
  )
  const names = untracked.map((path) => {
    const parts = path.split('/')
    const depth = parts.findIndex((_, i) => i < parts.length - 1 && !trackedPaths.has(parts.slice(0, i + 1).join('/')))
    return depth < 0 ? path : `${parts.slice(0, depth + 1).join('/')}/`
  })
  return [...new Set(names)]
}

/** Reports a new file with the content of a deleted one as renamed. */
async function detectRenames(repository: Repository, rows: readonly StatusRow[]): Promise<StatusRow[]> {
  const [deleted, added] = [rows.filter(({ index }) => index === 'D'), rows.filter(({ index }) => index === 'A')]
  if (deleted.length === 0 || added.length === 0) return [...rows]
  const head = await headOf(repository)
  const before = new Map<string, string>()
  for (const { path } of deleted)
    if (head) before.set((await git.readBlob({ ...repository, oid: head, filepath: path })).oid, path)
  const after = await stagedOids(repository, new Set(added.map(({ path }) => path)))
  const renamed = new Map<string, string>()
  for (const { path } of added) {
    const from = before.get(after.get(path) ?? '')
    if (from === undefined) continue
    renamed.set(path, from)
    before.delete(after.get(path) ?? '')
  }
  const sources = new Set(renamed.values())
  return rows.flatMap((row) => {
    if (row.index === 'D' && sources.has(row.path)) return []
    const from = renamed.get(row.path)
    return from === undefined ? [row] : [{ ...row, index: 'R', from }]
  })
}

async function stagedOids(repository: Repository, paths: ReadonlySet<string>): Promise<Map<string, string>> {
  const oids = new Map<string, string>()
  const map = async (path: string, [entry]: (git.WalkerEntry | null)[]): Promise<undefined> => {
    if (entry && paths.has(path)) oids.set(path, (await entry.oid()) ?? '')
  }
  await git.walk({ ...repository, trees: [git.STAGE()], map })
  return oids
}

const nameOf = ({ path, from }: StatusRow): string => (from === undefined ? path : `${from} -> ${path}`)

export async function shortStatus(call: GitCall, paths: readonly string[], withBranch: boolean): Promise<string> {
  const { rows, untracked, conflicts } = await getStatus(call, paths)
  const lines = [
    ...rows.map((row) => [row.path, `${row.index}${row.files} ${nameOf(row)}`] as const),
    ...conflicts.map((path) => [path, `UU ${path}`] as const),
  ].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const branch = withBranch ? [`## ${(await branchOf(call.repository)) ?? 'HEAD (no branch)'}`] : []
  return [...branch, ...lines.map(([, line]) => line), ...untracked.map((path) => `?? ${path}`)]
    .map((line) => `${line}\n`)
    .join('')
}

const changeLabels: Readonly<Record<string, string>> = {
  A: 'new file:   ',
  M: 'modified:   ',
  D: 'deleted:    ',
  R: 'renamed:    ',
}

type StatusSection = { readonly title: string; readonly hints: readonly string[]; readonly lines: readonly string[] }

const renderSection = ({ title, hints, lines }: StatusSection): string =>
  lines.length === 0
    ? ''
    : `${[`${title}:`, ...hints.map((hint) => `  (${hint})`), ...lines.map((line) => `\t${line}`)].join('\n')}\n\n`

function renderSummary({ rows, untracked, conflicts }: Status, born: boolean): string {
  if (rows.some(({ index }) => index !== unchanged) && conflicts.length === 0) return ''
  if (rows.length > 0 || conflicts.length > 0)
    return 'no changes added to commit (use "git add" and/or "git commit -a")\n'
  if (untracked.length > 0) return 'nothing added to commit but untracked files present (use "git add" to track)\n'
  return born
    ? 'nothing to commit, working tree clean\n'
    : 'nothing to commit (create/copy files and use "git add" to track)\n'
}

export async function longStatus(call: GitCall, paths: readonly string[] = []): Promise<string> {
  const status = await getStatus(call, paths)
  const { rows, untracked, conflicts } = status
  const head = await headOf(call.repository)
  const branch = await branchOf(call.repository)
  const changed = rows.filter(({ files }) => files !== unchanged)
  const hasDeleted = changed.some(({ files }) => files === 'D')
  const unstage = head
    ? 'use "git restore --staged <file>..." to unstage'
    : 'use "git rm --cached <file>..." to unstage'
  const sections: StatusSection[] = [
    {
      title: 'Changes to be committed',
      hints: [unstage],
      lines: rows
        .filter(({ index }) => index !== unchanged)
        .map((row) => `${changeLabels[row.index] ?? ''}${nameOf(row)}`),
    },
    {
      title: 'Unmerged paths',
      hints: ['use "git add <file>..." to mark resolution'],
      lines: conflicts.map((path) => `both modified:   ${path}`),
    },
    {
      title: 'Changes not staged for commit',
      hints: [
        `use "git add${hasDeleted ? '/rm' : ''} <file>..." to update what will be committed`,
        'use "git restore <file>..." to discard changes in working directory',
      ],
      lines: changed.map((row) => `${changeLabels[row.files] ?? ''}${row.path}`),
    },
    {
      title: 'Untracked files',
      hints: ['use "git add <file>..." to include in what will be committed'],
      lines: untracked,
    },
  ]
  const headLine = branch === undefined ? `HEAD detached at ${(head ?? '').slice(0, 7)}\n` : `On branch ${branch}\n`
  const merging = conflicts.length > 0 ? 'You have unmerged paths.\n  (fix conflicts and run "git commit")\n\n' : ''
  const text = sections.map(renderSection).join('')
  const end = renderSummary(status, head !== undefined)
  return (
    headLine + (head ? '' : '\nNo commits yet\n\n') + merging + (end === '' ? text.replace(/\n$/, '\n') : text + end)
  )
}
