/** Checks when a job is stored that its addresses may be called and that its targets exist. */

import type { Authority } from '../../../agent/model/permission/authority.ts'
import { checkPublicAddress } from '../../../agent/policy/network/network-address.ts'
import type { JobChange } from '../../../agent/schedule/job/job.ts'
import { parseTargets, type Target } from '../../../agent/schedule/job/targets.ts'
import { explainMissingKey } from '../../platform/master-key.ts'
import type { JobFault } from './build-job.ts'
import type { TenantChats } from '../channels/chats.ts'
import { findConnection } from './deliver-result.ts'

export type TargetContext = {
  readonly env: Env
  readonly tenantId: string
  readonly hasSession: (authority: Authority, sessionId: string) => Promise<boolean>
  readonly findHome: TenantChats['findHome']
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
      return findHomeProblem(context, target.platform)
    case 'chat': {
      const found = await findConnection(context, target.connection)
      return 'error' in found ? found.error : undefined
    }
    case 'webhook': {
      const blocked = checkPublicAddress(target.url, { ports: 'web' })
      if (blocked !== undefined) return `This address may not be called: ${blocked}`
      const missing = explainMissingKey(context.env)
      return missing === undefined ? undefined : `Results for webhooks are signed. ${missing}`
    }
  }
}

async function findHomeProblem(context: TargetContext, platform: string): Promise<string | undefined> {
  const home = context.findHome(platform)
  if (!home) return `${platform} has no home chat. Send /sethome in the chat that it should be.`
  const found = await findConnection(context, home.chat.connection)
  return 'error' in found ? `The channel of the home chat of ${platform} does not exist any more.` : undefined
}
