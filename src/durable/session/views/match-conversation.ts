/**
 * Decides whether a conversation that a client sends goes on where a run of this session ended: the client repeats what
 * the run said. Clients drop reasoning and whitespace; without a stream they know only the last text of a part.
 */

import { type AssistantMessage, callsIn, textIn } from '#agent/core/message.ts'
import type { Segment, Turn } from '#agent/core/turn.ts'
import { callPart, createItemId } from '#agent/public-api/responses/item-ids.ts'
import { sessionOfRun } from '#durable/platform/ids.ts'
import { isWaitingForCaller } from '#durable/turn/pending-requests.ts'
import { isLastRun } from './read-session.ts'
import { turnOf } from './segments.ts'
import type { Session } from '../session.ts'

/** The agent's answer to a message as a client repeats it: text without whitespace, and the ids of calls. */
export type ClaimedAnswer = { readonly text: string; readonly callIds: readonly string[] }

/**
 * `last`: the run is the last one of the session, so the session itself can continue. `waiting`: it waits for its caller,
 * and `segment` is its next part. `earlier`: the session has moved on.
 */
export type ConversationMatch =
  | { readonly kind: 'last' | 'earlier' }
  | { readonly kind: 'waiting'; readonly segment: number }

type MatchRequest = { readonly runId: string; readonly segment: number; readonly claimed: ClaimedAnswer }

/** Undefined when the run said something else, was undone or never was. */
export function matchConversation(session: Session, asked: MatchRequest): ConversationMatch | undefined {
  const { runId, segment, claimed } = asked
  const aside = session.journal.asides.find(runId)
  if (aside) return isLastRun(session, runId) && squeeze(aside.text) === claimed.text ? { kind: 'last' } : undefined
  const turn = turnOf(session, runId)
  if (!turn || !session.journal.listRows().some(({ run }) => run === runId)) return undefined
  const { segments = [] } = turn
  const said = listSaid(session, turn, segments[segment - 1])
  if (!claimed.callIds.every((id) => said.callIds.has(id))) return undefined
  if (!isSaid(claimed, said.parts, turn.stopRequested)) return undefined
  if (!isLastRun(session, runId)) return { kind: 'earlier' }
  return isWaitingForCaller(turn.stage) ? { kind: 'waiting', segment: segments.length } : { kind: 'last' }
}

/** A text of the run. `asks`: beginnings of the text by which the client was told what the run waits for after it. */
type SaidPart = { readonly text: string; readonly asks: readonly string[] }

/** Removes whitespace, and the reasoning that some clients put before a text. */
export function squeeze(text: string): string {
  let rest = text.trimStart()
  for (const [open, close] of reasoningMarks) {
    const end = rest.startsWith(open) ? rest.indexOf(close) : -1
    if (end >= 0) rest = rest.slice(end + close.length).trimStart()
  }
  return rest.replace(/\s+/g, '')
}

const reasoningMarks = [
  ['<think>', '</think>'],
  ['<details type="reasoning"', '</details>'],
] as const

/** An answer begins so when it ends with an approval. */
const approvalMarks = ['Waiting for approval:', '1. Waiting for approval:'].map(squeeze)

/** The texts of a run after one of its parts, oldest first. */
export function listSaid(session: Session, turn: Turn, after?: Segment) {
  const ends = new Map((turn.segments ?? []).map((one) => [one.messageSeq, one]))
  // The Responses API has ids of its own, which name the session.
  const sessionId = sessionOfRun(turn.id) ?? session.sessionId
  const callIds = new Set<string>()
  const parts: SaidPart[] = []
  for (const { seq, message } of session.journal.entriesOfRun(turn.id)) {
    if (message.role !== 'assistant' || seq <= (after?.messageSeq ?? 0)) continue
    for (const { id } of callsIn(message)) callIds.add(id).add(createItemId('call', { sessionId, seq }, callPart(id)))
    const part = { text: squeeze(textIn(message)), asks: asksOf(message, ends.get(seq)) }
    if (part.text || part.asks.length) parts.push(part)
  }
  return { parts, callIds }
}

function asksOf(message: AssistantMessage, end: Segment | undefined): readonly string[] {
  const { waitsFor = [] } = end ?? {}
  const questions = waitsFor.includes('question') ? callsIn(message).flatMap(({ input }) => questionOf(input)) : []
  return waitsFor.includes('approval') ? [...approvalMarks, ...questions] : questions
}

function questionOf(input: unknown): string[] {
  const { question } = (input ?? {}) as { readonly question?: unknown }
  return typeof question === 'string' ? [squeeze(question)] : []
}

/**
 * Whether the text consists of the last part and any of the parts before it, in order. It may also end where the run
 * asked the client, and within a part when the run was cut.
 */
function isSaid({ text, callIds }: ClaimedAnswer, parts: readonly SaidPart[], isCut: boolean): boolean {
  if (!text) return callIds.length > 0 || parts.length === 0
  let positions = new Set([0])
  for (const [i, { text: part, asks }] of parts.entries()) {
    const ends = [...positions].filter((from) => text.startsWith(part, from)).map((from) => from + part.length)
    if (asks.some((ask) => ends.some((end) => text.startsWith(ask, end)))) return true
    if (i === parts.length - 1 && ends.includes(text.length)) return true
    if (isCut && [...positions].some((from) => from < text.length && part.startsWith(text.slice(from)))) return true
    positions = new Set([...positions, ...ends])
  }
  // The calls of the client prove that it had the answer, where its texts come from an earlier request.
  return callIds.length > 0 && positions.has(text.length)
}
