/**
 * Lists the commands of a conversation: one table for `/help`, for who may use them, for what they do while a turn
 * runs, and for `GET /api/commands`. Their code is in src/durable/session/commands, by the same names.
 */

import type { Scope } from '#agent/core/permission/authority.ts'

/**
 * How a command takes effect while a turn runs. `dispatch`: at once, beside the turn. `interrupt`: it stops the turn
 * first. `wait`: with the next model call or the next turn. `refuse`: not at all.
 */
export type BusyPolicy = 'dispatch' | 'interrupt' | 'wait' | 'refuse'

export const commandGroups = ['conversation', 'turn', 'work', 'information', 'settings'] as const
export type CommandGroup = (typeof commandGroups)[number]

export type CommandSpec = {
  /** Lower-case letters, digits and `-`. */
  readonly name: string
  readonly aliases?: readonly string[]
  /** The arguments, as `/help` shows them: `[N]`, `TEXT`. */
  readonly usage: string
  /** One line for `/help`. */
  readonly description: string
  readonly group: CommandGroup
  /**
   * A key needs this scope. People in chats hold scopes of their own: in a conversation of their own they may also use
   * commands that need `write`; in one that a group shares those are for admins.
   */
  readonly scope: Scope
  readonly busy: BusyPolicy
  /** `operator`: in a chat for admins, and where there are none for people whom the settings name. */
  readonly tier?: 'operator'
  /** It has a meaning in chats alone. */
  readonly isForChats?: true
  /** Not listed by `/help`. */
  readonly isHidden?: true
}

/** In the order of `/help`. */
export const commandTable = [
  {
    name: 'new',
    aliases: ['reset', 'clear'],
    usage: '[TITLE]',
    description: 'Begins a new conversation here. The files and the history stay.',
    group: 'conversation',
    scope: 'write',
    busy: 'interrupt',
  },
  {
    name: 'sessions',
    usage: '[all] [WORDS]',
    description: 'Lists the earlier conversations of this session; with "all" other sessions too.',
    group: 'conversation',
    scope: 'chat',
    busy: 'dispatch',
  },
  {
    name: 'resume',
    usage: '[N|TITLE]',
    description: 'Goes on with an earlier conversation of this session, by its number or title.',
    group: 'conversation',
    scope: 'write',
    busy: 'interrupt',
  },
  {
    name: 'retry',
    usage: '',
    description: 'Takes the last answer back and sends your last message again.',
    group: 'conversation',
    scope: 'chat',
    busy: 'refuse',
  },
  {
    name: 'undo',
    usage: '[N]',
    description: 'Takes your last message and its answer out of the conversation, or the last N.',
    group: 'conversation',
    scope: 'write',
    busy: 'refuse',
  },
  {
    name: 'checkpoint',
    usage: 'NAME',
    description: 'Names the present state of the files.',
    group: 'conversation',
    scope: 'write',
    busy: 'dispatch',
  },
  {
    name: 'rollback',
    usage: '[N | NAME] [all]',
    description:
      'Restores the files of before the last turn that changed them, and takes that turn out; or named files.',
    group: 'conversation',
    scope: 'write',
    busy: 'refuse',
  },
  {
    name: 'compress',
    aliases: ['compact'],
    usage: '[FOCUS|here N]',
    description:
      'Replaces older messages by a summary: with a focus, or all but your last N messages and their answers.',
    group: 'conversation',
    scope: 'chat',
    busy: 'wait',
  },
  {
    name: 'title',
    usage: '[TITLE]',
    description: 'Shows or changes the title of the conversation.',
    group: 'conversation',
    scope: 'write',
    busy: 'dispatch',
  },
  {
    name: 'fork',
    aliases: ['branch'],
    usage: '[TITLE]',
    description: 'Copies the conversation and its files to a new session.',
    group: 'conversation',
    scope: 'read',
    busy: 'dispatch',
  },
  {
    name: 'save',
    usage: '[md|html|json] [redact]',
    description: 'Writes the conversation to a file of the workspace; a chat gets the file.',
    group: 'conversation',
    scope: 'write',
    busy: 'dispatch',
  },
  {
    name: 'stop',
    usage: '',
    description:
      'Stops the turn and the background processes, drops queued messages, and pauses the goal and the loop.',
    group: 'turn',
    scope: 'chat',
    busy: 'interrupt',
  },
  {
    name: 'steer',
    usage: 'TEXT',
    description: 'Sends a message into the running turn without stopping it.',
    group: 'turn',
    scope: 'chat',
    busy: 'dispatch',
  },
  {
    name: 'queue',
    usage: 'TEXT',
    description: 'Sends a message that gets a turn of its own after the running one.',
    group: 'turn',
    scope: 'chat',
    busy: 'dispatch',
  },
  {
    name: 'approve',
    usage: '[all] [session|always]',
    description: 'Allows the call that waits for approval: once, for this session, or always.',
    group: 'turn',
    scope: 'chat',
    busy: 'dispatch',
  },
  {
    name: 'deny',
    usage: '[all] [REASON]',
    description: 'Denies the call that waits for approval. The agent reads the reason.',
    group: 'turn',
    scope: 'chat',
    busy: 'dispatch',
  },
  {
    name: 'background',
    aliases: ['bg', 'btw'],
    usage: 'PROMPT',
    description: 'Works on a prompt beside the conversation. The result comes back as a message.',
    group: 'work',
    scope: 'chat',
    busy: 'dispatch',
  },
  {
    name: 'agents',
    aliases: ['tasks'],
    usage: '[pause|resume]',
    description: 'Lists the subagents and processes that run; pauses the start of subagents.',
    group: 'work',
    scope: 'chat',
    busy: 'dispatch',
  },
  {
    name: 'goal',
    usage:
      '[TEXT | draft TEXT | start | show | status | FIELD TEXT | gate COMMAND | ungate N | wait PROCESS | pause | resume | clear]',
    description: 'Works towards a goal over several turns, until a judge says that it is reached.',
    group: 'work',
    scope: 'chat',
    busy: 'dispatch',
  },
  {
    name: 'subgoal',
    usage: 'TEXT | remove N',
    description: 'Adds a criterion to the goal, or removes one.',
    group: 'work',
    scope: 'chat',
    busy: 'dispatch',
  },
  {
    name: 'heartbeat',
    usage: 'every 30m [PROMPT] | pause | resume | clear',
    description: 'Sends a prompt, or HEARTBEAT.md, at an interval of at least a minute, while the session is idle.',
    group: 'work',
    scope: 'chat',
    busy: 'dispatch',
  },
  {
    name: 'loop',
    usage: '[every 5m] PROMPT | pause | resume | clear',
    description:
      'Sends a prompt again until the work is done, at most 100 times. Without an interval the model chooses the pause.',
    group: 'work',
    scope: 'chat',
    busy: 'dispatch',
  },
  {
    name: 'help',
    aliases: ['commands'],
    usage: '[COMMAND]',
    description: 'Lists the commands, or explains one.',
    group: 'information',
    scope: 'chat',
    busy: 'dispatch',
  },
  {
    name: 'status',
    usage: '',
    description: 'Shows what the session does now.',
    group: 'information',
    scope: 'chat',
    busy: 'dispatch',
  },
  {
    name: 'context',
    usage: '',
    description: 'Shows what takes how much of the context window.',
    group: 'information',
    scope: 'chat',
    busy: 'dispatch',
  },
  {
    name: 'usage',
    usage: '',
    description: 'Shows the tokens and the cost of the session and of its last turn.',
    group: 'information',
    scope: 'chat',
    busy: 'dispatch',
  },
  {
    name: 'insights',
    usage: '[DAYS]',
    description: 'Shows what the tenant has used in the last days, by model.',
    group: 'information',
    scope: 'read',
    busy: 'dispatch',
  },
  {
    name: 'whoami',
    usage: '',
    description: 'Shows as whom you are known here, and what you may do.',
    group: 'information',
    scope: 'chat',
    busy: 'dispatch',
  },
  {
    name: 'platform',
    usage: '',
    description: 'Shows which platform, connection and chat this is.',
    group: 'information',
    scope: 'chat',
    busy: 'dispatch',
    isForChats: true,
  },
  {
    name: 'version',
    usage: '',
    description: 'Shows the version of this server.',
    group: 'information',
    scope: 'chat',
    busy: 'dispatch',
  },
  {
    name: 'model',
    usage: '[PROVIDER/MODEL|default]',
    description: 'Shows or changes the model of the session.',
    group: 'settings',
    scope: 'write',
    busy: 'refuse',
  },
  {
    name: 'reasoning',
    usage: '[LEVEL|default]',
    description: 'Shows or changes how much the model reasons in this session.',
    group: 'settings',
    scope: 'write',
    busy: 'wait',
  },
  {
    name: 'personality',
    usage: '[NAME|none]',
    description: 'Shows or changes how the agent speaks in this conversation.',
    group: 'settings',
    scope: 'write',
    busy: 'wait',
  },
  {
    name: 'verbose',
    aliases: ['progress'],
    usage: '[off|new|all|verbose|default]',
    description: 'Shows or changes how much of the running turn this chat shows.',
    group: 'settings',
    scope: 'write',
    busy: 'dispatch',
    isForChats: true,
  },
  {
    name: 'busy',
    usage: '[interrupt|queue|steer|default]',
    description: 'Shows or changes what a message does while a turn runs.',
    group: 'settings',
    scope: 'write',
    busy: 'dispatch',
    isForChats: true,
  },
  {
    name: 'footer',
    usage: '[on|off]',
    description: 'Ends answers here with model, context and cost.',
    group: 'settings',
    scope: 'write',
    busy: 'dispatch',
    isForChats: true,
  },
  {
    name: 'voice',
    usage: '[on|off|tts]',
    description: 'Speaks the answers to voice messages (on), or all answers (tts), beside their text.',
    group: 'settings',
    scope: 'write',
    busy: 'dispatch',
    isForChats: true,
  },
  {
    name: 'approvals',
    usage: '[manual|smart|off|default]',
    description: 'Shows or changes which calls ask for approval in this session.',
    group: 'settings',
    scope: 'write',
    busy: 'dispatch',
  },
  {
    name: 'memory',
    usage: '[pending | approve ID|all | reject ID|all | versions | restore ID | forget [yes] WORDS]',
    description: 'Shows what the agent remembers, decides what it wants to remember, restores versions, and forgets.',
    group: 'settings',
    scope: 'write',
    busy: 'dispatch',
  },
  {
    name: 'skills',
    usage: '[WORDS]',
    description: 'Lists the skills that can be used as commands.',
    group: 'settings',
    scope: 'chat',
    busy: 'dispatch',
  },
  {
    name: 'reload-mcp',
    usage: '',
    description: 'Lists the tools of all MCP servers anew.',
    group: 'settings',
    scope: 'write',
    busy: 'dispatch',
  },
  {
    name: 'sethome',
    usage: '[off]',
    description: 'Makes this chat the home of its platform: results of jobs for the platform come here.',
    group: 'settings',
    scope: 'approve',
    busy: 'dispatch',
    tier: 'operator',
    isForChats: true,
  },
  {
    name: 'pause',
    usage: '[off]',
    description: 'Pauses the channel: nobody is answered until an admin sends /pause off.',
    group: 'settings',
    scope: 'write',
    busy: 'dispatch',
    tier: 'operator',
    isForChats: true,
  },
  {
    name: 'start',
    usage: '',
    description: 'Does nothing: messengers send it when a chat begins.',
    group: 'information',
    scope: 'chat',
    busy: 'dispatch',
    isHidden: true,
  },
] as const satisfies readonly CommandSpec[]

export type CommandName = (typeof commandTable)[number]['name']

export const commandNames: readonly CommandName[] = commandTable.map(({ name }) => name)

const bySpelling: ReadonlyMap<string, CommandSpec & { readonly name: CommandName }> = new Map(
  commandTable.flatMap((command) =>
    [command.name, ...('aliases' in command ? command.aliases : [])].map((name) => [name, command] as const),
  ),
)

/** By its name or an alias. */
export const findCommand = (name: string): (CommandSpec & { readonly name: CommandName }) | undefined =>
  bySpelling.get(name)

/** All names and aliases, for suggestions. */
export const commandSpellings = (): readonly string[] => [...bySpelling.keys()]

export const renderUsage = ({ name, usage }: Pick<CommandSpec, 'name' | 'usage'>): string => `/${name} ${usage}`.trim()
