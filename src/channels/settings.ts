/** Defines the settings of a connection: who may use it, and how the agent answers there. */

import * as z from 'zod'

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
  require_mention: fields.require_mention.default(true),
  busy_mode: fields.busy_mode.default('interrupt'),
  streaming: fields.streaming.default(false),
  burst_ms: fields.burst_ms.default(0),
})
export type ChannelSettings = z.infer<typeof channelSettings>

/** A change of some settings. */
export const settingsChange = z.strictObject(fields).partial()
