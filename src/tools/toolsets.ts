/** Lists the toolsets by name and expands a name to the tools that it stands for. */

import type { Tool } from '#agent/core/tool.ts'

/** `tools` holds names of tools, which need not exist; `includes` holds names of other toolsets. */
export type Toolset = { readonly tools?: readonly string[]; readonly includes?: readonly string[] }

/** Toolsets that act on a workspace. They are hidden from a turn whose client brings tools. */
export const workspaceToolsets: readonly string[] = ['file', 'terminal', 'code_execution', 'browser']

/** The toolset of all tools that the tenant brings. `toolsFor` adds its members, which differ from tenant to tenant. */
export const tenantToolset = 'tenant'

const toolsetPerTool = (...names: string[]): Record<string, Toolset> =>
  Object.fromEntries(names.map((name) => [name, { tools: [name] }]))

const core: readonly string[] = [
  'web',
  'terminal',
  'file',
  'code_execution',
  'checkpoints',
  'delegation',
  'sessions',
  'skills',
  'memory',
  'learning',
  'todo',
  'session_search',
  'clarify',
  'cronjob',
  'vision',
  'image_gen',
  'tts',
  'browser',
  tenantToolset,
]
const coreWithout = (...names: string[]): Toolset => ({ includes: core.filter((name) => !names.includes(name)) })

const groups: Readonly<Record<string, Toolset>> = {
  ...toolsetPerTool('memory', 'learning', 'todo', 'session_search', 'clarify', 'cronjob'),
  web: { tools: ['web_search', 'web_extract'] },
  search: { tools: ['web_search'] },
  terminal: { tools: ['terminal', 'process'] },
  file: { tools: ['read_file', 'write_file', 'patch', 'search_files'] },
  code_execution: { tools: ['execute_code'] },
  checkpoints: { tools: ['checkpoint', 'restore'] },
  delegation: { tools: ['delegate_task'] },
  sessions: { tools: ['sessions_list', 'sessions_send'] },
  skills: { tools: ['skills_list', 'skill_view', 'skill_manage'] },
  tts: { tools: ['text_to_speech'] },
  vision: { tools: ['vision_analyze'] },
  image_gen: { tools: ['image_generate'] },
  video: { tools: ['video_analyze'] },
  video_gen: { tools: ['video_generate'] },
}

const composites: Readonly<Record<string, Toolset>> = {
  safe: { includes: ['web', 'vision', 'image_gen'] },
  debugging: { includes: ['file', 'terminal', 'web'] },
  coding: {
    includes: [
      'web',
      'terminal',
      'file',
      'vision',
      'skills',
      'browser',
      'todo',
      'memory',
      'session_search',
      'clarify',
      'code_execution',
      'delegation',
    ],
  },
}

const platforms = [
  'telegram',
  'discord',
  'slack',
  'whatsapp',
  'email',
  'sms',
  'line',
  'messenger',
  'instagram',
  'google_chat',
  'teams',
  'nextcloud_talk',
  'zulip',
  'rocketchat',
  'feishu',
  'signal',
  'mattermost',
  'webex',
  'dingtalk',
  'zalo',
  'qq',
  'wecom',
  'twitch',
  'github',
  'linear',
  'phone',
  'telnyx_phone',
  'matrix',
  'twilio_whatsapp',
  'rcs',
] as const

/** The toolset of each source of messages. */
const presets: Readonly<Record<string, Toolset>> = {
  'talaria-cli': { includes: core },
  ...Object.fromEntries(platforms.map((name) => [`talaria-${name}`, { includes: core }])),
  'talaria-cron': coreWithout('clarify', 'cronjob', 'memory', 'learning'),
  'talaria-batch': coreWithout('clarify', 'cronjob', 'memory', 'learning', 'delegation', 'sessions'),
  'talaria-webhook': { tools: ['web_search', 'web_extract', 'vision_analyze', 'clarify'] },
}

export const toolsets: Readonly<Record<string, Toolset>> = { ...groups, ...composites, ...presets }

/** Toolsets whose tools may be absent. Their names are never reported as unknown. */
const optionalToolsets: ReadonlySet<string> = new Set(['all', '*', 'browser', 'browser-cdp'])

/** Whether this is the name of a toolset. `hermes-` stands for `talaria-`, and `web_tools` for `web`. */
export const isToolsetName = (name: string): boolean =>
  optionalToolsets.has(withoutLegacy(name)) || Object.hasOwn(toolsets, withoutLegacy(name))

/** Names of older configurations that are brought along. */
const legacyNames: Readonly<Record<string, string>> = Object.fromEntries([
  ['image_tools', 'image_gen'],
  ...['web', 'terminal', 'file', 'vision', 'skills', 'browser', 'cronjob', 'tts', 'memory', 'delegation'].map(
    (name): [string, string] => [`${name}_tools`, name],
  ),
])

const withoutLegacy = (name: string): string =>
  Object.hasOwn(legacyNames, name) ? (legacyNames[name] ?? name) : name.replace(/^hermes-/, 'talaria-')

/** Stored settings may name presets that are not accepted any more and had the tools of the command line. */
const resolveStored = (name: string): string =>
  withoutLegacy(name).replace(/^talaria-(?:gateway|signal|matrix|mattermost|teams)$/, 'talaria-cli')

/** Sources whose preset has another name. */
const presetAliases: Readonly<Record<string, string>> = { job: 'cron' }

/** The toolset that a session has by default: that of its source, else that of the command line. */
export function getPreset(source: string): string {
  const name = `talaria-${presetAliases[source] ?? source}`
  return Object.hasOwn(presets, name) ? name : 'talaria-cli'
}

/**
 * Toolsets that settings cannot change for a source. Strangers write the input of a webhook, so that it has the tools of its preset
 * at most. Nobody could answer a job, and a job that creates jobs may never end. The money of a prompt of a batch is not divided further.
 */
export const presetBounds: Readonly<
  Record<string, { readonly only?: readonly string[]; readonly never?: readonly string[] }>
> = {
  'talaria-webhook': { only: ['talaria-webhook'] },
  'talaria-cron': { never: ['clarify', 'cronjob', 'memory', 'learning', 'send_message', 'place_call'] },
  'talaria-batch': { never: ['clarify', 'cronjob', 'memory', 'learning', 'send_message', 'place_call', 'delegation'] },
}

export type ToolsetExpansion = {
  /** Names of tools. They need not exist. */
  readonly members: Set<string>
  /** Names that are neither a toolset nor a tool. */
  readonly unknown: Set<string>
  /** Names that were expanded before. They end cycles. */
  readonly visited: Set<string>
}

/** Adds the members of a toolset, or the tool of this name, to `expansion`. */
export function expandToolset(
  tools: readonly Tool[],
  requestedName: string,
  expansion: ToolsetExpansion,
  sets: Readonly<Record<string, Toolset>>,
): void {
  const name = resolveStored(requestedName)
  if (expansion.visited.has(name)) return
  expansion.visited.add(name)
  const ownMembers = tools.filter((tool) => belongsTo(tool, name)).map((tool) => tool.name)
  const set = Object.hasOwn(sets, name) ? sets[name] : undefined
  if (!set && ownMembers.length === 0 && !optionalToolsets.has(name)) expansion.unknown.add(requestedName)
  const { tools: listed = [], includes = [] } = set ?? {}
  for (const member of [...ownMembers, ...listed]) expansion.members.add(member)
  for (const included of includes) expandToolset(tools, included, expansion, sets)
}

function belongsTo(tool: Tool, name: string): boolean {
  return name === 'all' || name === '*' || tool.toolset === name || tool.name === name
}
