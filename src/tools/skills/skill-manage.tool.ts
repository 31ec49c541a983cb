/** Creates, changes and deletes skills of the tenant. They act in all sessions, so suspicious text needs a person. */

import * as z from 'zod'
import type { Assessment } from '#agent/core/permission/approval.ts'
import type { SkillChange } from '#agent/core/skills/skill.ts'
import { skillFile } from '#agent/skills/skill-names.ts'
import { describeFindings, findSuspicious, getVerdict } from '#agent/skills/skill-verdict.ts'
import { defineTool } from '../define-tool.ts'
import { fail } from '../tool-result.ts'

const input = z.object({
  action: z.enum(['create', 'patch', 'edit', 'delete', 'write_file', 'remove_file']),
  name: z.string().min(1),
  content: z.string().optional().describe('create, edit: the whole SKILL.md with front matter (name, description).'),
  old_string: z.string().optional().describe('patch: the passage to replace.'),
  new_string: z.string().optional(),
  replace_all: z.boolean().default(false),
  category: z.string().optional().describe('create only.'),
  file_path: z
    .string()
    .optional()
    .describe(
      'write_file, remove_file, patch: below references/, templates/, scripts/ or assets/. patch: default SKILL.md.',
    ),
  file_content: z.string().optional(),
  absorbed_into: z.string().optional().describe('delete: the skill that now has its contents.'),
})
type Input = z.infer<typeof input>

export default defineTool({
  name: 'skill_manage',
  toolset: 'skills',
  description:
    'Create, improve or delete a skill. Write one when a way of working proved itself and will be needed again; improve an existing one rather than adding a similar one. Changes reach sessions that begin afterwards.',
  input,
  needs: ['skills'],
  effect: 'effect',
  risk: () => 'write',
  assess: assessText,
  touches: ({ name }) => [`skill ${name}`],
  timeoutMs: () => 60_000,
  run: async (request, { skills, authority }) => {
    const change = toChange(request)
    if (typeof change === 'string') return fail(change)
    const isCautionAccepted = getVerdict(suspiciousParts(request)) === 'caution'
    const result = await skills.change(authority, change, isCautionAccepted)
    if (result.kind === 'refused') return fail(result.error, { success: false })
    const { summary, findings } = result
    return {
      success: true,
      message: messages[request.action],
      name: request.name,
      ...(summary && { path: `${summary.head.name}/${'path' in change ? change.path : skillFile}` }),
      ...(findings.length && { warnings: describeFindings(findings) }),
    }
  },
})

const messages: Readonly<Record<Input['action'], string>> = {
  create: 'Created. Sessions that begin from now on are offered it.',
  edit: 'Replaced.',
  patch: 'Changed.',
  write_file: 'Written.',
  remove_file: 'Removed.',
  delete: 'Deleted.',
}

/** The texts that a call adds. */
const suspiciousParts = ({ content, new_string, file_content }: Input) =>
  findSuspicious(
    [content, new_string, file_content].flatMap((text) => (text === undefined ? [] : [{ path: 'text', text }])),
    'agent',
  )

/** A finding of the scan needs a person. A dangerous one is refused when the call runs, with the places named. */
function assessText(request: Input): Assessment {
  const findings = suspiciousParts(request)
  const subjects = [`${request.action} ${request.name}`]
  if (getVerdict(findings) !== 'caution') return { verdict: 'allow', reasons: [], subjects }
  return { verdict: 'ask', reasons: [`the skill contains: ${describeFindings(findings)}`], subjects, isUnjudged: true }
}

/** A text explains what is missing. */
function toChange(request: Input): SkillChange | string {
  const { action, content, file_path: path } = request
  const name = request.name.trim().toLowerCase()
  switch (action) {
    case 'create':
    case 'edit':
      return content === undefined ? missing('content') : { action, name, content, category: request.category }
    case 'patch':
      return toPatch(name, request)
    case 'write_file':
      if (path === undefined || request.file_content === undefined) return missing('file_path and file_content')
      return { action, name, path, content: request.file_content }
    case 'remove_file':
      return path === undefined ? missing('file_path') : { action, name, path }
    case 'delete':
      return { action, name, absorbedInto: request.absorbed_into?.trim().toLowerCase() }
  }
}

function toPatch(name: string, { old_string: from, new_string: to, file_path, replace_all: all }: Input) {
  if (!from || to === undefined) return missing('old_string and new_string')
  return { action: 'patch' as const, name, path: file_path ?? skillFile, from, to, all }
}

const missing = (fields: string): string => `This action needs ${fields}.`
