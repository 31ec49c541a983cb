/** Recognises paths whose loss cannot be undone: the root, homes, system directories, disks. */

import {
  anyCharacter,
  anyCharacters,
  anyText,
  anyWords,
  canMatch,
  isGlob,
  isLiteral,
  isUnknown,
  type Field,
} from './field.ts'
import { diskPath, ordinaryRootDirectories, sampleDisks, systemDirectories, vitalSubdirectories } from './path-lists.ts'

type HostPaths = { readonly workspace: string; readonly env?: Readonly<Record<string, string>> }

export const getHome = ({ env }: Pick<HostPaths, 'env'>): string => env?.['HOME'] ?? '/home/user'

const isAllWildcards = (part: string): boolean =>
  part !== '' && [...part].every((char) => [anyCharacters, anyCharacter, anyText, anyWords].includes(char))

/** Whether the path is the root, a home or a system directory as a whole. Recursive changes to it are refused. */
export function isVital(path: Field, host: HostPaths): boolean {
  if (!path.startsWith('/')) return false
  const parts = path.split('/').filter((part) => part !== '')
  while (matchesEverything(parts.at(-1) ?? '')) parts.pop()
  const whole = `/${parts.join('/')}`
  if (parts.length === 0 || canMatch(whole, getHome(host))) return true
  if (isLiteral(whole) && host.workspace.startsWith(`${whole}/`)) return true
  if (isUnknown(whole) || parts.length > 2) return false
  return parts.length === 1 ? isVitalInRoot(whole, whole.slice(1), host) : isVitalSubdirectory(parts)
}

/** `*` and `.*` at the end of a path match everything in the directory. */
const matchesEverything = (part: string): boolean =>
  part.includes(anyCharacters) &&
  (isAllWildcards(part) ||
    (isAllWildcards(part.slice(1)) && part.startsWith('.')) ||
    isAllWildcards(part.replace(/^\.[\uE003]+/, '')))

function isVitalInRoot(whole: string, part: string, { workspace }: HostPaths): boolean {
  if (isGlob(part)) return systemDirectories.some((name) => canMatch(part, name))
  return whole !== workspace && !ordinaryRootDirectories.has(part)
}

function isVitalSubdirectory([first = '', second = '']: readonly string[]): boolean {
  if (canMatch(first, 'home') || canMatch(first, 'Users')) return true
  return Object.entries(vitalSubdirectories).some(
    ([name, below]) => canMatch(first, name) && below.some((dir) => canMatch(second, dir)),
  )
}

/** Whether the path is a block device or the memory of the host. */
export const isDisk = (path: Field): boolean =>
  diskPath.test(path) ||
  (path.startsWith('/dev/') && isGlob(path) && sampleDisks.some((disk) => canMatch(path, `/dev/${disk}`)))

/** Writing to this file stops or resets the host. */
export const isPowerSwitch = (path: Field): boolean => canMatch(path, '/proc/sysrq-trigger') && !isUnknown(path)
