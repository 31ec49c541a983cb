/** Explains what the scan of a prompt refuses, and how to go on. */

import type { Finding } from '#agent/untrusted/injection-scan.ts'

export const explainFinding = ({ kind, line }: Finding): string =>
  `The prompt was refused, because line ${line} looks like an attack (${kind}). Write it in other words.`
