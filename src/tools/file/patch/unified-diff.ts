/** Renders an edit as a unified diff. */

import { createTwoFilesPatch } from 'diff'
import type { FileEdit } from './plan-edits.ts'

/** A diff of two large, very different files takes long and is of no use. */
const diffTimeoutMs = 1000

export function renderUnifiedDiff({ path, before, after }: FileEdit): string {
  const [from, to] = [before === undefined ? '/dev/null' : `a${path}`, after === undefined ? '/dev/null' : `b${path}`]
  const options = { context: 3, timeout: diffTimeoutMs }
  const patch = createTwoFilesPatch(from, to, before ?? '', after ?? '', undefined, undefined, options)
  return patch?.replace(/^=+\n/, '') ?? `--- ${from}\n+++ ${to}\n(too many differences to show)\n`
}
