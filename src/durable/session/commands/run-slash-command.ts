/**
 * Answers the commands among the messages that are submitted to a session. Every way into a session passes here, so a
 * command means the same in the API, for clients of OpenAI's API and in chats. The answer is stored as a run that is no
 * part of the conversation, so that a repeat of the message finds it.
 */

import type { CommandChoice } from '#agent/core/delivery.ts'
import { findOwnWords } from '#channels/text/describe-forward.ts'
import { type OpeningMessage, textIn, type UserMessage } from '#agent/core/message.ts'
import { isPathName, parseCommand, splitWords } from '#agent/policy/slash-command/parse-command.ts'
import { clock } from '#durable/platform/clock.ts'
import type { ContinueSubmission } from '../intake/continue.ts'
import type { InboundSubmission } from '../intake/inbound.ts'
import type { Intake, Submitted } from '../intake/intake.ts'
import type { RequestSubmission } from '../intake/request.ts'
import type { Session } from '../session.ts'
import { type CommandCall, type CommandFallback, type CommandHandler, type CommandReply, reply } from './command.ts'
import { mayUse, listRights } from './may-use.ts'
import {
  type CommandName,
  type CommandSpec,
  commandSpellings,
  findCommand,
} from '#agent/policy/slash-command/command-table.ts'
import { findNearestName } from '#agent/policy/slash-command/nearest-name.ts'

type WrittenSubmission = RequestSubmission | ContinueSubmission | InboundSubmission

export type CommandOutcome =
  /** The command is answered. */
  | { readonly kind: 'answered'; readonly submitted: Submitted }
  /** Another message takes the place of the command. */
  | { readonly kind: 'replaced'; readonly message: WrittenSubmission }
  /** The intake goes on, with these changes. */
  | { readonly kind: 'goes-on'; readonly change: Partial<Intake> }

/** Answers are shown whole in chats, several messages at most. */
const maxAnswerChars = 20_000

/** Undefined for ordinary messages. Only people and keys send commands. */
function parseSlashCommand(message: WrittenSubmission): CommandCall | undefined {
  const { authority, runId } = message
  const { kind } = authority.principal
  const parsed = kind === 'key' || kind === 'person' ? parseCommand(textOf(message)) : undefined
  if (!parsed) return undefined
  const rights = listRights(message)
  return { authority, runId, ...parsed, words: splitWords(parsed.text), ...(rights && { rights }) }
}

const isWritten = (message: { readonly kind: string }): message is WrittenSubmission =>
  message.kind === 'request' || message.kind === 'continue' || message.kind === 'inbound'

function textOf(command: WrittenSubmission): string {
  // A text that somebody passes on is no part of their command.
  if (command.kind === 'inbound') return findOwnWords(command.text) ?? command.text
  const { message } = command
  return message?.role === 'user' ? textIn(message) : ''
}

/** The text of a person or a key; empty for every other message. */
export const writtenText = (message: { readonly kind: string }): string => (isWritten(message) ? textOf(message) : '')

/**
 * Runs the slash command of a submission whose session is open, or is created by it. Every other message goes on
 * unchanged.
 */
export async function runSlashCommand(
  session: Session,
  message: { readonly kind: string },
  intake: Intake,
): Promise<CommandOutcome> {
  const call = isWritten(message) ? parseSlashCommand(message) : undefined
  if (!isWritten(message) || !call) return { kind: 'goes-on', change: {} }
  if (!session.exists) await createFor(session, intake)
  // The code is loaded first: what a command changes and its answer are one write, if it answers at once.
  const answer = await prepareAnswer(session, call, isOfClient(message))
  if (!session.exists) return { kind: 'goes-on', change: {} }
  const repeated = intake.findOutcome(true)
  if (repeated) return { kind: 'answered', submitted: repeated }
  const answering = answer()
  const given = answering instanceof Promise ? await answering : answering
  if (!given) return { kind: 'goes-on', change: {} }
  // The session may have been deleted, or a repeat of the message answered, during the wait.
  const earlier = session.exists ? intake.findOutcome(true) : undefined
  if (earlier) return { kind: 'answered', submitted: earlier }
  return applyReply(session, { message, intake, given })
}

type CommandInput = { readonly message: WrittenSubmission; readonly intake: Intake; readonly given: CommandReply }

function applyReply(session: Session, { message, intake, given }: CommandInput): CommandOutcome {
  switch (given.kind) {
    case 'text':
      return { kind: 'answered', submitted: storeAnswer(session, { message, intake, ...given }) }
    case 'message':
      return { kind: 'replaced', message: withText(message, given.text, given.mode) }
    case 'turn':
      return { kind: 'goes-on', change: ownTurn(session, { message, intake }, given.compose) }
    case 'decision':
      // The text is a decision or nothing: it never becomes a message.
      return { kind: 'goes-on', change: { compose: () => undefined } }
  }
}

/** A session whose first message is a command has no turn yet. */
async function createFor(session: Session, intake: Intake): Promise<void> {
  await intake.prepare?.()
  if (session.exists || session.turns.isClosing) return
  intake.create?.()
  session.updateMeta({})
  session.turns.arm()
}

type CommandAnswering = {
  readonly message: WrittenSubmission
  readonly intake: Intake
  readonly text: string
  readonly file?: string
  readonly picks?: readonly CommandChoice[]
}

/** Stores the answer in one write with what the command has changed, if the command answered at once. */
function storeAnswer(session: Session, { message, intake, text, file, picks }: CommandAnswering): Submitted {
  const { runId } = message
  const whole = [text, reportFiles(message)].filter(Boolean).join('\n\n')
  const shown = whole.length > maxAnswerChars ? `${whole.slice(0, maxAnswerChars)}…` : whole
  const response = message.kind === 'inbound' ? undefined : message.options.response
  if (session.exists) {
    if (session.journal.isBlank) session.updateMeta({})
    const options = response ? { response } : {}
    session.journal.asides.add({ runId, at: clock.now(), text: shown, after: session.store.lastMessageSeq(), options })
    intake.acknowledge?.(shown, picks)
    if (file !== undefined && message.kind === 'inbound')
      session.chatOutbox.sendFile(file, runId, message.asker.replyHandle)
  }
  return { runId, status: 'ended' }
}

/** A turn of the command's own. It starts only while no other turn is open. */
function ownTurn(
  session: Session,
  { message, intake }: { readonly message: WrittenSubmission; readonly intake: Intake },
  compose: Extract<CommandReply, { kind: 'turn' }>['compose'],
): Partial<Intake> {
  const answer = (text: string) => storeAnswer(session, { message, intake, text })
  return {
    compose: () => {
      const composed = compose()
      intake.acknowledge?.(reportFiles(message))
      // The person who sent the command gets the answer.
      return composed && message.kind === 'inbound'
        ? { ...composed, options: { ...composed.options, asker: message.asker } }
        : composed
    },
    join: () => answer('A turn is running. Send /stop first, or wait.'),
  }
}

/** The message with another text. Images and files stay. */
function withText(message: WrittenSubmission, text: string, mode: RequestSubmission['busyMode']): WrittenSubmission {
  if (message.kind === 'inbound') return { ...message, text, ...(mode && { mode }) }
  const changed: UserMessage = {
    role: 'user',
    content: [{ type: 'text', text }, ...listFiles(message.message)],
  }
  return { ...message, message: changed, ...(mode && { busyMode: mode }) }
}

/** The images and files of a message. */
const listFiles = (message: OpeningMessage | undefined): UserMessage['content'] =>
  message?.role === 'user' ? message.content.filter((part) => part.type === 'image' || part.unread) : []

/** Reports that the files of a command are not read. Empty without files. */
function reportFiles(message: WrittenSubmission): string {
  const count = message.kind === 'inbound' ? (message.media?.length ?? 0) : listFiles(message.message).length
  if (!count) return ''
  return count === 1
    ? 'The attached file was not read, because it came with a command. Send it again without the command.'
    : `The ${count} attached files were not read, because they came with a command. Send them again without the command.`
}

type CommandAnswer = CommandReply | undefined

/** Undefined when the message is no command after all, but begins with a path. */
type Answerer = () => CommandAnswer | Promise<CommandAnswer>

/** Loads the code of the command. The answer itself then begins without a wait. */
async function prepareAnswer(session: Session, call: CommandCall, isForModel: boolean): Promise<Answerer> {
  const { commandHandlers, commandFallbacks } = await import('./run-commands.ts')
  const command = findCommand(call.name)
  if (!command) return () => answerUnknown(session, call, { fallbacks: commandFallbacks, isForModel })
  return () => answerKnown(session, call, { command, run: commandHandlers[command.name] })
}

type KnownCommand = {
  readonly command: CommandSpec & { readonly name: CommandName }
  readonly run: CommandHandler
}

function answerKnown(
  session: Session,
  call: CommandCall,
  { command, run }: KnownCommand,
): CommandAnswer | Promise<CommandAnswer> {
  if (!mayUse(session, command, call)) return refuse(session, command, call)
  if (command.busy === 'refuse' && session.store.hasOpenTurn)
    return reply('A turn is running. Send /stop first, or wait.')
  return run(session, call)
}

/** Clients of OpenAI's API have commands of their own, and models have some (`/no_think`): unknown ones go to the model. */
const isOfClient = (message: WrittenSubmission): boolean =>
  message.kind === 'continue' || (message.kind === 'request' && message.readsParts === true)

type UnknownCommand = { readonly fallbacks: readonly CommandFallback[]; readonly isForModel: boolean }

async function answerUnknown(
  session: Session,
  call: CommandCall,
  { fallbacks, isForModel }: UnknownCommand,
): Promise<CommandAnswer> {
  for (const fallback of fallbacks) {
    const skill = {
      name: call.name,
      usage: '',
      description: '',
      group: 'work',
      scope: fallback.scope,
      busy: 'dispatch',
    } as const
    const found = mayUse(session, skill, call) ? await fallback.find(session, call) : undefined
    if (found) return found
  }
  return isForModel || isPathName(call.name) ? undefined : reply(await renderUnknown(session, call, fallbacks))
}

function refuse({ meta }: Session, { name, scope, isForChats }: CommandSpec, { authority }: CommandCall): CommandReply {
  if (isForChats && !meta.origin) return reply(`/${name} has a meaning in the chats of a channel alone.`)
  const { principal } = authority
  if (principal.kind !== 'person') return reply(`You may not use /${name}: it needs the scope \`${scope}\`.`)
  return reply(
    `You may not use /${name}: it is for admins here. The owner of this bot makes you one by adding your id, ${principal.person}, to the setting admins of the channel.`,
  )
}

async function renderUnknown(
  session: Session,
  { name }: CommandCall,
  fallbacks: readonly CommandFallback[],
): Promise<string> {
  const more = await Promise.all(fallbacks.map(({ names }) => names(session)))
  const nearest = findNearestName(name, [...commandSpellings(), ...more.flat()])
  const hint = nearest === undefined ? '' : ` Did you mean /${nearest}?`
  return `There is no command /${name}.${hint} /help lists all. To send this as a message, begin it with //.`
}
