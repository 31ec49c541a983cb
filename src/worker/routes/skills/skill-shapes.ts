/** Describes skills in the API, and renders what the tenant's object answers. */

import * as z from 'zod'
import type { SkillFinding, SkillSource, SkillSummary, SkillTrust } from '#agent/core/skills/skill.ts'
import { describeFindings } from '#agent/skills/skill-verdict.ts'
import type { SkillWriteResult } from '#durable/tenant/skills/skills.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { nameSchemas } from '../../schema-names.ts'

const time = z.iso.datetime()

export const skillShape = z.object({
  name: z.string(),
  description: z.string(),
  category: z.string(),
  version: z.string().nullable(),
  source: z.enum(['bundled', 'user', 'imported', 'agent']).describe('Who made it.'),
  trust: z.enum(['builtin', 'trusted', 'community', 'agent-created']),
  verdict: z.enum(['safe', 'caution', 'dangerous']).describe('Of the security scan, when it was stored.'),
  pinned: z.boolean(),
  archived: z.boolean().describe('It is not offered to the model.'),
  stale: z.boolean().describe('Not used or changed for 30 days; archived after 90.'),
  hash: z.string().describe('SHA-256 over all files.'),
  origin: z.string().nullable().describe('The address of an imported skill.'),
  required_environment_variables: z.array(z.string()),
  created_at: time,
  updated_at: time,
  used_at: time.nullable(),
})

const fileShape = z.object({ path: z.string(), bytes: z.int(), hash: z.string() })
const findingShape = z.object({
  path: z.string(),
  line: z.int(),
  verdict: z.enum(['caution', 'dangerous']),
  reason: z.string(),
})

/** With its instructions. */
export const fullSkillShape = skillShape.extend({
  content: z.string().describe('SKILL.md.'),
  files: z.array(fileShape),
})

export const storedSkillShape = skillShape.extend({
  findings: z.array(findingShape).describe('What the scan found and the request accepted.'),
})
nameSchemas({
  Skill: skillShape,
  SkillFile: fileShape,
  SkillFinding: findingShape,
  SkillWithContent: fullSkillShape,
  StoredSkill: storedSkillShape,
})

const trusts: Readonly<Record<SkillSource, SkillTrust>> = {
  bundled: 'builtin',
  user: 'trusted',
  imported: 'community',
  agent: 'agent-created',
}

const iso = (at: number): string => new Date(at).toISOString()

export function toSkillView({ head, source, ...summary }: SkillSummary) {
  return {
    name: head.name,
    description: head.description,
    category: head.category,
    version: head.version ?? null,
    source,
    trust: trusts[source],
    verdict: summary.verdict,
    pinned: summary.isPinned,
    archived: summary.archivedAt !== undefined,
    stale: summary.isStale,
    hash: summary.hash,
    origin: summary.origin ?? null,
    required_environment_variables: head.variables.map(({ name }) => name),
    created_at: iso(summary.createdAt),
    updated_at: iso(summary.updatedAt),
    used_at: summary.usedAt === undefined ? null : iso(summary.usedAt),
  }
}

/** `param`: the field that has the text. */
export function requireStored(result: SkillWriteResult, param: string) {
  if (result.kind === 'stored') return { ...toSkillView(result.summary), findings: result.findings }
  throw toError(result, param)
}

function toError(result: Exclude<SkillWriteResult, { kind: 'stored' }>, param: string): AppError {
  switch (result.kind) {
    case 'foreign':
    case 'unknown':
      return notFound()
    case 'exists':
      return new AppError(409, 'conflict', 'There is a skill of this name. Replace it with PUT.')
    case 'full':
      return new AppError(409, 'conflict', 'There are too many skills. Delete one first.')
    case 'invalid':
      return invalid(result.error, param)
    case 'dangerous':
      return invalid(
        `Refused: the skill has directives against the agent or its user (${places(result.findings)}).`,
        param,
      )
    case 'caution':
      return new AppError(
        409,
        'conflict',
        `The scan found: ${places(result.findings)}. To store it anyway, send accept: true.`,
        {
          param: 'accept',
        },
      )
  }
}

const places = (findings: readonly SkillFinding[]): string => describeFindings(findings)
