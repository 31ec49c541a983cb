/**
 * Remembers which pages of files the model has read, so that read_file can leave out an unchanged page. The memory
 * belongs to the backend object of a session. After an eviction every page is shown again.
 */

import type { ExecutionBackend } from '#agent/core/backend.ts'
import { hash53 } from '#agent/core/hash53.ts'

type EarlierPage = { readonly hash: number; readonly callId: string; readonly wasOmitted: boolean }

const maxPages = 200
const shownPages = new WeakMap<ExecutionBackend, Map<string, EarlierPage>>()

export type ShownText = {
  readonly path: string
  readonly offset: number
  readonly limit: number
  readonly text: string
}

/**
 * True when the model has read this page and its last read of it was not left out: a model that reads a page a third
 * time no longer has it in context. A call that runs again after a crash counts as one read.
 */
export function isUnchangedPage(
  backend: ExecutionBackend,
  callId: string,
  { path, offset, limit, text }: ShownText,
): boolean {
  const shown = shownPages.get(backend) ?? new Map<string, EarlierPage>()
  shownPages.set(backend, shown)
  const key = `${offset},${limit},${path}`
  const before = shown.get(key)
  const hash = hash53(text)
  const stubbed = before !== undefined && before.hash === hash && !before.wasOmitted && before.callId !== callId
  shown.delete(key)
  shown.set(key, { hash, callId, wasOmitted: stubbed })
  const [oldest] = shown.keys()
  if (shown.size > maxPages && oldest !== undefined) shown.delete(oldest)
  return stubbed
}
