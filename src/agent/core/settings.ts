/**
 * Defines and validates the settings of a tenant and of a session: nested JSON with all parts optional. A missing value
 * comes from the next level: request, session, tenant, deployment, default. Unknown names are errors.
 */

import * as z from 'zod'
import { backendKinds } from './backend.ts'
import { mediaSettings } from './media/media-settings.ts'
import { risks } from './permission/approval.ts'
import { scopes } from './permission/authority.ts'
import { memoryProviders } from './recall/memory-provider.ts'
import { compressionShare, count, modelId, turnSettings } from './request/turn-settings.ts'
import { keepMaskedHeaders } from './secrets/provider-headers.ts'
import { maxGrantedSecrets, secretName } from './secrets/secret-name.ts'
import { webSettings } from './vendor/web-settings.ts'
import { browserBackends } from './browser/browser.ts'

/** Defines the settings of the browser. */
const browserSettings = {
  browser: z
    .strictObject({
      backend: z.enum(browserBackends).optional().describe('Default: the first one that is set up.'),
      profile: z
        .string()
        .regex(/^[\w.-]{1,64}$/)
        .optional()
        .describe('The profile that keeps logins. Default: none.'),
      idle_seconds: z.int().min(1).max(540).optional().describe('An unused browser is closed. Default: 120.'),
      usd_per_hour: z
        .number()
        .min(0)
        .max(1_000)
        .optional()
        .describe('What an hour of a browser costs. Default: 0.09 for binding, 0 for cdp; unknown for the others.'),
      allow_expressions: z
        .boolean()
        .optional()
        .describe('Whether browser_console may evaluate expressions, each with an approval. Default: false.'),
    })
    .optional()
    .describe('The browser of a session.'),
} as const

const pattern = z.string().min(1).max(1_000)

/** Validates the rules of `approvals.rules`. */
const approvalRule = z.strictObject({
  do: z.enum(['allow', 'ask', 'deny']),
  tool: pattern.max(200).describe('Name of a tool, or toolset:NAME; * and ? are wildcards.'),
  match: pattern.optional().describe('A command, a path or an address; * and ? are wildcards.'),
  channel: pattern
    .max(200)
    .optional()
    .describe('Limits the rule to sessions of a platform, or of ID or ID:CHAT of a channel.'),
})

/** The dialects that a setting may name. */
const dialect = z.enum(['openai-chat', 'openai-responses', 'anthropic', 'bedrock-converse', 'gemini'])

const perMillion = z.number().min(0).max(1_000_000)

const perModel = z.strictObject({
  context_window: count(20_000_000).optional(),
  max_output: count(20_000_000).optional(),
  dialect: dialect.optional(),
  images: z.boolean().optional(),
  pdf: z.boolean().optional(),
  reasoning: z.boolean().optional(),
  prices: z
    .strictObject({
      input: perMillion.optional(),
      output: perMillion.optional(),
      cached_read: perMillion.optional(),
      cached_write: perMillion.optional(),
      web_search: perMillion.optional().describe('USD per thousand web searches of the provider itself. Default: 10.'),
    })
    .optional()
    .describe('USD per million tokens.'),
  compression: z
    .strictObject({ threshold: compressionShare.optional(), threshold_tokens: count(20_000_000).optional() })
    .optional()
    .describe('Replaces the thresholds of `compression` for this model.'),
})

export const limitsSchema = z.strictObject({
  requests_per_minute: count(1_000_000).optional(),
  concurrent_turns: count(100_000).optional(),
  tokens_per_turn: count(1_000_000_000_000).optional(),
  tokens_per_session: count(1_000_000_000_000).optional(),
  tokens_per_day: count(1_000_000_000_000).optional(),
  tokens_per_month: count(1_000_000_000_000).optional(),
  usd_per_turn: z.number().positive().optional(),
  usd_per_session: z.number().positive().optional(),
  usd_per_day: z.number().positive().optional(),
  usd_per_month: z.number().positive().optional(),
  unattended_turns_per_hour: count(100_000).optional(),
  unattended_tokens_per_day: count(1_000_000_000_000).optional(),
  unattended_usd_per_day: z.number().positive().optional(),
  storage_bytes: count(1_000_000_000_000).optional(),
  jobs: count(100_000).optional(),
  children: count(10_000).optional(),
  browsers: count(10_000).optional(),
})
export type Limits = z.infer<typeof limitsSchema>

/** Leaves out stored limits that do not exist any more. */
export const knownLimits = (stored: Limits): Limits =>
  Object.fromEntries(Object.entries(stored).filter(([name]) => Object.hasOwn(limitsSchema.shape, name)))

export const headerName = z
  .string()
  .regex(/^(?!(?:host|content-length|connection|transfer-encoding)$)[A-Za-z0-9-]{1,64}$/i)
/** Sealed values are longer than the 2,000 characters that a request may send. */
export const header = z
  .string()
  .max(4_096)
  .regex(/^[\t\u0020-\u007e]*$/, 'Printable ASCII only.')

export const customProviderName = /^custom:[a-z0-9][a-z0-9_-]{0,62}$/

/** A provider that the tenant defines. Its address is checked when the settings are stored. */
const ownProvider = z.strictObject({
  base_url: z.url({ protocol: /^https?$/ }).max(500),
  dialect: dialect.optional().describe('Default: what the address says, else openai-chat.'),
  headers: z
    .record(headerName, header)
    .optional()
    .describe('Secrets: answers show only their last four characters. A value as shown keeps the stored one.'),
})

const timezone = z.string().max(64).refine(isTimeZone, 'Not an IANA time zone, such as Europe/Berlin.')

/** Tasks of side calls. The names are those of Hermes. */
export const sideTasks = [
  'compression',
  'title_generation',
  'approval',
  'vision',
  'goal_judge',
  'moa_reference',
  'plugin',
  'web_extract',
  'session_search',
] as const
export type SideTask = (typeof sideTasks)[number]

/** The only task that can be switched off. */
const titles: SideTask = 'title_generation'

const sideTask = z.strictObject({
  model: modelId.optional(),
  fallback_providers: z
    .array(modelId)
    .max(10)
    .optional()
    .describe('Tried after the model, in this order. No other models are tried.'),
  timeout: count(3_600).optional().describe('Timeout of one call in seconds.'),
  max_tokens: count(100_000).optional().describe('Maximum output of one call.'),
  enabled: z
    .boolean()
    .optional()
    .describe(
      'Titles only: true also uses the main model, false creates none. Default: a configured or a cheap model.',
    ),
})

const moaPreset = z.strictObject({
  references: z.array(modelId).min(1).max(8),
  aggregator: modelId,
  max_tokens: count(1_000_000).optional().describe('Maximum output of each reference.'),
})

/** Host names only, no IP addresses. A star matches everything below a domain. */
const hostPattern = z
  .string()
  .max(253)
  .regex(
    /^(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/,
    'Write it as example.org or *.example.org.',
  )

export const roleName = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'Lower-case letters, digits, - and _.')

const promptName = z.string().regex(/^[\p{L}\p{N}][\p{L}\p{N}_-]{0,39}$/u, 'Letters, digits, _ and -.')
const maxPrompts = 100

/** The scopes are required: a role without a field would be no setting that policy could protect. */
const role = z.strictObject({
  scopes: z.array(z.enum(scopes)).max(scopes.length).describe('A key with the role has no other scopes.'),
  toolsets: z.array(z.string().max(64)).max(100).optional().describe('Toolsets and tools. Default: no limit.'),
  max_risk: z.enum(risks).optional().describe('Calls with a higher risk never run. Default: no limit.'),
})
const maxRoles = 100

const toolSearch = z.strictObject({
  enabled: z
    .enum(['auto', 'on', 'off'])
    .optional()
    .describe(
      'Whether tools of servers and plugins are searched instead of listed. Default: auto, above the threshold.',
    ),
  threshold_pct: z.number().min(0).max(100).optional().describe('Share of the context window. Default: 5.'),
  listing: z.enum(['auto', 'on', 'off']).optional().describe('Whether the prompt lists their names. Default: auto.'),
  listing_max_tokens: count(100_000).optional().describe('Default: 4,000, and at most 5 % of the window.'),
  search_default_limit: count(25).optional().describe('Default: 5.'),
  max_search_limit: count(100).optional().describe('Default: 25.'),
})

export const settingsSchema = z.strictObject({
  ...turnSettings,
  auxiliary: z
    .partialRecord(z.enum(sideTasks), sideTask)
    .refine(
      (tasks) => Object.entries(tasks).every(([task, { enabled }]) => enabled === undefined || task === titles),
      `Only ${titles} can be switched off.`,
    )
    .optional(),
  moa: z.strictObject({ presets: z.record(z.string().regex(/^[\w.-]{1,64}$/), moaPreset).optional() }).optional(),
  fallback_providers: z.array(modelId).max(10).optional().describe('provider/model, tried in order.'),
  instructions: z.string().max(50_000).optional().describe('Added to the system prompt of new sessions.'),
  prompts: z
    .record(promptName, z.string().min(1).max(8_000))
    .refine((prompts) => Object.keys(prompts).length <= maxPrompts, `At most ${maxPrompts} prompts.`)
    .optional()
    .describe('Texts that the page offers behind / by their names, for everybody of the tenant.'),
  credential_pool: z
    .record(
      z.string().max(64),
      z.strictObject({ strategy: z.enum(['fill_first', 'round_robin', 'random', 'least_used']).optional() }),
    )
    .optional(),
  learning: z
    .strictObject({
      review: z.boolean().optional().describe('Reviews conversations in the background. Default: true.'),
      fixes: z.boolean().optional().describe('Keeps what fixed failed calls, and offers it again. Default: true.'),
      model: modelId.optional().describe('Of the review. Default: AUX_MODEL, else a cheap model if one is known.'),
      review_turns: count(1_000).optional().describe('Messages of a person between two reviews. Default: 10.'),
      review_steps: count(1_000).optional().describe('Steps with tools between two reviews. Default: 10.'),
      ask_after_steps: count(1_000)
        .optional()
        .describe('A turn with so many steps ends with the question how it went, once in a session. Default: never.'),
    })
    .optional(),
  skills: z
    .strictObject({
      sources: z
        .array(z.url({ protocol: /^https?$/ }).max(500))
        .max(10)
        .optional()
        .describe('Places that a search asks: repositories on GitHub, sites with an index, https://skills.sh.'),
    })
    .optional(),
  memory: z
    .strictObject({
      enabled: z.boolean().optional().describe('Memory and profiles. Default: true.'),
      memory_enabled: z.boolean().optional().describe('The memory of the tenant. Default: true.'),
      user_profile_enabled: z.boolean().optional().describe('The profiles of people. Default: true.'),
      memory_char_limit: count(20_000).optional().describe('Default: 2,200 characters.'),
      user_char_limit: count(20_000).optional().describe('Default: 1,375 characters.'),
      write_approval: z.boolean().optional().describe('Writes of the agent wait for a person. Default: false.'),
      provider: z
        .enum(memoryProviders)
        .optional()
        .describe('A service that remembers conversations, with a key of /api/credentials. Default: none.'),
      base_url: z
        .url({ protocol: /^https?$/ })
        .max(500)
        .optional()
        .describe('Another address of that service. Required for `http`.'),
      prefetch: z
        .boolean()
        .optional()
        .describe('Asks the service after a turn for the next one, which then waits for nothing. Default: false.'),
    })
    .optional(),
  toolsets: z
    .strictObject({
      enabled: z
        .array(z.string().max(64))
        .max(100)
        .optional()
        .describe('Toolsets and tools that are offered. Default: the preset of the source.'),
      disabled: z.array(z.string().max(64)).max(100).optional().describe('Toolsets and tools that are not offered.'),
    })
    .optional(),
  tools: z.strictObject({ tool_search: toolSearch.optional() }).optional(),
  plugins: z
    .strictObject({
      enabled: z
        .array(z.enum(['a2a', 'git_guard', 'homeassistant', 'send_message', 'spotify']))
        .max(20)
        .optional()
        .describe('Built-in plugins that are on. Default: none.'),
      homeassistant_url: z
        .url({ protocol: /^https?$/ })
        .max(500)
        .optional()
        .describe('A public address.'),
      a2a_agents: z
        .array(
          z.strictObject({
            name: z.string().regex(/^[A-Za-z0-9_-]{1,32}$/),
            url: z.url({ protocol: /^https?$/ }).max(500),
            secret: z.string().max(64).optional(),
          }),
        )
        .max(50)
        .optional()
        .describe('Other agents. secret: the name of the bearer token.'),
    })
    .optional(),
  busy_input_mode: z
    .enum(['queue', 'interrupt', 'steer'])
    .optional()
    .describe('What happens to a message while a turn runs. Default: interrupt.'),
  api: z
    .strictObject({
      on_disconnect: z
        .enum(['stop', 'continue'])
        .optional()
        .describe('What happens to a run of /v1 whose client goes away. Default: stop.'),
      toolsets_with_client_tools: z
        .array(z.string().max(64))
        .max(100)
        .optional()
        .describe('Toolsets that act on a workspace and stay when a client brings its own tools. Default: none.'),
    })
    .optional(),
  approvals: z
    .strictObject({
      mode: z
        .enum(['smart', 'manual', 'off'])
        .optional()
        .describe('Who approves dangerous calls. Default: smart, on a shared machine manual.'),
      rules: z
        .array(approvalRule)
        .max(500)
        .optional()
        .describe(
          'allow, ask or deny by tool, subject and channel. One that denies comes before one that asks, and that before one that allows.',
        ),
      smart_policy: z
        .string()
        .max(4_000)
        .optional()
        .describe('Added to the instructions of the model that judges calls.'),
      unattended: z
        .enum(['deny', 'allow'])
        .optional()
        .describe('The decision when no person can be asked. Default: deny.'),
    })
    .optional(),
  terminal: z
    .strictObject({
      backend: z.enum(backendKinds).optional().describe('Where commands run. The files of a session move along.'),
      network: z
        .enum(['none', 'public'])
        .optional()
        .describe('The network of curl, wget and git in the virtual backend. Default: none.'),
      allowed_hosts: z
        .array(hostPattern)
        .max(100)
        .optional()
        .describe('Hosts that a container reaches beside those of the deployment; *.example.org is any name below it.'),
      secrets: z
        .array(secretName)
        .max(maxGrantedSecrets)
        .optional()
        .describe('Secrets of /api/secrets in the environment of commands.'),
    })
    .optional(),
  roles: z
    .record(roleName, role)
    .refine((roles) => Object.keys(roles).length <= maxRoles, `At most ${maxRoles} roles.`)
    .optional()
    .describe('Limits of keys, logins and people in chats, by name.'),
  web: webSettings.optional(),
  timezone: timezone.optional().describe('IANA name, for the date in the prompt, jobs and resets. Default: UTC.'),
  sessions: z
    .strictObject({
      retention_days: count(36_500).optional().describe('Inactive sessions are deleted. Default: never.'),
      trajectory_days: count(36_500).optional().describe('Keeps each run as a trajectory. Default: none.'),
    })
    .optional(),
  search: z
    .strictObject({
      embedding_model: modelId
        .optional()
        .describe('provider/model that embeds past sessions, so that a search finds them by meaning. Default: none.'),
    })
    .optional(),
  models: z.record(modelId, perModel).optional(),
  providers: z.record(z.string().regex(customProviderName, 'Write it as custom:name.'), ownProvider).optional(),
  ...mediaSettings,
  ...browserSettings,
  limits: limitsSchema.optional(),
})
export type Settings = z.infer<typeof settingsSchema>

function isTimeZone(name: string): boolean {
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone: name }))
  } catch {
    return false
  }
}

/** Merges settings: objects are merged, other values replaced, and null removes a setting. */
export function mergeSettings<T extends object>(below: T, above: object): T {
  const merged = { ...below } as Record<string, unknown>
  for (const [key, value] of Object.entries(above)) {
    const old = merged[key]
    if (value === null) delete merged[key]
    else if (isPlain(value)) merged[key] = mergeSettings(isPlain(old) ? old : {}, value)
    else if (value !== undefined) merged[key] = value
  }
  return merged as T
}

/** The first error in the settings. */
export type SettingsFault = { readonly kind: 'wrong'; readonly at: string; readonly message: string }
export type PatchResult = { readonly kind: 'patched'; readonly settings: Settings } | SettingsFault

/** Applies a patch and validates the result as a whole, because null may remove a required part. */
export function patchSettings(below: Settings, patch: object): PatchResult {
  const kept = keepMaskedHeaders(below, patch)
  if (kept.kind === 'wrong') return kept
  const { data, error } = settingsSchema.safeParse(mergeSettings(below, kept.patch))
  if (data) return { kind: 'patched', settings: data }
  const [issue] = error.issues
  return { kind: 'wrong', at: issue?.path.join('.') ?? '', message: issue?.message ?? 'invalid' }
}

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const defaultSettings = { maxTurns: 90, subagentTurns: 50, busyMode: 'interrupt', timezone: 'UTC' } as const
