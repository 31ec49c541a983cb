/** Assesses a command line with the shell policy, for the host where it would run. */

import type { Assessment } from '#agent/core/permission/approval.ts'
import type { CommandVerdict, HostContext } from '#agent/core/permission/shell-policy.ts'
import type { Services } from '#agent/core/tool.ts'
import { listLinks, listSecretFiles, listSecretLinks } from '../assess-paths.ts'

type CommandHost = Pick<Services, 'backend' | 'shell'>

export async function assessCommand(
  command: string,
  cwd: string,
  { backend, shell }: CommandHost,
  known: Pick<HostContext, 'secretFiles' | 'links'> = {},
): Promise<CommandVerdict> {
  const links = known.links ?? (await listLinks(backend, command))
  const { root, network, isolated } = backend.capabilities
  const { judgeCommand } = await shell.policy()
  // The host behind `http` counts as a shared machine unless it reports isolation. An allow-list still lets data out.
  const host = { isSandboxed: backend.kind !== 'http' || isolated === true, isOnline: network !== 'none' }
  return judgeCommand(command, { cwd, workspace: root, env: shell.read().env, ...host, ...known, links })
}

/** Judges wildcards and recursion by the files that they would read. */
export async function assessWithFiles(command: string, cwd: string, place: CommandHost): Promise<CommandVerdict> {
  const links = await listLinks(place.backend, command)
  const verdict = await assessCommand(command, cwd, place, { links })
  if (verdict.verdict === 'hardline' || !verdict.readsMany) return verdict
  const listed = await listSecretFiles(place.backend)
  // Wildcards and recursion may meet links in every directory.
  const all = await listLinks(place.backend, 'node_modules')
  const secretFiles = listed && [...listed, ...listSecretLinks(all)]
  return assessCommand(command, cwd, place, { links: all, secretFiles })
}

/** Converts the verdict on a command line to the assessment of its call. */
export function describeVerdict(
  command: string,
  { verdict, reasons, commands, rule, isUnjudged, leaves, runsFiles, asksForNetwork }: CommandVerdict,
): Assessment {
  const sends = { ...(leaves && { leaves }), ...(runsFiles && { runsFiles }) }
  const assessment = { verdict, reasons, summary: command, subjects: commands, ...sends }
  if (isUnjudged) return { ...assessment, isUnjudged }
  return { ...assessment, ...(asksForNetwork && { asksForNetwork }), ...(rule !== undefined && { rule }) }
}
