/**
 * Matches lines against a regular expression of the model, in an isolate of the session, or inside the Durable Object
 * when there is no Worker Loader. Throws a `BackendError` for an invalid pattern and for a search that takes too long.
 */

import { BackendError } from '#agent/core/backend.ts'
import { loadInProcessSearch, searchCode } from '../modules.ts'
import type { MatchAnswer, MatchLines } from './protocol.ts'
import { awaitAnswer, logCrash, openIsolate } from '../open-isolate.ts'

const maxPatternChars = 2_000
const isolateLimits = { cpuMs: 30_000, subRequests: 10 }
/** For one batch of texts. */
const timeoutMs = 10_000
/** Additional time for the isolate to report its own timeout. */
const graceMs = 2_000

/** Returns for each text the 0-based numbers of the matching lines. */
export type LineMatcher = (pattern: string, texts: readonly string[]) => Promise<readonly (readonly number[])[]>

type MatcherOptions = {
  readonly loader?: WorkerLoader | undefined
  /** Unique per session: sessions share no memory. */
  readonly name: string
}

export function openLineMatcher({ loader, name }: MatcherOptions): LineMatcher {
  return async (pattern, texts) => {
    if (pattern.length > maxPatternChars)
      throw new BackendError('invalid', 'The pattern is too long.', `Use at most ${maxPatternChars} characters.`)
    const match = loader ? await loadIsolate(loader, name) : (await loadInProcessSearch()).matchLines
    const answer = await awaitAnswer(match(pattern, texts, timeoutMs), {
      timeoutMs: timeoutMs + graceMs,
      answer: (ending): MatchAnswer => {
        logCrash(ending, 'searches files')
        return { stopped: true }
      },
    })
    if ('invalid' in answer) throw invalidPattern(answer.invalid)
    if ('stopped' in answer)
      throw new BackendError(
        'invalid',
        'The search took too long.',
        'Search a smaller part, or write a simpler pattern.',
      )
    return answer.lines
  }
}

const invalidPattern = (reason: string): BackendError =>
  new BackendError(
    'invalid',
    reason,
    'Put a backslash before ( ) [ ] { } . * + ? to search for the character itself. As in ripgrep, there is no look-around and no back-reference.',
  )

type MatcherEntrypoint = { readonly match: MatchLines }

async function loadIsolate(loader: WorkerLoader, name: string): Promise<MatchLines> {
  const isolate = { name: 'search', code: await searchCode(), entrypoint: 'Matcher', limits: isolateLimits }
  const entry = await openIsolate<MatcherEntrypoint>({ loader, ...isolate, sharedBy: name })
  return async (pattern, texts, ms) => structuredClone(await entry.match(pattern, texts, ms))
}
