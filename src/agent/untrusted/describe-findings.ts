/** Lists what was left out of a material and why, so that nothing disappears silently. */

import type { Finding, FindingKind } from './scan/finding.ts'

const reasons: Readonly<Record<FindingKind, string>> = {
  'instruction-override': 'tries to override instructions',
  'hide-from-user': 'tries to hide something from the user',
  'system-prompt': 'imitates or asks for a system prompt',
  'rule-disregard': 'tells the agent to disregard its rules',
  'secret-read': 'reads secrets',
  exfiltration: 'sends data away',
  persistence: 'installs itself',
  destructive: 'destroys data',
  secret: 'contains a secret',
  invisible: 'has invisible characters',
}

/** Returns a note such as `[AGENTS.md: 2 lines left out: tries to override instructions]`. Undefined without findings. */
export function describeFindings(name: string, findings: readonly Finding[]): string | undefined {
  if (!findings.length) return undefined
  const lines = new Set<number>()
  for (const { line, lastLine } of findings.filter(({ kind }) => kind !== 'invisible'))
    for (let at = line; at <= lastLine; at++) lines.add(at)
  const why = [...new Set(findings.map(({ kind }) => reasons[kind]))].join(', ')
  const what = lines.size ? `${lines.size} line${lines.size > 1 ? 's' : ''} left out` : 'cleaned'
  return `[${name}: ${what}: ${why}]`
}
