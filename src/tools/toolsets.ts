/** Names for groups of tools, and the choice of what a session gets. A name nobody knows hides nothing and breaks nothing. */

import type { ServiceName, Tool, Toolbox } from '../agent/model/tool.ts'

/** `tools` by name, and other sets by name. Members that are not built in yet are simply absent. */
export type Toolset = { readonly tools?: readonly string[]; readonly includes?: readonly string[] }

const single = (...names: string[]): Record<string, Toolset> =>
  Object.fromEntries(names.map((name) => [name, { tools: [name] }]))

const CORE: readonly string[] = [
  'web',
  'terminal',
  'file',
  'code_execution',
  'delegation',
  'skills',
  'memory',
  'todo',
  'session_search',
  'clarify',
  'cronjob',
  'vision',
  'image_gen',
  'tts',
  'browser',
  'homeassistant',
]
const without = (...names: string[]): Toolset => ({ includes: CORE.filter((name) => !names.includes(name)) })

const GROUPS: Readonly<Record<string, Toolset>> = {
  ...single('memory', 'todo', 'session_search', 'clarify', 'cronjob', 'x_search'),
  web: { tools: ['web_search', 'web_extract'] },
  search: { tools: ['web_search'] },
  terminal: { tools: ['terminal', 'process'] },
  file: { tools: ['read_file', 'write_file', 'patch', 'search_files'] },
  code_execution: { tools: ['execute_code'] },
  delegation: { tools: ['delegate_task'] },
  skills: { tools: ['skills_list', 'skill_view', 'skill_manage'] },
  tts: { tools: ['text_to_speech'] },
  vision: { tools: ['vision_analyze'] },
  video: { tools: ['video_analyze'] },
  image_gen: { tools: ['image_generate'] },
  video_gen: { tools: ['video_generate'] },
  homeassistant: { tools: ['ha_list_entities', 'ha_get_state', 'ha_list_services', 'ha_call_service'] },
}

const COMPOSITES: Readonly<Record<string, Toolset>> = {
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

const CHATS = [
  'telegram',
  'discord',
  'slack',
  'whatsapp',
  'signal',
  'matrix',
  'mattermost',
  'email',
  'sms',
  'teams',
] as const

/** What each way in may use when nothing else is set. */
const PRESETS: Readonly<Record<string, Toolset>> = {
  'talaria-cli': { includes: CORE },
  ...Object.fromEntries(CHATS.map((name) => [`talaria-${name}`, { includes: CORE }])),
  'talaria-acp': without('clarify', 'cronjob', 'image_gen', 'tts', 'homeassistant'),
  'talaria-api-server': without('clarify', 'tts'),
  // Nobody is there to answer, and a job that makes jobs never ends.
  'talaria-cron': without('clarify', 'cronjob'),
  // Its input is written by strangers.
  'talaria-webhook': { tools: ['web_search', 'web_extract', 'vision_analyze', 'clarify'] },
  'talaria-gateway': { includes: CORE },
}

const TOOLSETS: Readonly<Record<string, Toolset>> = { ...GROUPS, ...COMPOSITES, ...PRESETS }
const DEFAULT = ['talaria-cli']
/** Only given by name. */
const NEVER_BY_WILDCARD = 'kanban'

export type Choice = {
  readonly enabled?: readonly string[] | undefined
  /** Wins over everything enabled. */
  readonly disabled?: readonly string[] | undefined
  readonly services: ReadonlySet<ServiceName>
}

export type Selection = {
  readonly toolbox: Toolbox
  /** Names that are neither a toolset nor a tool. */
  readonly unknown: readonly string[]
}

export function selectTools(all: readonly Tool[], { enabled = DEFAULT, disabled = [], services }: Choice): Selection {
  const unknown = new Set<string>()
  const gather = (names: readonly string[]): Set<string> => {
    const found = new Set<string>()
    for (const name of names) expand(all, name, { found, unknown, seen: new Set() })
    return found
  }
  const wanted = gather(enabled)
  const refused = gather(disabled)
  const usable = all.filter(
    ({ name, needs }) => wanted.has(name) && !refused.has(name) && needs.every((need) => services.has(need)),
  )
  return { toolbox: new Map(usable.map((tool) => [tool.name, tool])), unknown: [...unknown] }
}

export type Expansion = { readonly found: Set<string>; readonly unknown: Set<string>; readonly seen: Set<string> }

/** Adds the members of a name to `found`. `sets` is given by tests; cycles end where they began. */
export function expand(
  all: readonly Tool[],
  given: string,
  into: Expansion,
  sets: Readonly<Record<string, Toolset>> = TOOLSETS,
): void {
  const name = given.replace(/^hermes-/, 'talaria-')
  if (into.seen.has(name)) return
  into.seen.add(name)
  const own = all.filter((tool) => belongs(tool, name)).map((tool) => tool.name)
  const set = Object.hasOwn(sets, name) ? sets[name] : undefined
  if (!set && own.length === 0 && !NAMED_LATER.has(name)) into.unknown.add(given)
  const { tools = [], includes = [] } = set ?? {}
  for (const member of [...own, ...tools]) into.found.add(member)
  for (const include of includes) expand(all, include, into, sets)
}

/** Tools of servers and of optional groups say themselves where they belong; a tool's own name works too. */
function belongs(tool: Tool, name: string): boolean {
  if (name === 'all' || name === '*') return tool.toolset !== NEVER_BY_WILDCARD
  return tool.toolset === name || tool.name === name
}

/** Toolsets whose members come with their own code, so that their names are never reported as mistakes. */
const NAMED_LATER: ReadonlySet<string> = new Set(['all', '*', 'browser', 'browser-cdp', 'kanban', 'a2a'])
