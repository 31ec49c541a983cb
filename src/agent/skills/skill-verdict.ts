/** Judges the files of a skill by what the injection scan finds in them. */

import type { SkillFinding, SkillHead, SkillSource, SkillSummary, SkillVerdict } from '#agent/core/skills/skill.ts'
import { type Finding, type FindingKind, scan, type Strictness } from '#agent/untrusted/injection-scan.ts'
import { removeInvisible } from '#agent/untrusted/scan/invisible.ts'

/** Directives to the model. A skill gives instructions for a task, and never about the rules of the agent. */
const directives: ReadonlySet<FindingKind> = new Set([
  'instruction-override',
  'hide-from-user',
  'system-prompt',
  'rule-disregard',
])

/** Longer files are data. Their beginning is scanned. */
const maxScannedChars = 300_000
const maxFindings = 50

export type SkillText = { readonly path: string; readonly text: string }

/** Lists suspicious passages, the dangerous ones first. A person may write commands that send secrets; others may not. */
export function findSuspicious(files: readonly SkillText[], source: SkillSource): readonly SkillFinding[] {
  const found = files.flatMap(({ path, text }) => scanFile(path, text.slice(0, maxScannedChars), source))
  const isFirst = ({ verdict }: SkillFinding) => verdict === 'dangerous'
  return [...found.filter(isFirst), ...found.filter((one) => !isFirst(one))].slice(0, maxFindings)
}

function scanFile(path: string, text: string, source: SkillSource): readonly SkillFinding[] {
  const inContext = new Set(scanLines(text, 'context').map(({ kind, line }) => `${kind} ${line}`))
  return scanLines(text, 'strict').map(({ kind, line }) => {
    const isDirective = directives.has(kind) && inContext.has(`${kind} ${line}`)
    const isTheft = kind === 'exfiltration' && source !== 'user' && source !== 'bundled'
    return { path, line, verdict: isDirective || isTheft ? 'dangerous' : 'caution', reason: kind }
  })
}

type LineFinding = Pick<Finding, 'kind' | 'line' | 'lastLine'>

/**
 * Scans the text as it is, which finds directives over several lines, and once more with each line as a paragraph: a
 * directive may follow a heading without a full stop.
 */
function scanLines(text: string, strictness: Strictness): readonly LineFinding[] {
  const apart = text.replace(/\r?\n/g, '\n\n')
  const found: readonly LineFinding[] = [
    ...scan(text, strictness),
    ...scan(apart, strictness).map(({ kind, line, lastLine }) => ({
      kind,
      line: Math.ceil(line / 2),
      lastLine: Math.ceil(lastLine / 2),
    })),
  ]
  const byPlace = new Map(found.map((one) => [`${one.kind} ${one.line}`, one]))
  return [...byPlace.values()].toSorted((one, other) => one.line - other.line)
}

export const getVerdict = (findings: readonly SkillFinding[]): SkillVerdict => {
  if (findings.some(({ verdict }) => verdict === 'dangerous')) return 'dangerous'
  return findings.length ? 'caution' : 'safe'
}

/** Names the passages, for a person or the model. */
export const describeFindings = (findings: readonly SkillFinding[]): string =>
  findings
    .slice(0, 10)
    .map(({ path, line, reason }) => `${path} line ${line}: ${reason}`)
    .join('; ')

/** Replaces the passages that the model must not read. Rules may have become stricter since the skill was stored. */
export const blockDangerous = (text: string, source: SkillSource): string =>
  source === 'bundled' ? text : blockLines(text, 'context')

/** Lists show less of each. */
const maxListedChars = 300

/** The description in lists and in the prompt. One that others may have dictated to the model is not shown there. */
export const describeSkill = ({
  head,
  source,
  isForeign,
}: Pick<SkillSummary, 'source' | 'isForeign'> & { readonly head: Pick<SkillHead, 'description'> }): string =>
  source === 'agent' && isForeign
    ? 'Written by the agent after it had read texts of others. Load it to see what it is for.'
    : // The rules may have become stricter since the skill was stored.
      safeDescription(head.description.slice(0, maxListedChars))

/** A description is part of the system prompt. */
export const safeDescription = (description: string): string => blockLines(description, 'strict')

function blockLines(text: string, strictness: Strictness): string {
  const places = scanLines(text, strictness)
  if (places.length === 0) return text
  const blocked = new Map<number, string>()
  for (const { kind, line, lastLine } of places) for (let at = line; at <= lastLine; at++) blocked.set(at, kind)
  return text
    .split(/\r?\n/)
    .map((line, index) => {
      const kind = blocked.get(index + 1)
      if (kind === undefined) return line
      return kind === 'invisible' ? removeInvisible(line) : `[blocked: ${kind}]`
    })
    .join('\n')
}
