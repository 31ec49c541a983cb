/** Compares what a skill needs with what a session has, and says what to do about the rest. */

import type { SkillHead, SkillSurroundings, SkillVariable, ToolNames } from '#agent/core/skills/skill.ts'

type ToolsOfSession = Pick<SkillSurroundings, 'tools' | 'toolsets'>

export type Readiness = {
  /** `unsupported`: the skill is written for other systems. */
  readonly status: 'available' | 'setup_needed' | 'unsupported'
  readonly missingVariables: readonly SkillVariable[]
  /** Tools and toolsets. */
  readonly missingTools: readonly string[]
  /** The remedies of a person, one sentence for each problem. */
  readonly steps: readonly string[]
}

/** Commands run on Linux, or in a shell that behaves like it. */
const ownPlatforms: readonly string[] = ['linux', 'all', 'any']

const isOnPlatform = ({ platforms }: Pick<SkillHead, 'platforms'>): boolean =>
  platforms.length === 0 || platforms.some((one) => ownPlatforms.includes(one))

export function assessReadiness(head: SkillHead, has: SkillSurroundings): Readiness {
  const missingVariables = head.variables.filter(({ name }) => !has.variables.has(name))
  const missingTools = [
    ...head.requires.toolsets.filter((name) => !has.toolsets.has(name)),
    ...head.requires.tools.filter((name) => !has.tools.has(name)),
  ]
  const isSupported = isOnPlatform(head)
  const isReady = missingVariables.length === 0 && missingTools.length === 0
  return {
    status: isSupported ? (isReady ? 'available' : 'setup_needed') : 'unsupported',
    missingVariables,
    missingTools,
    steps: [
      ...(isSupported ? [] : [`The skill is written for ${head.platforms.join(', ')}; commands here run on Linux.`]),
      ...missingVariables.map(explainVariable),
      ...missingTools.map((name) => `Enable ${name} with the setting toolsets.enabled.`),
      ...head.credentialFiles.map((path) => `Put the credential file ${path} into the workspace if it is not there.`),
    ],
  }
}

const explainVariable = ({ name, help }: SkillVariable): string =>
  `Store ${name} with POST /api/secrets and add it to the setting terminal.secrets.${help === undefined ? '' : ` ${help}`}`

const hasAll = ({ toolsets, tools }: ToolNames, has: ToolsOfSession): boolean =>
  toolsets.every((name) => has.toolsets.has(name)) && tools.every((name) => has.tools.has(name))

const hasAny = ({ toolsets, tools }: ToolNames, has: ToolsOfSession): boolean =>
  toolsets.some((name) => has.toolsets.has(name)) || tools.some((name) => has.tools.has(name))

/** Whether a session is offered the skill at all. Missing variables do not hide it: the skill says what to do. */
export const isOffered = (
  head: Pick<SkillHead, 'platforms' | 'requires' | 'fallbackFor'>,
  has: ToolsOfSession,
): boolean => isOnPlatform(head) && hasAll(head.requires, has) && !hasAny(head.fallbackFor, has)
