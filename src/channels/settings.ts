/** Defines the settings of a connection: who may use it, and how the agent answers there. */

import * as z from 'zod'
import type { Entitlement } from '#agent/core/permission/authority.ts'
import { commandNames } from '#agent/policy/slash-command/command-table.ts'
import { roleName } from '#agent/core/settings.ts'

const id = z.union([z.string().trim().min(1).max(200), z.int().transform(String)])
const ids = z.array(id).max(1_000).describe('Ids of the platform; "*" stands for everybody.')

export const progressModes = ['off', 'new', 'all', 'verbose'] as const
/** The parts of a running turn that a chat shows: nothing, each tool once, each call, or calls and what they print. */
export type ProgressMode = (typeof progressModes)[number]

export const voiceModes = ['off', 'on', 'tts'] as const
/** The answers that are also spoken: none, those to voice messages, or all. */
export type VoiceMode = (typeof voiceModes)[number]

/** The effect of a message while a turn runs. */
export const busyModes = ['interrupt', 'queue', 'steer'] as const

/** How the messages of a platform arrive: it calls our address, or we ask for them. */
const deliveryModes = ['webhook', 'polling', 'socket'] as const

const fields = {
  address: z.email().max(320).nullable().describe('The own address of the agent, on email. null elsewhere.'),
  audience: z
    .string()
    .trim()
    .min(1)
    .max(500)
    .nullable()
    .describe('For whom Google Chat signs: a project number or an address. null: the webhook address.'),
  url: z
    .url({ protocol: /^https$/ })
    .max(500)
    .refine((url) => !/[?#@]/.test(url), 'A url has no user, query or fragment.')
    .transform((url) => url.replace(/\/{1,20}$/, ''))
    .nullable()
    .describe('The https address of a self-hosted server, such as a Matrix homeserver. null elsewhere.'),
  direct_rooms: ids.describe('Rooms of Nextcloud Talk that are direct chats.'),
  secretary: z
    .boolean()
    .describe('Drafts answers to the private chats of people who have connected this Telegram bot to their account.'),
  domain: z.enum(['feishu', 'lark']).nullable().describe('The site of a Feishu app. null: feishu.'),
  greeting: z.string().trim().max(500).nullable().describe('The first words of a call. null: none.'),
  language: z
    .string()
    .trim()
    .max(40)
    .nullable()
    .describe('The language of calls, like de-DE. null: the default of the carrier.'),
  project: z.string().min(1).max(100).nullable().describe('The project that the chats belong to. null: none.'),
  voice: z
    .string()
    .trim()
    .max(200)
    .nullable()
    .describe('The voice of calls, by the name that the carrier has. null: its default.'),
  chats_of: z
    .string()
    .regex(/^ch_\w{1,80}$/)
    .nullable()
    .describe(
      'A channel whose direct chats continue in calls: a caller is the person there. null: calls have sessions of their own.',
    ),
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
  mention_names: z
    .array(z.string().trim().min(2).max(100))
    .max(20)
    .describe('Words that address the bot in a group, as a mention does.'),
  free_chats: ids.describe('Groups whose messages need no mention.'),
  allow_bots: z
    .enum(['none', 'mentions', 'all'])
    .describe('Messages of other bots in allowed groups: none, those that mention this bot, or all.'),
  group_sessions: z
    .enum(['person', 'chat'])
    .describe('In groups each person has a session of their own, or the group shares one. Threads are always shared.'),
  moved_chats: z
    .record(z.string().max(200), z.string().max(200))
    .describe('Chats that the platform has given a new id: the new one, and the first one. Kept by the system.'),
  same_person: z
    .array(z.array(id).min(2).max(8))
    .max(200)
    .describe('Lists of ids that are one person. The first id of a list counts.'),
  commands: z
    .array(z.enum(commandNames))
    .max(100)
    .nullable()
    .describe('The commands of people who are no admins, besides /help and /whoami. null: the scopes alone decide.'),
  jobs: z
    .enum(['nobody', 'admins', 'everybody'])
    .describe('Who holds the scope `jobs`, and may let the agent make jobs that deliver into the chat.'),
  busy_mode: z.enum(busyModes),
  busy_notice: z.boolean().describe('A message that waits behind a turn is confirmed, at most twice a minute.'),
  streaming: z.boolean().describe('Answers appear while they are written.'),
  progress: z.enum(progressModes).describe('One message shows what the running turn does, by edits.'),
  max_queued: z
    .int()
    .min(1)
    .max(200)
    .describe('Messages that wait behind a turn. Further messages are refused with a notice.'),
  working_note_minutes: z
    .int()
    .min(0)
    .max(60)
    .describe('A turn that takes longer says so, and how long it works. 0: never.'),
  session_reset: z
    .strictObject({
      mode: z.enum(['none', 'idle', 'daily', 'both']),
      idle_minutes: z.int().min(1).max(525_600).optional(),
      at_hour: z.int().min(0).max(23).optional(),
    })
    .nullable()
    .describe('When a chat of this channel begins a new conversation by itself. null: as the tenant has set it.'),
  delivery: z
    .enum(deliveryModes)
    .describe(
      'How messages arrive: the platform calls `webhook_url`, or this server asks for them (`polling`, Telegram) or keeps a socket (`socket`, Slack).',
    ),
  burst_ms: z
    .int()
    .min(0)
    .max(10_000)
    .describe('Messages of one person within this time are one message. Commands and media are not held back.'),
}

export const channelSettings = z.strictObject({
  address: fields.address.default(null),
  audience: fields.audience.default(null),
  url: fields.url.default(null),
  direct_rooms: fields.direct_rooms.default([]),
  secretary: fields.secretary.default(false),
  domain: fields.domain.default(null),
  greeting: fields.greeting.default(null),
  language: fields.language.default(null),
  project: fields.project.default(null),
  voice: fields.voice.default(null),
  chats_of: fields.chats_of.default(null),
  allow_users: fields.allow_users.default([]),
  allow_chats: fields.allow_chats.default([]),
  admins: fields.admins.default([]),
  search_scope: fields.search_scope.default('chat'),
  role: fields.role.default(null),
  admin_role: fields.admin_role.default(null),
  require_mention: fields.require_mention.default(true),
  mention_names: fields.mention_names.default([]),
  free_chats: fields.free_chats.default([]),
  allow_bots: fields.allow_bots.default('none'),
  group_sessions: fields.group_sessions.default('person'),
  moved_chats: fields.moved_chats.default({}),
  same_person: fields.same_person.default([]),
  commands: fields.commands.default(null),
  jobs: fields.jobs.default('nobody'),
  busy_mode: fields.busy_mode.default('interrupt'),
  busy_notice: fields.busy_notice.default(false),
  streaming: fields.streaming.default(false),
  progress: fields.progress.default('off'),
  max_queued: fields.max_queued.default(32),
  working_note_minutes: fields.working_note_minutes.default(3),
  session_reset: fields.session_reset.default(null),
  delivery: fields.delivery.default('webhook'),
  burst_ms: fields.burst_ms.default(0),
})
export type ChannelSettings = z.infer<typeof channelSettings>

const idLists = ['allow_users', 'allow_chats', 'admins', 'free_chats'] as const

/** Writes the ids of people and chats as the events of the platform have them. */
export function normalizeIds<S extends z.infer<typeof settingsChange>>(
  settings: S,
  normalize: (id: string) => string,
): S {
  const list = (written: readonly string[] = []) => [
    ...new Set(written.map((one) => (one === '*' ? one : normalize(one)))),
  ]
  const { same_person: people } = settings
  const changed = idLists.filter((name) => settings[name]).map((name) => [name, list(settings[name])])
  return {
    ...settings,
    ...Object.fromEntries(changed),
    ...(people && { same_person: people.map((person) => list(person)) }),
  }
}

/** The settings in the API. What the system keeps is not among them: it decides whose conversation a chat continues. */
export const writableSettings = channelSettings
  .omit({ moved_chats: true })
  .extend({ delivery: fields.delivery.optional() })

/** A change of some settings. */
export const settingsChange = z.strictObject(fields).omit({ moved_chats: true }).partial()

/**
 * A person may chat, and nothing else. An admin of the channel also holds the policy scope, everybody may read where the
 * owner has widened the search, and make jobs where the owner has given that. A role takes away from all of it.
 */
export function getEntitlement(
  settings: Pick<ChannelSettings, 'search_scope' | 'role' | 'admin_role' | 'jobs'>,
  isAdmin: boolean,
): Entitlement {
  const role = isAdmin ? settings.admin_role : settings.role
  const mayMakeJobs = settings.jobs === 'everybody' || (isAdmin && settings.jobs === 'admins')
  const scopes = [
    'chat' as const,
    ...(settings.search_scope === 'tenant' ? ['read' as const] : []),
    ...(mayMakeJobs ? ['jobs' as const] : []),
    ...(isAdmin ? ['approve' as const] : []),
  ]
  return { scopes, ...(role !== null && { role }) }
}

/** The id that counts for a person whom the platform names by several. */
export const canonicalPerson = ({ same_person: lists }: Pick<ChannelSettings, 'same_person'>, person: string): string =>
  lists.find((list) => list.includes(person))?.[0] ?? person
