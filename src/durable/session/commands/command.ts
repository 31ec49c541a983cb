/** Defines how the commands of a conversation are called, and how they answer. */

import type { CommandChoice } from '#agent/core/delivery.ts'
import type { Authority, Scope } from '#agent/core/permission/authority.ts'
import type { OpeningMessage } from '#agent/core/message.ts'
import type { OwnedOptions } from '#agent/core/turn-options.ts'
import type { CommandRights } from '#agent/policy/slash-command/command-rights.ts'
import { type CommandName, findCommand, renderUsage } from '#agent/policy/slash-command/command-table.ts'
import type { BusyMode } from '../intake/intake.ts'
import type { Session } from '../session.ts'

/** A command as it was sent. */
export type CommandCall = {
  readonly authority: Authority
  /** The id of the run that answers the command. */
  readonly runId: string
  /** The name as it was typed, in lower case. */
  readonly name: string
  /** Everything behind the name, trimmed. */
  readonly text: string
  /** The words of the text; see splitWords. */
  readonly words: readonly string[]
  /** The limits of a person in a chat. Absent for keys, whose scopes decide. */
  readonly rights?: CommandRights
}

export type CommandReply =
  /** Answers the command with a text and without a turn. An empty text answers nothing in a chat. */
  | {
      readonly kind: 'text'
      readonly text: string
      /** A file of the workspace. A chat gets it after the text. */
      readonly file?: string
      /** Commands that a chat offers as buttons. */
      readonly picks?: readonly CommandChoice[]
    }
  /** Submits this text as the message instead of the command. `mode`: how it takes effect while a turn runs. */
  | { readonly kind: 'message'; readonly text: string; readonly mode?: BusyMode }
  /**
   * Starts a turn of its own. `compose` runs in the stretch that opens the turn, or not at all. Undefined: there is
   * nothing to start after all.
   */
  | { readonly kind: 'turn'; readonly compose: () => ComposedTurn | undefined }
  /** The command decides pending approvals; the intake applies it. */
  | { readonly kind: 'decision' }

export type ComposedTurn = { readonly message: OpeningMessage; readonly options: OwnedOptions }

/**
 * The code of a command of the table (agent/policy/slash-command/command-table.ts). It may answer at once: then the
 * answer and what the command changes are one write.
 */
export type CommandHandler = (session: Session, call: CommandCall) => CommandReply | Promise<CommandReply>

/** Answers commands that the list does not have, such as the names of skills. Undefined: not known here either. */
export type CommandFallback = {
  readonly scope: Scope
  readonly find: (session: Session, call: CommandCall) => CommandReply | undefined | Promise<CommandReply | undefined>
  /** Names for suggestions. */
  readonly names: (session: Session) => readonly string[] | Promise<readonly string[]>
}

export const reply = (text: string): CommandReply => ({ kind: 'text', text })

/** Shows or pauses a goal, heartbeat or loop: everybody in the conversation may. */
export const isFreeAction = (text: string): boolean => ['', 'show', 'status', 'pause'].includes(text.toLowerCase())

/** Answers with a text, and in a chat with a button for each value of the command. */
export const replyWithPicks = (text: string, name: CommandName, values: readonly string[]): CommandReply => ({
  kind: 'text',
  text,
  picks: values.map((value) => ({ label: value, command: `/${name} ${value}` })),
})

const picksPerPage = 8

/** A page of long lists. `page` counts from 1; `command` shows another page with its number behind it. */
export function pageOf(picks: readonly CommandChoice[], page: number, command: string): readonly CommandChoice[] {
  const from = (Math.max(1, page) - 1) * picksPerPage
  const turn = (to: number, label: string) => ({ label, command: `${command} ${to}` })
  return [
    ...picks.slice(from, from + picksPerPage),
    ...(from > 0 ? [turn(page - 1, '« Back')] : []),
    ...(picks.length > from + picksPerPage ? [turn(page + 1, 'More »')] : []),
  ]
}

/** Explains how a command is used, after a wrong argument. */
export function usageReply(name: CommandName): CommandReply {
  const command = findCommand(name)
  return reply(`Usage: ${command ? renderUsage(command) : `/${name}`}`)
}
