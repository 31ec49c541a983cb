/** Defines the settings of a connection: who may use it, and how the agent answers there. */

import * as z from 'zod'
import type { Entitlement } from '../agent/model/permission/authority.ts'
import { roleName } from '../agent/model/settings.ts'

const ids = z
  .array(z.union([z.string().trim().min(1).max(200), z.int().transform(String)]))
  .max(1_000)
  .describe('Ids of the platform; "*" stands for everybody.')

const fields = {
  allow_users: ids,
  allow_chats: ids,
  admins: ids.describe(
    'People with the scope `approve`: they may press the buttons of others, and allow calls always.',
  ),
  search_scope: z
    .enum(['chat', 'tenant'])
    .describe('The conversations that the agent can search for people of this channel: of their chat, or all.'),
  role: roleName.nullable().describe('A role of the settings for people who are no admins. null: none.'),
  admin_role: roleName.nullable().describe('A role of the settings for the admins. null: none.'),
  require_mention: z.boolean().describe('In groups, only messages that address the bot begin a turn.'),
  busy_mode: z.enum(['interrupt', 'queue', 'steer']),
  streaming: z.boolean().describe('Answers appear while they are written.'),
  burst_ms: z.literal(0, 'Messages are never merged here: only 0 is possible.'),
}

export const channelSettings = z.strictObject({
  allow_users: fields.allow_users.default([]),
  allow_chats: fields.allow_chats.default([]),
  admins: fields.admins.default([]),
  search_scope: fields.search_scope.default('chat'),
  role: fields.role.default(null),
  admin_role: fields.admin_role.default(null),
  require_mention: fields.require_mention.default(true),
  busy_mode: fields.busy_mode.default('interrupt'),
  streaming: fields.streaming.default(false),
  burst_ms: fields.burst_ms.default(0),
})
export type ChannelSettings = z.infer<typeof channelSettings>

/** A change of some settings. */
export const settingsChange = z.strictObject(fields).partial()

/**
 * A person may chat, and nothing else. An admin of the channel also holds the policy scope, and everybody may read where
 * the owner has widened the search. A role takes away from that.
 */
export function entitlementOf(
  settings: Pick<ChannelSettings, 'search_scope' | 'role' | 'admin_role'>,
  isAdmin: boolean,
): Entitlement {
  const role = isAdmin ? settings.admin_role : settings.role
  const scopes = [
    'chat' as const,
    ...(settings.search_scope === 'tenant' ? ['read' as const] : []),
    ...(isAdmin ? ['approve' as const] : []),
  ]
  return { scopes, ...(role !== null && { role }) }
}
