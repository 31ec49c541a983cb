/** Settings of a connection: whom it listens to, and how. */

import * as z from 'zod'

const ids = z
  .array(z.union([z.string().trim().min(1).max(200), z.int().transform(String)]))
  .max(1_000)
  .describe('Ids of the platform; "*" stands for everybody.')

export const channelSettings = z.strictObject({
  allow_users: ids.default([]),
  allow_chats: ids.default([]),
  admins: ids.default([]).describe('Who may press the buttons of others.'),
  require_mention: z.boolean().default(true).describe('In groups: only what is said to the bot begins a turn.'),
  busy_mode: z.enum(['interrupt', 'queue', 'steer']).default('interrupt'),
  streaming: z.boolean().default(false).describe('Answers appear while they are written.'),
  burst_ms: z.literal(0, 'Messages are never merged here: only 0 is possible.').default(0),
})
export type ChannelSettings = z.infer<typeof channelSettings>
/** Some of them, for a change. */
export const settingsChange = channelSettings.partial()
