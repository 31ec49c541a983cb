/** The change of a file as people read it: a unified diff. */

import { createTwoFilesPatch } from 'diff'
import type { Edit } from './plan.ts'

/** Comparing two large unlike files can take very long; nobody would read that diff. */
const PATIENCE_MS = 1000

export function unified({ path, before, after }: Edit): string {
  const [from, to] = [before === undefined ? '/dev/null' : `a${path}`, after === undefined ? '/dev/null' : `b${path}`]
  const options = { context: 3, timeout: PATIENCE_MS }
  const patch = createTwoFilesPatch(from, to, before ?? '', after ?? '', undefined, undefined, options)
  return patch?.replace(/^=+\n/, '') ?? `--- ${from}\n+++ ${to}\n(too many differences to show)\n`
}
