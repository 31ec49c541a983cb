/** Implements git log and show. */

import * as git from 'isomorphic-git'
import { type TreeChange, changesBetween, renderLetter, renderPatches, renderStat } from './changes.ts'
import {
  branchOf,
  type GitCall,
  getCommit,
  fatal,
  repositoryPath,
  pathMatcher,
  type Repository,
  shortOid,
} from './repository.ts'
import type { Arguments } from './arguments.ts'

type GitCommit = git.ReadCommitResult
type CommitAuthor = GitCommit['commit']['author']

const dayNames = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const monthNames = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

const two = (value: number): string => String(value).padStart(2, '0')

function parseZone({ timezoneOffset }: CommitAuthor): string {
  const minutes = Math.abs(timezoneOffset)
  return `${timezoneOffset > 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}${two(minutes % 60)}`
}

const localOf = (author: CommitAuthor): Date => new Date((author.timestamp - author.timezoneOffset * 60) * 1000)

function longDate(author: CommitAuthor): string {
  const date = localOf(author)
  const clock = [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()].map(two).join(':')
  return `${dayNames[date.getUTCDay()]} ${monthNames[date.getUTCMonth()]} ${date.getUTCDate()} ${clock} ${date.getUTCFullYear()} ${parseZone(author)}`
}

const isoDate = (author: CommitAuthor): string =>
  `${localOf(author).toISOString().slice(0, 19).replace('T', ' ')} ${parseZone(author)}`

/** As ISO 8601 has it: a T, and a colon in the zone. */
const strictIsoDate = (author: CommitAuthor): string =>
  `${localOf(author).toISOString().slice(0, 19)}${parseZone(author).replace(/..$/, ':$&')}`

function renderDate(author: CommitAuthor, style: string): string {
  if (style === 'iso-strict' || style === 'iso8601-strict') return strictIsoDate(author)
  if (style.startsWith('iso')) return isoDate(author)
  if (style === 'short') return localOf(author).toISOString().slice(0, 10)
  return style === 'unix' ? String(author.timestamp) : longDate(author)
}

function ago({ timestamp }: CommitAuthor): string {
  const seconds = Math.max(0, Math.floor(Date.now() / 1000) - timestamp)
  const units = [
    ['year', 31_536_000],
    ['month', 2_592_000],
    ['week', 604_800],
    ['day', 86_400],
    ['hour', 3600],
    ['minute', 60],
  ] as const
  const [unit, size] = units.find(([, length]) => seconds >= length) ?? ['second', 1]
  const count = Math.floor(seconds / size)
  return `${count} ${unit}${count === 1 ? '' : 's'} ago`
}

const subjectOf = (message: string): string => message.split('\n\n')[0]?.replaceAll('\n', ' ').trimEnd() ?? ''
const bodyOf = (message: string): string => message.split('\n\n').slice(1).join('\n\n')

const placeholders: Readonly<Record<string, (commit: GitCommit, style: string) => string>> = {
  H: ({ oid }) => oid,
  h: ({ oid }) => shortOid(oid),
  T: ({ commit }) => commit.tree,
  P: ({ commit }) => commit.parent.join(' '),
  p: ({ commit }) => commit.parent.map(shortOid).join(' '),
  s: ({ commit }) => subjectOf(commit.message),
  b: ({ commit }) => bodyOf(commit.message),
  B: ({ commit }) => commit.message,
  an: ({ commit }) => commit.author.name,
  ae: ({ commit }) => commit.author.email,
  ad: ({ commit }, style) => renderDate(commit.author, style),
  ai: ({ commit }) => isoDate(commit.author),
  aI: ({ commit }) => strictIsoDate(commit.author),
  as: ({ commit }) => renderDate(commit.author, 'short'),
  at: ({ commit }) => String(commit.author.timestamp),
  ar: ({ commit }) => ago(commit.author),
  cn: ({ commit }) => commit.committer.name,
  ce: ({ commit }) => commit.committer.email,
  cd: ({ commit }, style) => renderDate(commit.committer, style),
  ci: ({ commit }) => isoDate(commit.committer),
  cI: ({ commit }) => strictIsoDate(commit.committer),
  cs: ({ commit }) => renderDate(commit.committer, 'short'),
  cr: ({ commit }) => ago(commit.committer),
  ct: ({ commit }) => String(commit.committer.timestamp),
  d: () => '',
  D: () => '',
  n: () => '\n',
  '%': () => '%',
}

const expand = (format: string, commit: GitCommit, style: string): string =>
  format
    .replace(/%C(\([^)]*\)|red|green|blue|reset|yellow)/g, '')
    .replace(/%([ac][neditsrI]|[HhTPpsbBdDn%])/g, (whole, name: string) => placeholders[name]?.(commit, style) ?? whole)

const indented = (text: string): string =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n')

function medium({ oid, commit }: GitCommit, style: string): string {
  const merge = commit.parent.length > 1 ? `Merge: ${commit.parent.map(shortOid).join(' ')}\n` : ''
  return `commit ${oid}\n${merge}Author: ${commit.author.name} <${commit.author.email}>\nDate:   ${renderDate(commit.author, style)}\n\n${indented(commit.message)}\n`
}

/** `spaced`: an empty line between commits. `apart`: one before the appended changes. */
type LogStyle = { readonly write: (commit: GitCommit) => string; readonly spaced: boolean; readonly apart: boolean }

function renderStyle(options: Arguments): LogStyle {
  const date = options.value('date') ?? 'default'
  const format = options.flag('oneline') ? 'oneline' : (options.value('format') ?? options.value('pretty') ?? 'medium')
  if (format === 'oneline')
    return {
      write: ({ oid, commit }) => `${shortOid(oid)} ${subjectOf(commit.message)}\n`,
      spaced: false,
      apart: false,
    }
  if (/^(medium|full|fuller|short)$/.test(format))
    return { write: (commit) => medium(commit, date), spaced: true, apart: true }
  const template = format.replace(/^t?format:/, '')
  if (template === '') return { write: () => '', spaced: false, apart: false }
  return { write: (commit) => `${expand(template, commit, date)}\n`, spaced: false, apart: true }
}

const listChanges = (
  repository: Repository,
  { oid, commit }: GitCommit,
  isWanted?: (path: string) => boolean,
): Promise<TreeChange[]> =>
  changesBetween(
    repository,
    [
      { of: 'commit', oid: commit.parent[0] },
      { of: 'commit', oid },
    ],
    isWanted,
  )

/** Renders changes for log, show and diff: patch, statistics or names. */
export async function changesText(options: Arguments, changes: readonly TreeChange[], patch: boolean): Promise<string> {
  if (options.flag('stat') || options.flag('shortstat'))
    return renderStat(changes, { short: options.flag('shortstat') })
  if (options.flag('name-only')) return changes.map(({ path }) => `${path}\n`).join('')
  if (options.flag('name-status')) return changes.map((change) => `${renderLetter(change)}\t${change.path}\n`).join('')
  return patch ? renderPatches(changes, Number(options.value('U') ?? options.value('unified') ?? 3)) : ''
}

type CommitSelection = {
  readonly commits: readonly GitCommit[]
  readonly isWanted: ((path: string) => boolean) | undefined
}

/** Lists the commits that a revision or range reaches, newest first. */
async function reached(call: GitCall, range: string | undefined): Promise<GitCommit[]> {
  const { repository } = call
  const [hidden, shown] = range?.includes('..') ? range.split(/\.{2,3}/) : [undefined, range]
  const ref = await getCommit(repository, shown || 'HEAD').catch(async (error: unknown) => {
    if (range !== undefined) throw error
    throw fatal(`your current branch '${(await branchOf(repository)) ?? 'HEAD'}' does not have any commits yet`)
  })
  const all = await git.log({ ...repository, ref })
  if (hidden === undefined) return all
  const left = await git.log({ ...repository, ref: await getCommit(repository, hidden || 'HEAD') })
  const excluded = new Set(left.map(({ oid }) => oid))
  return all.filter(({ oid }) => !excluded.has(oid))
}

async function select(call: GitCall, options: Arguments): Promise<CommitSelection> {
  const [[range], paths] = await options.revisionsAndPaths(call)
  const isWanted = paths.length > 0 ? pathMatcher(paths.map((path) => repositoryPath(call, path))) : undefined
  const skip = Number(options.value('skip') ?? 0)
  const maxCommits = options.count() + skip
  const commits: GitCommit[] = []
  for (const commit of await reached(call, range)) {
    if (commits.length >= maxCommits) break
    if (!matches(commit, options)) continue
    if (isWanted && (await listChanges(call.repository, commit, isWanted)).length === 0) continue
    commits.push(commit)
  }
  return { commits: commits.slice(skip), isWanted }
}

function matches({ commit }: GitCommit, options: Arguments): boolean {
  const [author, grep] = [options.value('author'), options.value('grep')]
  if (options.flag('no-merges') && commit.parent.length > 1) return false
  if (author !== undefined && !`${commit.author.name} <${commit.author.email}>`.includes(author)) return false
  return grep === undefined || commit.message.includes(grep)
}

export async function log(call: GitCall, options: Arguments): Promise<string> {
  const { commits, isWanted } = await select(call, options)
  const { write, spaced, apart } = renderStyle(options)
  const patch = options.flag('p') || options.flag('patch')
  const texts: string[] = []
  for (const commit of options.flag('reverse') ? commits.toReversed() : commits) {
    const hasChanges = patch || ['stat', 'shortstat', 'name-only', 'name-status'].some((name) => options.flag(name))
    const below = hasChanges
      ? await changesText(options, await listChanges(call.repository, commit, isWanted), patch)
      : ''
    const graph = options.flag('graph') ? '* ' : ''
    texts.push(graph + write(commit) + (below === '' ? '' : `${apart ? '\n' : ''}${below}`))
  }
  return texts.join(spaced ? '\n' : '')
}

async function getFile(repository: Repository, revision: string, filepath: string): Promise<string> {
  const oid = await getCommit(repository, revision || 'HEAD')
  const found = await git.readBlob({ ...repository, oid, filepath }).catch(() => undefined)
  if (!found) throw fatal(`path '${filepath}' does not exist in '${revision}'`)
  return new TextDecoder().decode(found.blob)
}

export async function show(call: GitCall, options: Arguments): Promise<string> {
  const { repository } = call
  const [name = 'HEAD'] = options.rest
  const colon = name.indexOf(':')
  if (colon >= 0) return getFile(repository, name.slice(0, colon), name.slice(colon + 1))
  const commit = await git.readCommit({ ...repository, oid: await getCommit(repository, name) })
  const { write, apart } = renderStyle(options)
  const changes = options.flag('s', 'no-patch') ? [] : await listChanges(repository, commit)
  const below = await changesText(options, changes, true)
  const between = below === '' || !apart ? '' : '\n'
  return write(commit) + between + below
}
