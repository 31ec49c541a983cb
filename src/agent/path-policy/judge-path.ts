/**
 * Decides which paths may be read and written without approval. The terminal, the file tools and programs all ask here.
 * Callers resolve symbolic links first (links.ts).
 */

import {
  anyCharacter,
  anyCharacters,
  anyText,
  canMatch,
  isGlob,
  isLiteral,
  isUnknown,
  overlaps,
  type Field,
} from './field.ts'
import {
  harmlessDevices,
  publicNames,
  secretDirectories,
  secretNames,
  temporaryRoots,
  trustedDirectories,
  trustedNames,
} from './path-lists.ts'
import { isDisk } from './vital-paths.ts'

export type PathScope = {
  readonly workspace: string
  /** The files of the workspace with secrets, as absolute paths. Absent: the host was not asked. */
  readonly secretFiles?: readonly string[] | undefined
}

/** `name`: only whether the file exists and its attributes. `tree`: the contents of everything below. */
export type ReadKind = 'content' | 'name' | 'tree'

/** Resolves `.`, `..` and relative paths. The result is absolute or unknown. */
export function resolvePath(path: Field, cwd: Field): Field {
  const parts: string[] = []
  for (const part of `${path.startsWith('/') ? '' : `${cwd}/`}${path}`.split('/')) {
    if (part === '' || part === '.') continue
    // An unknown part may have several levels, so `..` leads to an unknown directory.
    if (part === '..' && parts.some((earlier) => isUnknown(earlier))) return anyText
    if (part === '..') parts.pop()
    else parts.push(part)
  }
  const front = path.startsWith('/') ? path[0] : cwd[0]
  return front === '/' ? `/${parts.join('/')}` : anyText
}

const isWithin = (path: string, root: string): boolean => {
  const base = root.endsWith('/') ? root.slice(0, -1) : root
  return base !== '' && (path === base || path.startsWith(`${base}/`))
}

type NameList = { readonly literal: RegExp; readonly patterns: readonly (readonly Field[])[] }

const toExpression = (name: string): string => name.replace(/[.+]/g, String.raw`\$&`).replaceAll('*', '[^/]*')

const createList = (names: readonly string[], end: string): NameList => ({
  literal: new RegExp(`(?:^|/)(?:${names.map(toExpression).join('|')})${end}`, 'i'),
  // A wildcard matches data files and names without a dot too often to ask each time.
  patterns: names
    .filter((name) => name.startsWith('.') || /^\*\.|^id_|^shadow/.test(name))
    .map((name) => name.replaceAll('*', anyCharacters).split('/')),
})
const secretFiles = createList(secretNames, '$')
const secretFolders = createList(secretDirectories, '(?:/|$)')
const trustedFiles = createList(trustedNames, '$')
const trustedFolders = createList(trustedDirectories, '(?:/|$)')

const overlapAt = (parts: readonly Field[], pattern: readonly Field[], at: number): boolean =>
  at >= 0 && pattern.every((name, i) => overlaps(parts[at + i] ?? '', name))

/** Whether the wildcards of a path can match a name of the list: at its end, or anywhere for directories. */
const canMatchList = (path: Field, { patterns }: NameList, isDirectory: boolean): boolean => {
  const parts = path.split('/').filter((part) => part !== '')
  return patterns.some((pattern) =>
    isDirectory
      ? parts.some((part, at) => isGlob(part) && overlapAt(parts, pattern, at))
      : overlapAt(parts, pattern, parts.length - pattern.length),
  )
}

const isSecret = (path: Field): boolean =>
  (secretFiles.literal.test(path) && !publicNames.test(path)) || secretFolders.literal.test(path) || isDisk(path)

/** The globs of all secrets, for a search of the workspace. Templates are filtered out of its results. */
export const secretGlobs: readonly string[] = [
  `{${secretNames.filter((name) => !name.includes('/')).join(',')}}`,
  `{${secretDirectories.map((name) => `**/${name}/**`).join(',')}}`,
]

export const isSecretPath = (path: string): boolean => isSecret(path)

/** Converts a pattern of another program to a field with wildcards. */
export const toGlob = (pattern: string): Field => pattern.replaceAll('*', anyCharacters).replaceAll('?', anyCharacter)

const isMatchOf = (path: Field, file: string, kind: ReadKind): boolean => {
  const [patterns, names] = [path.split('/'), file.split('/')]
  const reaches = kind === 'tree' ? patterns.length <= names.length : patterns.length === names.length
  return reaches && patterns.every((pattern, i) => overlaps(pattern, names[i] ?? ''))
}

/** Returns why reading an absolute path needs approval, or undefined. */
export function findReadProblem(path: Field, scope: PathScope, kind: ReadKind = 'content'): string | undefined {
  if (/^\/dev\/(tcp|udp)\//.test(path)) return 'which opens a connection'
  if (isSecret(path)) return 'which may hold secrets'
  if (kind === 'tree' && isLiteral(path)) return findTreeProblem(path, scope)
  return isGlob(path) && !isUnknown(path) ? findGlobProblem(path, scope, kind) : undefined
}

function findGlobProblem(
  path: Field,
  { secretFiles: listed, workspace }: PathScope,
  kind: ReadKind,
): string | undefined {
  if (!listed || !isWithin(path, workspace)) return findWildcardProblem(path, kind)
  if (kind === 'name') return undefined
  const isDeep = path.includes(anyCharacters + anyCharacters)
  const deep = path.replace(/\uE002{2,}/g, anyText)
  const found = listed.find((file) => (isDeep ? canMatch(deep, file) : isMatchOf(path, file, kind)))
  return found && `which matches ${found}`
}

function findTreeProblem(path: string, scope: PathScope): string | undefined {
  if (!isReadableTree(path, scope)) return 'with everything below it'
  const found = listSecretsBelow(path, scope)
  return found.length > 0 ? renderSecrets(found) : undefined
}

/** The secret files of the workspace below a path, without the path itself. */
export const listSecretsBelow = (path: string, scope: Pick<PathScope, 'secretFiles'>): readonly string[] =>
  scope.secretFiles?.filter((file) => file !== path && isWithin(file, path)) ?? []

const maxNamedSecrets = 3

export function renderSecrets(files: readonly string[]): string {
  const named = files.slice(0, maxNamedSecrets).join(', ')
  const more = files.length - maxNamedSecrets
  return `which contains ${named}${more > 0 ? ` and ${more} more files with secrets` : ''}`
}

function findWildcardProblem(path: Field, kind: ReadKind): string | undefined {
  const isNameOnly = kind === 'name' && /\/[^/.]*$/.test(path)
  const isMatch = (!isNameOnly && canMatchList(path, secretFiles, false)) || canMatchList(path, secretFolders, true)
  return isMatch ? 'whose wildcards may match secrets' : undefined
}

/** Directories of programs and documentation hold no secrets. */
const isReadableTree = (path: string, { workspace }: PathScope): boolean =>
  [workspace, ...temporaryRoots, '/usr', '/lib', '/bin', '/sbin', '/opt'].some((root) => isWithin(path, root))

export type Zone = 'inside' | 'temporary' | 'sink' | 'device' | 'trusted' | 'outside' | 'unknown'

export function getZone(path: Field, { workspace }: PathScope): Zone {
  // An unknown part may contain `..` and lead anywhere.
  if (isUnknown(path) || !path.startsWith('/')) return 'unknown'
  if (harmlessDevices.has(path) || /^\/dev\/fd\/\d+$/.test(path)) return 'sink'
  if (isWithin(path, '/dev') && !isWithin(path, '/dev/shm')) return 'device'
  if (isTrusted(path)) return 'trusted'
  if (isWithin(path, workspace)) return 'inside'
  return temporaryRoots.some((root) => isWithin(path, root)) ? 'temporary' : 'outside'
}

const isTrusted = (path: Field): boolean => {
  if (trustedFolders.literal.test(path)) return true
  if (trustedFiles.literal.test(path) && !publicNames.test(path)) return true
  return isGlob(path) && (canMatchList(path, trustedFiles, false) || canMatchList(path, trustedFolders, true))
}

/** Whether a search of the names that match `glob` may read this file. */
export function isSearched(file: string, glob: string | undefined): boolean {
  const name = glob
    ?.slice(glob.lastIndexOf('/') + 1)
    .replaceAll('*', anyCharacters)
    .replaceAll('?', anyCharacter)
  return name === undefined || /[[{]/.test(name) || canMatch(name, file.slice(file.lastIndexOf('/') + 1))
}

/** Returns why writing an absolute path needs approval, or undefined. */
export function findWriteProblem(path: Field, scope: PathScope): string | undefined {
  const zone = getZone(path, scope)
  if (zone === 'unknown') return 'a path that is only known at run time'
  if (zone === 'trusted') return 'which other programs run or trust'
  if (zone === 'outside' || zone === 'device') return 'outside the workspace'
  // Programs take such a name for an option.
  return /\/-[^/]*$/.test(path) ? 'whose name looks like an option' : undefined
}
