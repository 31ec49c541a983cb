/**
 * Imports the bundles of scripts/build-isolate.mjs on first use, so that they are no part of the core bundle.
 */

import type { ShellPolicy } from '#agent/core/permission/shell-policy.ts'
import type { IndexedSkill } from '#agent/core/skills/skill-material.ts'
import type { SkillModule } from './skills/protocol.ts'

/** For deployments without a Worker Loader. */
export const inlineShell = () => import('./dist/bash.inline.mjs')
export const inlinePdf = () => import('./dist/pdf.inline.mjs')
export const inlineOffice = () => import('./dist/office.inline.mjs')
export const inlinePage = () => import('./dist/page.inline.mjs')
export const inlineSearch = () => import('./dist/search.inline.mjs')

let shellPolicy: ShellPolicy | undefined

/**
 * The judgement of command lines. Once it is loaded it is returned at once: an import would end the synchronous stretch in
 * which a call is dispatched.
 */
export const loadShellPolicy = (): ShellPolicy | Promise<ShellPolicy> =>
  shellPolicy ?? import('./dist/shell-policy.inline.mjs').then((module) => (shellPolicy = module.shellPolicy))

/** The validator of answers in a JSON schema. */
export const loadSchemaValidator = () => import('./dist/json-schema.inline.mjs')

let bundledIndex: readonly IndexedSkill[] | undefined

/** The index of the bundled skills for prompts. Once it is loaded it is returned at once. */
export const loadBundledIndex = (): readonly IndexedSkill[] | Promise<readonly IndexedSkill[]> =>
  bundledIndex ?? import('./dist/skill-index.inline.mjs').then((module) => (bundledIndex = module.bundledIndex))

/** The parser of skills, the bundled skills, and the import. */
export const loadSkillModule = (): Promise<SkillModule> => import('./dist/skills.inline.mjs')

/** The dialects of models, by the SDK or the binding that they use. */
export const inlineOpenai = () => import('./dist/openai.inline.mjs')
export const inlineAnthropic = () => import('./dist/anthropic.inline.mjs')
export const inlineBedrock = () => import('./dist/bedrock.inline.mjs')
export const inlineDemo = () => import('./dist/demo.inline.mjs')
export const inlineWorkersAi = () => import('./dist/workers-ai.inline.mjs')

/** The library that verifies tokens of identity providers. */
export const inlineJose = () => import('./dist/jose.inline.mjs')

/** The renderer of the OpenAPI document and its page. */
export const loadOpenapi = () => import('./dist/openapi.inline.mjs')

/** Code of isolates. Its first line is a hash of the rest. */
export const shellCode = async () => (await import('./dist/bash.isolate.txt')).default
export const pdfCode = async () => (await import('./dist/pdf.isolate.txt')).default
export const officeCode = async () => (await import('./dist/office.isolate.txt')).default
export const pageCode = async () => (await import('./dist/page.isolate.txt')).default
export const searchCode = async () => (await import('./dist/search.isolate.txt')).default
export const compilerCode = async () => (await import('./dist/compile.isolate.txt')).default
export const runnerCode = async () => (await import('./dist/run.isolate.txt')).default
