/** Parses a SKILL.md: YAML front matter, then instructions in Markdown (agentskills.io, with the fields of Hermes). */

import * as z from 'zod'
import type { SkillHead } from '#agent/core/skills/skill.ts'
import { explainBadSkillName } from './skill-names.ts'
import { splitFrontMatter } from './split-front-matter.ts'

const maxDescriptionChars = 1_024
export const maxSkillChars = 100_000
const maxHeadChars = 20_000
const defaultCategory = 'general'

/** Throws an error whose message says what is wrong. */
export type ParseYaml = (text: string) => unknown

export type ParsedSkill =
  | { readonly ok: true; readonly head: SkillHead; readonly body: string }
  | { readonly ok: false; readonly error: string }

const maxListed = 50
const text = z.string().trim().max(1_000)
/** One text stands for a list of one. What is neither is ignored, because foreign skills have other fields. */
const texts = z.preprocess(
  (value) => (typeof value === 'string' ? value.split(',').map((one) => one.trim()) : value),
  z.array(z.coerce.string().max(200)).max(maxListed).catch([]).default([]),
)
const optionalText = z.union([z.string(), z.number()]).transform(String).pipe(text).optional().catch(undefined)
const category = z
  .string()
  .trim()
  .toLowerCase()
  .regex(/^[a-z0-9][a-z0-9 _-]{0,39}$/)

const variable = z.union([
  z.string().transform((name) => ({ name, prompt: undefined, help: undefined })),
  z.object({ name: z.string(), prompt: optionalText, help: optionalText }),
])
const variables = z.array(variable).max(maxListed).catch([]).default([])
const configEntry = z.object({ key: text.min(1), description: optionalText, default: optionalText })
const credentialFile = z.union([z.string(), z.object({ path: z.string() }).transform(({ path }) => path)])

const hermes = z.object({
  tags: texts,
  category: category.optional().catch(undefined),
  related_skills: texts,
  requires_toolsets: texts,
  requires_tools: texts,
  fallback_for_toolsets: texts,
  fallback_for_tools: texts,
  config: z.array(configEntry).max(maxListed).catch([]).default([]),
})
const noHermes = hermes.parse({})

const frontMatter = z.object({
  name: z.string(),
  description: z.string().trim().min(1).max(maxDescriptionChars),
  version: optionalText,
  author: optionalText,
  license: optionalText,
  category: category.optional().catch(undefined),
  platforms: texts,
  metadata: z
    .object({ hermes: hermes.catch(noHermes).default(noHermes) })
    .catch({ hermes: noHermes })
    .default({ hermes: noHermes }),
  required_environment_variables: variables,
  prerequisites: z.object({ env_vars: variables }).optional().catch(undefined),
  required_credential_files: z.array(credentialFile).max(maxListed).catch([]).default([]),
})
type FrontMatter = z.infer<typeof frontMatter>

export function parseSkill(content: string, parseYaml: ParseYaml): ParsedSkill {
  if (content.length > maxSkillChars)
    return wrong(`SKILL.md has ${content.length} characters, at most ${maxSkillChars}. Move details to references/.`)
  const parts = splitFrontMatter(content)
  if (!parts) return wrong(missingFrontMatter)
  if (parts.head.length > maxHeadChars) return wrong(`The front matter is longer than ${maxHeadChars} characters.`)
  if (parts.body.trim() === '') return wrong('SKILL.md has no instructions below its front matter.')
  let values: unknown
  try {
    values = parseFrontMatter(parts.head, parseYaml)
  } catch (error) {
    return wrong(`The front matter is not valid YAML: ${error instanceof Error ? error.message : String(error)}`)
  }
  const { data, error } = frontMatter.safeParse(values)
  if (!data) return wrong(explainIssue(error.issues[0]))
  const badName = explainBadSkillName(data.name)
  return badName === undefined ? { ok: true, head: toHead(data), body: parts.body } : wrong(badName)
}

/** Many skills have text without quotes that is not plain YAML, such as a colon in it. Other clients accept them. */
function parseFrontMatter(head: string, parseYaml: ParseYaml): unknown {
  const quoted = quoteTexts(head)
  try {
    const values = parseYaml(head)
    return isText(values) || quoted === head ? values : parseYaml(quoted)
  } catch (error) {
    if (quoted === head) throw error
    return parseYaml(quoted)
  }
}

/** A description whose first line has a colon can read as a list of fields. */
const isText = (values: unknown): boolean => {
  const { description } = (values ?? {}) as { readonly description?: unknown }
  return description === undefined || typeof description === 'string'
}

const fieldLine = /^([A-Za-z_][\w-]{0,60}):(?:[ \t]+(.*))?$/

/** Quotes the texts at the first level. The lines of a text are joined, as YAML does. */
function quoteTexts(head: string): string {
  const fields: string[][] = []
  for (const line of head.split('\n')) {
    const last = fields.at(-1)
    if (last && /^(?:[ \t]|$)/.test(line)) last.push(line)
    else fields.push([line])
  }
  return fields.map((lines) => quoteField(lines) ?? lines.join('\n')).join('\n')
}

function quoteField([first = '', ...more]: readonly string[]): string | undefined {
  const [, key, begin = ''] = fieldLine.exec(first) ?? []
  const value = [begin, ...more]
    .map((line) => line.trim())
    .filter(Boolean)
    .join(' ')
  if (key === undefined || value === '' || /^[|>]/.test(begin) || /^(["']).*\1$/.test(value)) return undefined
  const isPlain = /^[^\s"'[{&*!#]/.test(begin)
  return isPlain || key === 'description' ? `${key}: ${JSON.stringify(value)}` : undefined
}

const wrong = (error: string): ParsedSkill => ({ ok: false, error })

const missingFrontMatter =
  'SKILL.md must begin with front matter: a line "---", then name: and description:, then a line "---".'

function explainIssue(issue: z.core.$ZodIssue | undefined): string {
  const at = issue?.path.join('.') ?? ''
  if (at === '') return missingFrontMatter
  if (at === 'description')
    return `The front matter needs a description of 1 to ${maxDescriptionChars} characters: what the skill does and when to use it.`
  return `The front matter needs a valid ${at}: ${issue?.message ?? 'invalid'}`
}

function toHead(values: FrontMatter): SkillHead {
  const { name, description, version, author, license, platforms, metadata, prerequisites } = values
  const { hermes: own } = metadata
  const named = [...values.required_environment_variables, ...(prerequisites?.env_vars ?? [])]
  return {
    name,
    description,
    ...(version !== undefined && { version }),
    ...(author !== undefined && { author }),
    ...(license !== undefined && { license }),
    category: own.category ?? values.category ?? defaultCategory,
    platforms: platforms.map((one) => one.toLowerCase()),
    tags: own.tags,
    relatedSkills: own.related_skills,
    requires: { toolsets: own.requires_toolsets, tools: own.requires_tools },
    fallbackFor: { toolsets: own.fallback_for_toolsets, tools: own.fallback_for_tools },
    config: own.config.map(withoutUndefined),
    variables: named.filter((one) => /^[A-Za-z_]\w{0,99}$/.test(one.name)).map(withoutUndefined),
    credentialFiles: values.required_credential_files,
  }
}

/** Optional fields that are undefined would be stored differently from those that are absent. */
const withoutUndefined = <T extends object>(value: T) =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as {
    [Key in keyof T]: Exclude<T[Key], undefined>
  }
