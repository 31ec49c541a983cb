/**
 * Submits the events of a messaging platform. The key of the event and the message are written in one synchronous
 * stretch: however often and however concurrently the platform delivers an event, it counts once.
 */

import { allMarks, foreignMarks, joinMarks } from '#agent/core/marks.ts'
import { combineAuthorities, joinEarlier, type TurnAuthority } from '#agent/core/permission/contribution.ts'
import type { ChatAuthor, ChatOrigin, CommandChoice } from '#agent/core/delivery.ts'
import type { MediaReference } from '#agent/core/media/media-reference.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { log } from '#agent/core/log.ts'
import { type ImagePart, type TextPart, type UserMessage, userText } from '#agent/core/message.ts'
import { findOwnWords } from '#channels/text/describe-forward.ts'
import { escapeName, renderSpeaker } from '#channels/text/quote-person.ts'
import { type ChatCommands, groupName } from '#durable/channels/gateway.ts'
import { createArrivals } from '#durable/platform/arrivals.ts'
import { clock } from '#durable/platform/clock.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import type { GroupLine } from '#durable/tenant/channels/chats.ts'
import { isQuestion, pendingRequests } from '#durable/turn/pending-requests.ts'
import { leastAuthority } from '#durable/turn/turn-authority.ts'
import { joinOpenTurn } from './join-turn.ts'
import type { Session } from '../session.ts'
import { editHeld, holdMessage } from './hold-message.ts'
import type { BusyMode, Intake, Submitted } from './intake.ts'
import { prepareSlashDecisions, readNumber, type SlashDecisions } from './slash-decision.ts'
import { defaultSettings } from '#agent/core/settings.ts'
import { isResetDue, type ResetPolicy } from '#agent/schedule/session-reset.ts'
import { beginConversation } from '#durable/storage/conversation-span.ts'
import { isUnused } from '../core/self-start-timer.ts'
import type { Background, FetchedMedia } from '#channels/channel.ts'
import type { FileContents } from './file-contents.ts'
import { pathOfFile } from './incoming-files.ts'

/** The message of a person in a chat, as the worker submits it to a session. */
export type InboundSubmission = {
  readonly kind: 'inbound'
  /** That of the person who wrote the message. */
  readonly authority: Authority
  /** The same for every delivery of the same event. */
  readonly key: string
  /** The id of the run that the event starts: also the same for every delivery. */
  readonly runId: string
  readonly origin: ChatOrigin
  readonly asker: ChatAuthor
  /** The display name of the sender. */
  readonly name: string
  readonly text: string
  readonly mode: BusyMode
  /** The limits of the person's commands. Absent: the scopes alone. */
  readonly commands?: ChatCommands
  /** Messages within this time are one message. Absent or 0: never. */
  readonly burstMs?: number
  /** A message that waits behind a turn is confirmed. */
  readonly hasBusyNotice?: boolean
  /** So many messages may wait behind a turn. Absent: as many as the session keeps. */
  readonly maxQueued?: number
  /** The project that the channel gives its chats. */
  readonly projectId?: string
  /** When the chat begins a new conversation by itself. Absent: as the tenant has set it. */
  readonly reset?: ResetPolicy
  /** Others have written it to the asker, or a program, which may repeat what others say. */
  readonly isForeign?: true
  /** The platform has no buttons: choices are listed by number, and a number alone stands for its choice. */
  readonly isNumbered?: true
  /** Files of the message, which the session reads before its turn. */
  readonly media?: readonly MediaReference[]
  readonly background?: readonly Background[]
  /** Messages with the same id follow each other and are one. */
  readonly albumId?: string
  /** The message is the new text of this earlier one. */
  readonly edits?: string
  /** The keys of held messages that this one joins. */
  readonly releases?: readonly string[]
  /** Absent for messages that were held. */
  readonly tenant?: TenantSnapshot
}

const arrivals = createArrivals()

export function inboundIntake(session: Session, received: InboundSubmission): Intake {
  let submission = received
  const { runId, origin, asker, authority, tenant } = submission
  let typed: SlashDecisions | undefined
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
        if (submission.edits !== undefined) return false
        session.create({ source: origin.platform, origin }, authority)
      }
      followMove(session, submission)
      resetIfDue(session, submission)
      return session.exists && 'exists'
    },
    findOutcome: (isRecheck) => {
      if (isKnown(session, submission)) return { runId, status: 'duplicate' }
      return isRecheck ? undefined : (applyEdit(session, submission) ?? holdMessage(session, submission))
    },
    compose: () => {
      // Composing the message counts the lines as read.
      const owned = joinLines(session, authority, context)
      return {
        message: withFiles(composeMessage(session, submission, context), files),
        options: { asker: isVoice(submission) ? { ...asker, isVoice: true } : asker, authority: owned },
        startsAfterMs: arrivals.count(clock.now()),
      }
    },
    prepare: async () => {
      if (session.meta.channelProject !== submission.projectId)
        await (await import('../core/project.ts')).followChannel(session, authority, submission.projectId)
      if (session.store.hasOpenTurn) {
        submission = { ...submission, text: readNumber(session, submission) ?? submission.text }
        typed = await prepareSlashDecisions(session, authority, userText(submission.text))
      }
      context = await readContext(session, submission)
      if (submission.media) files = await receiveFiles(session, submission, submission.media)
    },
    join: () => (typed ? decide(session, submission, typed) : join(session, submission, { context, files })),
    acknowledge: (text, picks) => {
      recordEvent(session, submission)
      if (text) sendAnswer(session, submission, text, picks)
    },
    refuse: () => {
      recordEvent(session, submission)
      sendAnswer(
        session,
        submission,
        'A limit of this tenant is reached, so this was not accepted. Please try again later.',
      )
    },
  }
}

/** Answers a message that begins no turn. */
const sendAnswer = (
  session: Session,
  { runId, isNumbered, asker: { replyHandle, person } }: InboundSubmission,
  text: string,
  picks: readonly CommandChoice[] = [],
): void =>
  session.chatOutbox.sendNotice(text, runId, {
    replyHandle,
    ...(!isNumbered && picks.length > 0 && { picks: { of: picks, person } }),
  })

const isVoice = ({ media = [] }: InboundSubmission): boolean =>
  media.some(({ kind, isQuoted }) => kind === 'voice' && !isQuoted)

/** The platform may have given the chat another id since the last message. */
function followMove(session: Session, { origin }: InboundSubmission): void {
  const { origin: known } = session.exists ? session.meta : {}
  const isMoved = known && known.chat !== origin.chat
  const isRelinked = known && origin.onBehalf && JSON.stringify(known.onBehalf) !== JSON.stringify(origin.onBehalf)
  if (isMoved || isRelinked) session.updateMeta({ origin })
}

/** The new text of a message counts while the message waits, or while its turn runs. Later it changes nothing. */
function applyEdit(session: Session, submission: InboundSubmission): Submitted | undefined {
  const { edits, text, runId, authority: by } = submission
  if (edits === undefined) return undefined
  const isRunning = session.store.hasOpenTurn && session.store.current()?.options.asker?.message === edits
  if (!editHeld(session, edits, { text, by }) && isRunning) return undefined
  recordEvent(session, submission)
  return { runId, status: 'stored' }
}

/** Whether the event, or all messages that it lets go, took effect before. */
function isKnown({ chatOutbox: { inboundEvents } }: Session, { key, releases }: InboundSubmission): boolean {
  if (!releases) return inboundEvents.has(key)
  const held = new Set(inboundEvents.held().map((one) => one.key))
  return !releases.some((one) => held.has(one))
}

/** Stored with the session, so that the object finds it after an eviction even without a turn. */
function recordEvent(session: Session, { key, releases, asker: { replyHandle } }: InboundSubmission): void {
  const { inboundEvents } = session.chatOutbox
  // On a platform that sends nothing without a handle, that of the last message serves when an earlier one is used up.
  const isNeeded = replyHandle?.maxUses !== undefined
  if (isNeeded || session.journal.isBlank) session.updateMeta(isNeeded ? { lastHandle: replyHandle } : {})
  if (releases) inboundEvents.release(releases)
  else inboundEvents.record(key, clock.now())
}

/**
 * Reads the lines of the group since the last turn. A message that begins a thread goes on with what was said outside of it.
 * Without the tenant's object the turn goes without it.
 */
async function readContext(
  session: Session,
  { origin, authority, asker }: InboundSubmission,
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
function renderLine({ origin, name, text, edits }: InboundSubmission): string {
  const shown = edits === undefined ? text : `[My message now reads:]\n${text}`
  return origin.isGroup && origin.person === undefined ? renderSpeaker(name, shown) : shown
}

const isFresh =
  ({ meta: { groupThrough = 0 } }: Session) =>
  ({ n }: GroupLine): boolean =>
    n > groupThrough

/** Narrows the authority by everybody who has written a line that the message brings along. */
function joinLines(session: Session, authority: Authority, context: readonly GroupLine[]): TurnAuthority {
  const { scopes, channel } = leastAuthority(session)
  const unknown = [{ scopes, ...(channel && { channel }) }]
  const rights = context.filter(isFresh(session)).flatMap((line) => line.rights ?? unknown)
  return joinEarlier(combineAuthorities([authority]), rights)
}

const maxBackgroundChars = 20_000

/** Adds what the message is about. Others may have written it, so it stands apart from what the person has typed. */
function withBackground(
  { store, meta }: Session,
  message: UserMessage,
  background: readonly Background[] = [],
): UserMessage {
  const isBegun = store.lastMessageSeq() > (meta.earlierThrough ?? 0)
  const shown = background.filter(({ isOfChat }) => !isOfChat || !isBegun).map(({ text }) => text)
  if (!shown.length) return message
  const text = shown.join('\n\n').slice(0, maxBackgroundChars).replace(/^/gm, '  ')
  return {
    ...message,
    content: [...message.content, { type: 'text', text: `\n[What this is about, not said to you:]\n${text}` }],
    marks: joinMarks(message.marks, foreignMarks),
    ...(!message.marks && { startsTyped: true as const }),
  }
}

const composeMessage = (session: Session, submission: InboundSubmission, context: readonly GroupLine[]): UserMessage =>
  withBackground(session, composeText(session, submission, context), submission.background)

function composeText(session: Session, submission: InboundSubmission, context: readonly GroupLine[]): UserMessage {
  recordEvent(session, submission)
  const line = renderLine(submission)
  // Another message may have taken some of the lines meanwhile.
  const fresh = context.filter(isFresh(session))
  const last = fresh.at(-1)
  const own = submission.isForeign ? '' : findOwnWords(submission.text)
  if (!last && own === undefined) return userText(line)
  if (last) session.updateMeta({ groupThrough: last.n })
  const said = last && `[Said in the group before, not to you:]\n${fresh.map((one) => one.line).join('\n')}\n\n`
  return { ...userText(`${said ?? ''}${line}`, undefined, foreignMarks), typed: own ?? submission.text }
}

/** Applies a decision that was typed into the chat. It is no part of the conversation. */
function decide(session: Session, submission: InboundSubmission, { mayDecide, decisions }: SlashDecisions): Submitted {
  const { runId, mode, asker, authority } = submission
  recordEvent(session, submission)
  if (!mayDecide) sendAnswer(session, submission, 'Only who asked, or an admin, may answer this.')
  else if (!decisions.length) sendAnswer(session, submission, 'This cannot be decided so. Press a button instead.')
  else session.chatOutbox.answerAwaited(asker.replyHandle, 'Taken.')
  const options = { asker, authority: combineAuthorities([authority]) }
  return joinOpenTurn(session, { runId, mode, options, answers: { decisions } }, undefined)
}

type PreparedInbound = { readonly context: readonly GroupLine[]; readonly files: ReceivedFiles }

function join(session: Session, submission: InboundSubmission, { context, files }: PreparedInbound): Submitted {
  const { asker, authority, runId } = submission
  const options = { asker, authority: joinLines(session, authority, context) }
  const message = withFiles(composeMessage(session, submission, context), files)
  // While a question is open, a message of the person is its answer in every busy mode.
  const hasQuestion = pendingRequests(session).some(isQuestion)
  const chosen = session.meta.busyMode ?? submission.mode
  const joined = hasQuestion || submission.edits !== undefined ? 'steer' : chosen
  // The question is for the person, not for others who write to them.
  const mode = hasQuestion && submission.isForeign ? 'queue' : joined
  const outcome = joinOpenTurn(session, { runId, mode, options, maxWaiting: submission.maxQueued }, message)
  if (outcome.status === 'too-large')
    sendAnswer(
      session,
      submission,
      'Too many messages wait already, so this was not accepted. Please send it again later.',
    )
  else confirmJoined(session, submission, { mode, hasQuestion })
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

function confirmJoined(session: Session, submission: InboundSubmission, { mode, hasQuestion }: JoinedAs): void {
  const { asker, hasBusyNotice } = submission
  // A queued message has a turn of its own, whose answer is awaited.
  if (asker.replyHandle?.isAwaited && mode !== 'queue')
    session.chatOutbox.answerAwaited(asker.replyHandle, hasQuestion ? 'Noted: this answers it.' : busyNotices[mode])
  // The answer needs the handle.
  else if (hasBusyNotice && !hasQuestion && asker.replyHandle?.maxUses === undefined)
    confirmWaiting(session, asker, mode)
}

function confirmWaiting(session: Session, { replyHandle }: ChatAuthor, mode: BusyMode): void {
  const now = clock.now()
  if (now - (session.meta.busyNoticeAt ?? 0) < noticeIntervalMs) return
  session.updateMeta({ busyNoticeAt: now })
  session.chatOutbox.sendNotice(busyNotices[mode], '', {
    replyHandle: replyHandle?.isAwaited ? undefined : replyHandle,
  })
}

// Begins a new conversation in a chat when the settings say so. It is looked at with the next message, so that a
// silent chat costs nothing.

const notice =
  'A new conversation begins, because the earlier one has ended by the settings of this chat. It stays in the history.'

/** Files, the goal, the heartbeat and the loop stay. */
function resetIfDue(session: Session, submission: InboundSubmission): void {
  if (!isConversationOver(session, submission.reset) || isKnown(session, submission)) return
  const { meta, store } = session
  session.updateMeta({
    title: null,
    grants: [],
    todos: [],
    prompt: undefined,
    promptRecord: undefined,
    ...beginConversation(meta, { lastSeq: store.lastMessageSeq(), now: clock.now() }),
  })
  store.dropContext()
  session.chatOutbox.sendNotice(notice)
}

/** `own`: the policy of the channel, which counts before that of the tenant. Nothing is over while the session works. */
function isConversationOver(session: Session, own: ResetPolicy | undefined): boolean {
  const { meta, store, settings, toolRuntime } = session
  const policy = own ?? settings.session_reset ?? {}
  const isEmpty = store.lastMessageSeq() <= (meta.earlierThrough ?? 0)
  const isWorking = !isUnused(session) || meta.goal?.state.at === 'active' || meta.goal?.state.at === 'waiting'
  if (isEmpty || isWorking) return false
  const isBusy = toolRuntime.processes.list().some(({ state }) => state.at === 'running')
  const zone = settings.timezone ?? defaultSettings.timezone
  return isResetDue(policy, { lastActivityAt: session.record().updatedAt, now: clock.now(), zone, isBusy })
}

type ReceivedFiles = {
  readonly parts: readonly (TextPart | ImagePart)[]
  /** Somebody else may have written a file. A voice message of the sender is their own. */
  readonly isForeign: boolean
}

/**
 * Reads the files of a message of a chat into the workspace before its turn. Images also become a part of the message. What
 * documents contain stands in it up to a budget, and so does what was said in a recording. A file that cannot be read
 * leaves a note.
 */
const noFiles: ReceivedFiles = { parts: [], isForeign: false }

const maxFiles = 20

const withFiles = (message: UserMessage, { parts, isForeign }: ReceivedFiles): UserMessage =>
  parts.length
    ? {
        ...message,
        content: [...message.content, ...parts.filter(isText), ...parts.filter((part) => !isText(part))],
        ...(isForeign && { marks: allMarks, ...(!message.marks && { startsTyped: true as const }) }),
      }
    : message

async function receiveFiles(
  session: Session,
  { origin, runId }: InboundSubmission,
  media: readonly MediaReference[],
): Promise<ReceivedFiles> {
  const { FileContents } = await import('./file-contents.ts')
  const contents = new FileContents(session, session.chatOutbox.media.blobs)
  const parts: (TextPart | ImagePart)[] = []
  const addNote = (text: string) => void parts.push({ type: 'text', text })
  for (const [n, reference] of media.slice(0, maxFiles).entries()) {
    const fetched = await session.chatOutbox.media.fetch(origin, reference)
    const file = fetched.kind === 'fetched' ? describeFile(contents, reference, fetched) : undefined
    if (!file) {
      addNote(reportUnread(session, reference, fetched))
      continue
    }
    const path = pathOfFile(runId, file, n)
    if (isOfOthers(reference)) session.toolRuntime.fileMarks.set(session.toolRuntime.backend.resolve(path), allMarks)
    const unwritten = await contents.write(path, file.bytes)
    const said = reference.kind === 'voice' ? await renderTranscript(session, file) : ''
    addNote(
      `\n[${reference.isQuoted ? 'File of the message replied to' : 'Attached file'}: ${path} (${file.mediaType})]${said}`,
    )
    if (!said) parts.push(await contents.render({ ...file, path }))
    if (unwritten) parts.push(unwritten)
  }
  if (media.length > maxFiles) addNote(`\n[${media.length - maxFiles} more files were left out]`)
  return { parts, isForeign: media.some(isOfOthers) }
}

const isText = (part: TextPart | ImagePart): boolean => part.type === 'text'

const isOfOthers = ({ kind, isQuoted }: MediaReference): boolean => kind !== 'voice' || isQuoted === true

type ReceivedFile = { readonly name: string; readonly mediaType: string; readonly bytes: Uint8Array<ArrayBuffer> }

const extensions: Readonly<Record<MediaReference['kind'], string>> = {
  image: 'image.jpg',
  voice: 'voice.ogg',
  audio: 'audio.mp3',
  video: 'video.mp4',
  document: 'file',
}

/** The type of images is that of their bytes: platforms and people name others. */
function describeFile(
  contents: FileContents,
  { kind, name, mime }: MediaReference,
  fetched: Extract<FetchedMedia, { kind: 'fetched' }>,
): ReceivedFile {
  const mediaType = contents.typeOf(fetched.bytes, fetched.mime ?? mime ?? 'application/octet-stream')
  return {
    name: name ?? fetched.name ?? extensions[kind],
    mediaType: /^[\w.+-]{1,60}\/[\w.+-]{1,80}$/.test(mediaType) ? mediaType : 'application/octet-stream',
    bytes: fetched.bytes,
  }
}

/** Informs the person too. The text of the message counts in any case. */
function reportUnread(session: Session, { kind, name }: MediaReference, fetched: FetchedMedia): string {
  const shown = name === undefined ? `the ${kind}` : `the ${kind} ${escapeName(name)}`
  const detail = fetched.kind === 'failed' ? fetched.detail : 'it is empty'
  session.chatOutbox.sendNotice(`I could not read ${shown}: ${detail}. I go on with the text alone.`)
  return `\n[The person sent ${shown}, which could not be read: ${detail}]`
}

async function renderTranscript({ toolRuntime }: Session, { bytes, mediaType }: ReceivedFile): Promise<string> {
  const said = await toolRuntime.paidMedia.transcribe({ bytes, mime: mediaType })
  if (said.kind === 'text') return said.text.trim() ? `\n[Said in it:]\n${said.text}` : '\n[Nothing is said in it.]'
  return said.reason === 'not_configured'
    ? '\n[What was said cannot be transcribed here.]'
    : `\n[What was said could not be transcribed: ${said.error}]`
}
