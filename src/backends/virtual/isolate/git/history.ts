/** Implements git log and show. */

import * as git from 'isomorphic-git'
import { type FileChange, changesBetween, letterOf, patchesOf, statOf } from './changes.ts'
import {
  branchOf,
  type Call,
  commitOf,
  fatal,
  repositoryPath,
  pathMatcher,
  type Repository,
  shortOid,
} from './repository.ts'
import type { Arguments } from './arguments.ts'

type Commit = git.ReadCommitResult
type Author = Commit['commit']['author']

const dayNames = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const monthNames = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

const two = (value: number): string => String(value).padStart(2, '0')

function zoneOf({ timezoneOffset }: Author): string {
  const minutes = Math.abs(timezoneOffset)
  return `${timezoneOffset > 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}${two(minutes % 60)}`
}

const localOf = (author: Author): Date => new Date((author.timestamp - author.timezoneOffset * 60) * 1000)

function longDate(author: Author): string {
  const date = localOf(author)
  const clock = [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()].map(two).join(':')
  return `${dayNames[date.getUTCDay()]} ${monthNames[date.getUTCMonth()]} ${date.getUTCDate()} ${clock} ${date.getUTCFullYear()} ${zoneOf(author)}`
}

const isoDate = (author: Author): string =>
  `${localOf(author).toISOString().slice(0, 19).replace('T', ' ')} ${zoneOf(author)}`

/** As ISO 8601 has it: a T, and a colon in the zone. */
const strictIsoDate = (author: Author): string =>
  `${localOf(author).toISOString().slice(0, 19)}${zoneOf(author).replace(/..$/, ':$&')}`

function dateOf(author: Author, style: string): string {
  if (style === 'iso-strict' || style === 'iso8601-strict') return strictIsoDate(author)
  if (style.startsWith('iso')) return isoDate(author)
  if (style === 'short') return localOf(author).toISOString().slice(0, 10)
  return style === 'unix' ? String(author.timestamp) : longDate(author)
}

function ago({ timestamp }: Author): string {
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

const placeholders: Readonly<Record<string, (commit: Commit, style: string) => string>> = {
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
  ad: ({ commit }, style) => dateOf(commit.author, style),
  ai: ({ commit }) => isoDate(commit.author),
  aI: ({ commit }) => strictIsoDate(commit.author),
  as: ({ commit }) => dateOf(commit.author, 'short'),
  at: ({ commit }) => String(commit.author.timestamp),
  ar: ({ commit }) => ago(commit.author),
  cn: ({ commit }) => commit.committer.name,
  ce: ({ commit }) => commit.committer.email,
  cd: ({ commit }, style) => dateOf(commit.committer, style),
  ci: ({ commit }) => isoDate(commit.committer),
  cI: ({ commit }) => strictIsoDate(commit.committer),
  cs: ({ commit }) => dateOf(commit.committer, 'short'),
  cr: ({ commit }) => ago(commit.committer),
  ct: ({ commit }) => String(commit.committer.timestamp),
  d: () => '',
  D: () => '',
  n: () => '\n',
  '%': () => '%',
}

const expand = (format: string, commit: Commit, style: string): string =>
  format
    .replace(/%C(\([^)]*\)|red|green|blue|reset|yellow)/g, '')
    .replace(/%([ac][neditsrI]|[HhTPpsbBdDn%])/g, (whole, name: string) => placeholders[name]?.(commit, style) ?? whole)

const indented = (text: string): string =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n')

function medium({ oid, commit }: Commit, style: string): string {
  const merge = commit.parent.length > 1 ? `Merge: ${commit.parent.map(shortOid).join(' ')}\n` : ''
  return `commit ${oid}\n${merge}Author: ${commit.author.name} <${commit.author.email}>\nDate:   ${dateOf(commit.author, style)}\n\n${indented(commit.message)}\n`
}

/** `spaced`: an empty line between commits. `apart`: one before the appended changes. */
type Style = { readonly write: (commit: Commit) => string; readonly spaced: boolean; readonly apart: boolean }

function styleOf(options: Arguments): Style {
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

const changesOf = (
  repository: Repository,
  { oid, commit }: Commit,
  isWanted?: (path: string) => boolean,
): Promise<FileChange[]> =>
  changesBetween(
    repository,
    [
      { of: 'commit', oid: commit.parent[0] },
      { of: 'commit', oid },
    ],
    isWanted,
  )

/** Renders changes for log, show and diff: patch, statistics or names. */
export async function changesText(options: Arguments, changes: readonly FileChange[], patch: boolean): Promise<string> {
  if (options.flag('stat') || options.flag('shortstat')) return statOf(changes, { short: options.flag('shortstat') })
  if (options.flag('name-only')) return changes.map(({ path }) => `${path}\n`).join('')
  if (options.flag('name-status')) return changes.map((change) => `${letterOf(change)}\t${change.path}\n`).join('')
  return patch ? patchesOf(changes, Number(options.value('U') ?? options.value('unified') ?? 3)) : ''
}

type Selection = { readonly commits: readonly Commit[]; readonly isWanted: ((path: string) => boolean) | undefined }

/** Lists the commits that a revision or range reaches, newest first. */
async function reached(call: Call, range: string | undefined): Promise<Commit[]> {
  const { repository } = call
  const [hidden, shown] = range?.includes('..') ? range.split(/\.{2,3}/) : [undefined, range]
  const ref = await commitOf(repository, shown || 'HEAD').catch(async (error: unknown) => {
    if (range !== undefined) throw error
    throw fatal(`your current branch '${(await branchOf(repository)) ?? 'HEAD'}' does not have any commits yet`)
  })
  const all = await git.log({ ...repository, ref })
  if (hidden === undefined) return all
  const left = await git.log({ ...repository, ref: await commitOf(repository, hidden || 'HEAD') })
  const excluded = new Set(left.map(({ oid }) => oid))
  return all.filter(({ oid }) => !excluded.has(oid))
}

async function select(call: Call, options: Arguments): Promise<Selection> {
  const [[range], paths] = await options.revisionsAndPaths(call)
  const isWanted = paths.length > 0 ? pathMatcher(paths.map((path) => repositoryPath(call, path))) : undefined
  const skip = Number(options.value('skip') ?? 0)
  const maxCommits = options.count() + skip
  const commits: Commit[] = []
  for (const commit of await reached(call, range)) {
    if (commits.length >= maxCommits) break
    if (!matches(commit, options)) continue
    if (isWanted && (await changesOf(call.repository, commit, isWanted)).length === 0) continue
    commits.push(commit)
  }
  return { commits: commits.slice(skip), isWanted }
}

function matches({ commit }: Commit, options: Arguments): boolean {
  const [author, grep] = [options.value('author'), options.value('grep')]
  if (options.flag('no-merges') && commit.parent.length > 1) return false
  if (author !== undefined && !`${commit.author.name} <${commit.author.email}>`.includes(author)) return false
  return grep === undefined || commit.message.includes(grep)
}

export async function log(call: Call, options: Arguments): Promise<string> {
  const { commits, isWanted } = await select(call, options)
  const { write, spaced, apart } = styleOf(options)
  const patch = options.flag('p') || options.flag('patch')
  const texts: string[] = []
  for (const commit of options.flag('reverse') ? commits.toReversed() : commits) {
    const hasChanges = patch || ['stat', 'shortstat', 'name-only', 'name-status'].some((name) => options.flag(name))
    const below = hasChanges
      ? await changesText(options, await changesOf(call.repository, commit, isWanted), patch)
      : ''
    const graph = options.flag('graph') ? '* ' : ''
    texts.push(graph + write(commit) + (below === '' ? '' : `${apart ? '\n' : ''}${below}`))
  }
  return texts.join(spaced ? '\n' : '')
}

async function fileOf(repository: Repository, revision: string, filepath: string): Promise<string> {
  const oid = await commitOf(repository, revision || 'HEAD')
  const found = await git.readBlob({ ...repository, oid, filepath }).catch(() => undefined)
  if (!found) throw fatal(`path '${filepath}' does not exist in '${revision}'`)
  return new TextDecoder().decode(found.blob)
}

export async function show(call: Call, options: Arguments): Promise<string> {
  const { repository } = call
  const [name = 'HEAD'] = options.rest
  const colon = name.indexOf(':')
  if (colon >= 0) return fileOf(repository, name.slice(0, colon), name.slice(colon + 1))
  const commit = await git.readCommit({ ...repository, oid: await commitOf(repository, name) })
  const { write, apart } = styleOf(options)
  const changes = options.flag('s', 'no-patch') ? [] : await changesOf(repository, commit)
  const below = await changesText(options, changes, true)
  const between = below === '' || !apart ? '' : '\n'
  return write(commit) + between + below
}
