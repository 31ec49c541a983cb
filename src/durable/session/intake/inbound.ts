/**
 * Submits the events of a messaging platform. The key of the event and the message are written in one synchronous
 * stretch: however often and however concurrently the platform delivers an event, it counts once.
 */

import type { ChatAuthor } from '#agent/core/delivery.ts'
import { log } from '#agent/core/log.ts'
import { userText } from '#agent/core/message.ts'
import { renderSpeaker } from '#channels/text/quote-person.ts'
import { groupName } from '#durable/channels/gateway.ts'
import { createArrivals } from '#durable/platform/arrivals.ts'
import { clock } from '#durable/platform/clock.ts'
import type { GroupLine } from '#durable/tenant/channels/chats.ts'
import { isQuestion, pendingRequests } from '#durable/turn/pending-requests.ts'
import { joinOpenTurn } from './join-turn.ts'
import type { Session } from '../session.ts'
import { editHeld, holdMessage } from './hold-message.ts'
import type { InboundCommand } from './inbound-command.ts'
import type { BusyMode, Intake, Submitted } from './intake.ts'
import { noFiles, type ReceivedFiles, receiveFiles, withFiles } from './receive-files.ts'
import { prepareTypedDecisions, type TypedDecisions } from './typed-decision.ts'
import { defaultSettings } from '#agent/core/settings.ts'
import { isResetDue, type ResetPolicy } from '#agent/schedule/session-reset.ts'
import { beginConversation } from '#durable/storage/conversation-span.ts'
import { isUnused } from '../core/self-start-timer.ts'

const arrivals = createArrivals()

export function inboundIntake(session: Session, command: InboundCommand): Intake {
  const { runId, origin, asker, authority, tenant } = command
  let typed: TypedDecisions | undefined
  let context: readonly GroupLine[] = []
  let files = noFiles
  return {
    runId,
    open: async () => {
      if (tenant) await session.tenant.update(tenant)
      else await session.ensureTenant()
      if (session.turns.isClosing) return false
      if (!session.exists && !(await session.load())) {
        // There is no message that could be edited.
        if (command.edits !== undefined) return false
        session.create({ source: origin.platform, origin })
      }
      followMove(session, command)
      if (!isKnown(session, command)) resetIfDue(session, command.reset)
      return session.exists && 'exists'
    },
    findOutcome: (isRecheck) => {
      if (isKnown(session, command)) return { runId, status: 'duplicate' }
      return isRecheck ? undefined : (applyEdit(session, command) ?? holdMessage(session, command))
    },
    compose: () => ({
      message: withFiles(composeMessage(session, command, context), files),
      options: { asker: isVoice(command) ? { ...asker, isVoice: true } : asker, authority },
      startsAfterMs: arrivals.count(clock.now()),
    }),
    prepare: async () => {
      if (session.store.hasOpenTurn) typed = await prepareTypedDecisions(session, authority, userText(command.text))
      context = await readContext(session, command)
      if (command.media) files = await receiveFiles(session, command, command.media)
    },
    join: () => (typed ? decide(session, command, typed) : join(session, command, { context, files })),
    acknowledge: (text) => {
      recordEvent(session, command)
      if (text) sendAnswer(session, command, text)
    },
    refuse: () => {
      recordEvent(session, command)
      sendAnswer(
        session,
        command,
        'A limit of this tenant is reached, so this was not accepted. Please try again later.',
      )
    },
  }
}

/** Answers a message that begins no turn. */
const sendAnswer = (session: Session, { runId, asker: { replyHandle } }: InboundCommand, text: string): void =>
  session.delivery.sendNotice(text, runId, { replyHandle })

const isVoice = ({ media = [] }: InboundCommand): boolean =>
  media.some(({ kind, isQuoted }) => kind === 'voice' && !isQuoted)

/** The platform may have given the chat another id since the last message. */
function followMove(session: Session, { origin }: InboundCommand): void {
  if (session.exists && session.meta.origin && session.meta.origin.chat !== origin.chat) session.updateMeta({ origin })
}

/** The new text of a message counts while the message waits, or while its turn runs. Later it changes nothing. */
function applyEdit(session: Session, command: InboundCommand): Submitted | undefined {
  const { edits, text, runId } = command
  if (edits === undefined) return undefined
  const isRunning = session.store.hasOpenTurn && session.store.current()?.options.asker?.message === edits
  if (!editHeld(session, edits, text) && isRunning) return undefined
  recordEvent(session, command)
  return { runId, status: 'stored' }
}

/** Whether the event, or all messages that it lets go, took effect before. */
function isKnown({ delivery: { inboundEvents } }: Session, { key, releases }: InboundCommand): boolean {
  if (!releases) return inboundEvents.has(key)
  const held = new Set(inboundEvents.held().map((one) => one.key))
  return !releases.some((one) => held.has(one))
}

/** Stored with the session, so that the object finds it after an eviction even without a turn. */
function recordEvent(session: Session, { key, releases }: InboundCommand): void {
  const { inboundEvents } = session.delivery
  if (session.journal.isBlank) session.updateMeta({})
  if (releases) inboundEvents.release(releases)
  else inboundEvents.record(key, clock.now())
}

/**
 * Reads the lines of the group since the last turn. A message that begins a thread goes on with what was said outside of it.
 * Without the tenant's object the turn goes without it.
 */
async function readContext(
  session: Session,
  { origin, authority, asker }: InboundCommand,
): Promise<readonly GroupLine[]> {
  if (!origin.isGroup) return []
  const { thread, ...outside } = origin
  const place = thread !== undefined && asker?.message === thread ? outside : origin
  try {
    return await session.tenantObject().chats.linesSince(authority, groupName(place), session.meta.groupThrough ?? 0)
  } catch (error) {
    log.warn('channel.context_unread', 'What was said in a group cannot be read now.', { error })
    return []
  }
}

/** A session that a group shares names its speakers. */
function lineOf({ origin, name, text, edits }: InboundCommand): string {
  const shown = edits === undefined ? text : `[My message now reads:]\n${text}`
  return origin.isGroup && origin.person === undefined ? renderSpeaker(name, shown) : shown
}

function composeMessage(session: Session, command: InboundCommand, context: readonly GroupLine[]) {
  recordEvent(session, command)
  const line = lineOf(command)
  // Another message may have taken some of the lines meanwhile.
  const { groupThrough = 0 } = session.meta
  const fresh = context.filter(({ n }) => n > groupThrough)
  const last = fresh.at(-1)
  if (!last) return userText(line)
  session.updateMeta({ groupThrough: last.n })
  return userText(`[Said in the group before, not to you:]\n${fresh.map((one) => one.line).join('\n')}\n\n${line}`)
}

/** Applies a decision that was typed into the chat. It is no part of the conversation. */
function decide(session: Session, command: InboundCommand, { mayDecide, decisions }: TypedDecisions): Submitted {
  const { runId, mode, asker, authority } = command
  recordEvent(session, command)
  if (!mayDecide) sendAnswer(session, command, 'Only who asked, or an admin, may answer this.')
  else if (!decisions.length) sendAnswer(session, command, 'This cannot be decided so. Press a button instead.')
  else session.delivery.answerAwaited(asker.replyHandle, 'Taken.')
  return joinOpenTurn(session, { runId, mode, options: { asker, authority }, answers: { decisions } }, undefined)
}

type Prepared = { readonly context: readonly GroupLine[]; readonly files: ReceivedFiles }

function join(session: Session, command: InboundCommand, { context, files }: Prepared): Submitted {
  const { asker, authority, runId } = command
  const message = withFiles(composeMessage(session, command, context), files)
  // While a question is open, a message of the person is its answer in every busy mode.
  const hasQuestion = pendingRequests(session).some(isQuestion)
  const mode = hasQuestion || command.edits !== undefined ? 'steer' : command.mode
  const options = { asker, authority }
  const outcome = joinOpenTurn(session, { runId, mode, options, maxWaiting: command.maxQueued }, message)
  if (outcome.status === 'too-large')
    sendAnswer(
      session,
      command,
      'Too many messages wait already, so this was not accepted. Please send it again later.',
    )
  else confirmJoined(session, command, { mode, hasQuestion })
  return outcome
}

const busyNotices: Readonly<Record<BusyMode, string>> = {
  queue: 'Noted: this comes after the turn that runs. /stop ends that turn, /status shows what it does.',
  steer: 'Noted: the turn that runs reads this with its next step. /stop ends it.',
  interrupt: 'Noted: the turn that runs goes on with this. /stop ends it.',
}
/** A confirmation comes at most so often. */
const noticeIntervalMs = 30_000

type JoinedAs = { readonly mode: BusyMode; readonly hasQuestion: boolean }

function confirmJoined(session: Session, command: InboundCommand, { mode, hasQuestion }: JoinedAs): void {
  const { asker, hasBusyNotice } = command
  // A queued message has a turn of its own, whose answer is awaited.
  if (asker.replyHandle?.isAwaited && mode !== 'queue')
    session.delivery.answerAwaited(asker.replyHandle, hasQuestion ? 'Noted: this answers it.' : busyNotices[mode])
  else if (hasBusyNotice && !hasQuestion) confirmWaiting(session, asker, mode)
}

function confirmWaiting(session: Session, { replyHandle }: ChatAuthor, mode: BusyMode): void {
  const now = clock.now()
  if (now - (session.meta.busyNoticeAt ?? 0) < noticeIntervalMs) return
  session.updateMeta({ busyNoticeAt: now })
  session.delivery.sendNotice(busyNotices[mode], '', { replyHandle: replyHandle?.isAwaited ? undefined : replyHandle })
}

// Begins a new conversation in a chat when the settings say so. It is looked at with the next message, so that a
// silent chat costs nothing.

const notice =
  'A new conversation begins, because the earlier one has ended by the settings of this chat. It stays in the history.'

/** `own`: the policy of the channel, which counts before that of the tenant. Files, the goal, the heartbeat and the loop stay. Nothing is reset while the session works. */
function resetIfDue(session: Session, own?: ResetPolicy): void {
  const { meta, store, settings, toolRuntime } = session
  const policy = own ?? settings.session_reset ?? {}
  const isEmpty = store.lastMessageSeq() <= (meta.earlierThrough ?? 0)
  const isWorking = !isUnused(session) || meta.goal?.state.at === 'active' || meta.goal?.state.at === 'waiting'
  if (isEmpty || isWorking) return
  const isBusy = toolRuntime.processes.list().some(({ state }) => state.at === 'running')
  const zone = settings.timezone ?? defaultSettings.timezone
  if (!isResetDue(policy, { lastActivityAt: session.record().updatedAt, now: clock.now(), zone, isBusy })) return
  session.updateMeta({
    title: null,
    grants: [],
    todos: [],
    prompt: undefined,
    promptRecord: undefined,
    ...beginConversation(meta, { lastSeq: store.lastMessageSeq(), now: clock.now() }),
  })
  store.dropContext()
  session.delivery.sendNotice(notice)
}
