/**
 * Imports parts of the worker on first use, so that they do not belong to its core, and the code of isolates
 * (scripts/build-isolate.mjs).
 */

import type * as EgressModule from './egress/part.ts'
import { readCode } from './isolate-code.ts'
import type { ShellPolicy } from '#agent/core/permission/shell-policy.ts'
import type { NamedSkill } from '#agent/core/skills/skill-material.ts'
import type { SkillModule } from './skills/protocol.ts'

/** The code of isolates, for deployments without a Worker Loader. A build for those with one does not carry it. */
export const loadInProcessShell = () => import('./virtual/isolate/in-process.ts')
export const loadInProcessPdf = () => import('./pdf/inside/in-process.ts')
export const loadInProcessOffice = () => import('./office/inside/in-process.ts')
export const loadInProcessPage = () => import('./web/page/inside/in-process.ts')
export const loadInProcessSearch = () => import('./search/inside/in-process.ts')

let shellPolicy: ShellPolicy | undefined

/**
 * The judgement of command lines. Once it is loaded it is returned at once: an import would end the synchronous stretch in
 * which a call is dispatched.
 */
export const loadShellPolicy = (): ShellPolicy | Promise<ShellPolicy> =>
  shellPolicy ?? import('./shell-policy/part.ts').then((module) => (shellPolicy = module.shellPolicy))

export type EgressPart = typeof EgressModule
let egressPart: EgressPart | undefined

/** The judge of content that leaves after foreign and private data. Undefined until it was loaded. */
export const readEgressPart = (): EgressPart | undefined => egressPart
export const loadEgressPart = async (): Promise<EgressPart> => (egressPart ??= await import('./egress/part.ts'))

/** The validator of answers in a JSON schema. */
export const loadSchemaValidator = () => import('./json-schema/part.ts')

let bundledIndex: readonly NamedSkill[] | undefined

/** The index of the bundled skills for prompts. Once it is loaded it is returned at once. */
export const loadBundledIndex = (): readonly NamedSkill[] | Promise<readonly NamedSkill[]> =>
  bundledIndex ?? import('./skills/index-part.ts').then((module) => (bundledIndex = module.bundledIndex))

/** The parser of skills, and the import. */
export const loadSkillModule = (): Promise<SkillModule> => import('./skills/part.ts')

/** The dialects of models, by the SDK or the binding that they use. */
export const loadOpenai = () => import('./dialects/openai.ts')
export const loadAnthropic = () => import('./dialects/anthropic.ts')
export const loadBedrock = () => import('./dialects/bedrock.ts')
export const loadGemini = () => import('./dialects/gemini.ts')
export const loadDemo = () => import('./dialects/demo.ts')
export const loadWorkersAi = () => import('./dialects/workers-ai.ts')

/** The library that verifies tokens of identity providers. */
export const loadJose = () => import('./jose/part.ts')

/** Code of isolates. Its first line is a hash of the rest. */
export const shellCode = () => readCode(import('./dist/bash.isolate.txt'))
export const pdfCode = () => readCode(import('./dist/pdf.isolate.txt'))
export const officeCode = () => readCode(import('./dist/office.isolate.txt'))
export const pageCode = () => readCode(import('./dist/page.isolate.txt'))
export const searchCode = () => readCode(import('./dist/search.isolate.txt'))
export const compilerCode = () => readCode(import('./dist/compile.isolate.txt'))
export const runnerCode = () => readCode(import('./dist/run.isolate.txt'))
export const pluginCode = () => readCode(import('./dist/plugin.isolate.txt'))
