/** Answers `/NAME REQUEST` where NAME is a skill: its instructions are put in front of the request. Up to five may follow each other. */

import { isSkillMiss } from '#agent/core/skills/skill.ts'
import { fillTemplate } from '#agent/skills/fill-template.ts'
import { parseInvocation } from '#agent/skills/parse-invocation.ts'
import { type InvokedSkill, renderInvocation } from '#agent/skills/render-invocation.ts'
import type { Session } from '../session.ts'
import { type CommandCall, type CommandFallback, type CommandReply, reply } from './command.ts'

export const skillCommands: CommandFallback = {
  scope: 'chat',
  find: runSkill,
  names: async (session) => [...(await listNames(session)).keys()],
}

/** Names as they are typed, with the names of their skills. Names of commands have `-` for `_`. */
async function listNames(session: Session): Promise<ReadonlyMap<string, string>> {
  const skills = await session.toolRuntime.skills.list(session.ownAuthority)
  const offered = skills.filter(({ archivedAt }) => archivedAt === undefined)
  return new Map(offered.map(({ head }) => [head.name.replaceAll('_', '-'), head.name]))
}

async function runSkill(session: Session, { authority, name, text }: CommandCall): Promise<CommandReply | undefined> {
  const names = await listNames(session)
  const invocation = parseInvocation(`/${name} ${text}`, (word) => names.has(word.replaceAll('_', '-')))
  if (!invocation) return undefined
  const { skills } = session.toolRuntime
  const invoked: InvokedSkill[] = []
  for (const word of invocation.names) {
    const skill = names.get(word.replaceAll('_', '-')) ?? word
    const view = await skills.view(authority, skill)
    if (isSkillMiss(view)) return reply(`The skill ${skill} is no longer there.`)
    const folder = await skills.copyToWorkspace(authority, view)
    const content = fillTemplate(view.content ?? '', { folder, sessionId: session.sessionId })
    invoked.push({ name: skill, content })
  }
  return { kind: 'message', text: renderInvocation(invoked, invocation.rest) }
}
