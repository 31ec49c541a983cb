/**
 * Follows names of files that programs print: `find`, `ls`, `git ls-files`. Such a name is a mark in a word. Whoever
 * reads it reads any secret of the workspace that the listing can name. An unknown name may be every file.
 */

import { anyText, canMatch, isUnknown, type Field } from '#agent/path-policy/field.ts'
import type { SimpleCommand, Judge, CommandOutput, JudgeScope } from './shell-state.ts'

const firstMark = 0xe010
const maxListings = 200

/** Returns a mark for the names that a program prints, of which these are secrets. */
export function addListing(judge: Judge, secrets: readonly string[]): Field {
  judge.readsMany = true
  if (judge.listings.length >= maxListings) return anyText
  judge.listings.push(secrets)
  return String.fromCharCode(firstMark + judge.listings.length - 1)
}

const isListing = (char: string): boolean => char >= '\uE010' && char <= '\uE0FF'

/** Returns the marks of a text that consists of names only. */
export function listNamesIn(text: CommandOutput): readonly Field[] | undefined {
  const names = [...new Set(text?.replace(/[\s\0]+/g, ''))]
  return names.length > 0 && names.every(isListing) ? names : undefined
}

/** Programs that print some of the lines of their input. */
export const passLines = (call: SimpleCommand): CommandOutput => {
  const names = listNamesIn(call.stdin)
  const isFiltering = call.name !== 'grep' || !call.args.some((word) => /^-\w*[oc]|^--(only-matching|count)/.test(word))
  return names && isFiltering ? `${names.join('\n')}\n` : undefined
}

/** Returns a secret that a word with unknown parts may name. */
export function findNamedSecret({ judge }: JudgeScope, path: Field, kind: 'content' | 'tree'): string | undefined {
  judge.readsMany = true
  const unknown = [...path].filter(isUnknown)
  const areListed = unknown.every(isListing)
  if (kind === 'tree' || !areListed) {
    const rest = path.slice(path.lastIndexOf(unknown.at(-1) ?? '') + 1)
    return judge.host.secretFiles?.find((file) => kind === 'tree' || canMatch(anyText + rest, file))
  }
  const named = unknown.flatMap((mark) => judge.listings[mark.charCodeAt(0) - firstMark] ?? [])
  const rest = path.slice(path.lastIndexOf(unknown.at(-1) ?? '') + 1)
  judge.remainingSteps -= named.length >> 5
  return named.find((file) => canMatch(anyText + rest, file))
}
