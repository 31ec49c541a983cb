/** Finds the secrets whose names `find`, `ls` and programs like them can print. */

import { canMatch, isGlob, isUnknown, overlaps, type Field } from '#agent/path-policy/field.ts'
import { toGlob } from '#agent/path-policy/judge-path.ts'
import { sampleSecrets } from '#agent/path-policy/path-lists.ts'
import { resolvePaths } from './check-paths.ts'
import { listActionsFor, type FoundFile } from './languages/find-tests.ts'
import type { SimpleCommand, JudgeScope } from './shell-state.ts'

/** A secret, and the directories in which a program may list it. */
type PossibleSecret = FoundFile & { readonly secret: string }

/** Lists the secrets below a start, and their directories, as a program prints them. */
function listCandidates(
  { judge, ...scope }: JudgeScope,
  start: Field,
  secrets: readonly string[],
): readonly PossibleSecret[] {
  const shown = start === '/' ? '' : start.replace(/\/$/, '')
  return resolvePaths({ judge, ...scope }, start).flatMap((root) =>
    secrets.flatMap((secret) => {
      if (secret !== root && !secret.startsWith(`${root === '/' ? '' : root}/`)) return []
      const parts = secret.slice(root.length).split('/').filter(Boolean)
      return parts.map((_, i) => ({
        secret,
        path: [shown, ...parts.slice(0, i + 1)].join('/'),
        depth: i + 1,
        isDirectory: i < parts.length - 1,
      }))
    }),
  )
}

type FindWords = {
  readonly starts: readonly Field[]
  /** Position of the first test. */
  readonly from: number
  readonly arity: (word: Field, at: number) => number
  /** Whether a test names files. Then secrets are asked about although the host has not listed them. */
  readonly isNaming: boolean
}

/** Returns the secrets that each action of find gets, by its position, and those that it prints. */
export function listFound(call: SimpleCommand, { starts, from, arity, isNaming }: FindWords) {
  const { judge, args } = call
  const byAction = new Map<number, Set<string>>()
  const printed = new Set<string>()
  const known = judge.host.secretFiles
  for (const start of starts) {
    const samples = known ?? (isNaming ? sampleSecrets.map((name) => `${resolvePaths(call, start)[0]}/${name}`) : [])
    const candidates = listCandidates(call, start, samples)
    judge.remainingSteps -= (candidates.length * (args.length - from)) >> 9
    if (judge.remainingSteps < 0) break
    for (const { secret, ...file } of candidates) {
      const { actions, isPrinted } = listActionsFor(args, from, file, arity)
      for (const at of actions) byAction.set(at, (byAction.get(at) ?? new Set()).add(secret))
      if (isPrinted) printed.add(secret)
    }
  }
  return { byAction, printed }
}

/** Returns the secrets that a listing of paths can name: the paths, what they hold, or everything below. */
export function listBelow(
  call: SimpleCommand,
  paths: readonly Field[],
  { isDeep, hasHidden }: { readonly isDeep: boolean; readonly hasHidden: boolean },
): readonly string[] {
  const secrets = call.judge.host.secretFiles ?? []
  const roots = (paths.length > 0 ? paths : ['.']).flatMap((path) => resolvePaths(call, toGlob(path)))
  call.judge.remainingSteps -= (secrets.length * roots.length) >> 7
  return secrets.filter((secret) => roots.some((root) => isListed(root, secret, isDeep, hasHidden)))
}

function isListed(root: Field, secret: string, isDeep: boolean, hasHidden: boolean): boolean {
  const [patterns, names] = [root.split('/').filter(Boolean), secret.split('/').filter(Boolean)]
  if (isUnknown(root)) return true
  const matches = patterns.every((pattern, i) => (isGlob(pattern) ? overlaps : canMatch)(pattern, names[i] ?? ''))
  const below = names.slice(patterns.length)
  return matches && (isDeep || below.length <= 1) && (hasHidden || below.every((name) => !name.startsWith('.')))
}
