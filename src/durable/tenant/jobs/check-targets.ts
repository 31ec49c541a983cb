/** Checks when a job is stored that its addresses may be called and that its targets exist. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { checkPublicAddress } from '#agent/policy/network/network-address.ts'
import type { JobChange } from '#agent/schedule/job/job.ts'
import { parseTargets, type Target } from '#agent/schedule/job/targets.ts'
import { explainMissingKey } from '#durable/platform/master-key.ts'
import type { JobFault } from './build-job.ts'
import { type ResolveContext, resolveChat } from '../channels/resolve-chat.ts'

export type TargetContext = ResolveContext & {
  readonly hasSession: (authority: Authority, sessionId: string) => Promise<boolean>
}

export async function checkTargets(
  context: TargetContext,
  authority: Authority,
  { deliver, monitor_url: url }: JobChange,
): Promise<JobFault | undefined> {
  const blocked = url ? checkPublicAddress(url, { ports: 'web' }) : undefined
  if (blocked !== undefined)
    return { kind: 'wrong', param: 'monitor_url', message: `This address may not be called: ${blocked}` }
  const parsed = deliver === undefined ? undefined : parseTargets(deliver)
  for (const target of parsed?.ok ? parsed.targets : []) {
    const message = await findProblem(context, authority, target)
    if (message !== undefined) return { kind: 'wrong', param: 'deliver', message }
  }
  return undefined
}

async function findProblem(context: TargetContext, authority: Authority, target: Target): Promise<string | undefined> {
  switch (target.kind) {
    case 'local':
    case 'origin':
      return undefined
    case 'session':
      return (await context.hasSession(authority, target.sessionId))
        ? undefined
        : `There is no session ${target.sessionId}.`
    case 'home':
    case 'chat': {
      const resolved = await resolveChat(context, target)
      return resolved.kind === 'unknown' ? resolved.detail : undefined
    }
    case 'webhook': {
      const blocked = checkPublicAddress(target.url, { ports: 'web' })
      if (blocked !== undefined) return `This address may not be called: ${blocked}`
      const missing = explainMissingKey(context.env)
      return missing === undefined ? undefined : `Results for webhooks are signed. ${missing}`
    }
  }
}
