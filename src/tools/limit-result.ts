/**
 * Limits the size of results by the context window. A longer text goes to a file. The results of a batch share one
 * limit, for which the largest texts are stored first.
 */

import type { Marks } from '#agent/core/marks.ts'
import type { ToolMessage } from '#agent/core/message.ts'

/** Characters of one text, and of all texts of a batch. */
export type ResultLimits = { readonly perResult: number; readonly perBatch: number }

const charsPerToken = 4
const resultShare = 0.15
const batchShare = 0.3
/** A smaller limit would leave too little of most results. */
const minLimits: ResultLimits = { perResult: 8_000, perBatch: 16_000 }
export const maxLimits: ResultLimits = { perResult: 100_000, perBatch: 200_000 }

/** Returns the limits for a model. An unknown window gets the highest ones. */
export function getResultLimits(contextWindow = Infinity): ResultLimits {
  const shareOf = (share: number, limit: keyof ResultLimits) =>
    Math.min(maxLimits[limit], Math.max(minLimits[limit], Math.floor(contextWindow * share * charsPerToken)))
  return { perResult: shareOf(resultShare, 'perResult'), perBatch: shareOf(batchShare, 'perBatch') }
}

const previewChars = 1_500
/** A shorter text is not stored: its preview would be as long. */
const minStoredChars = 3_000

/** Shortens one text of the result of a call. `marks`: of the result. */
export type Shorten = (callId: string, text: string, marks?: Marks) => Promise<string> | string

export type BatchOptions = {
  /** Results that the batch has already. They are shortened when a later one makes the batch too long. */
  readonly earlier?: readonly ToolMessage[]
  readonly limits: ResultLimits
  readonly shorten: Shorten
}

/** One text part of the result of a call. */
type ResultPart = { readonly callId: string; readonly part: number; readonly text: string }

/** The result that was added, and texts of earlier ones that have become shorter. */
export type Bounded = { readonly message: ToolMessage; readonly shortened: readonly ResultPart[] }

export type ResultBatch = {
  readonly add: (message: ToolMessage, maxChars?: number) => Promise<Bounded>
  readonly messages: () => readonly ToolMessage[]
}

export function openBatch({ earlier = [], limits, shorten }: BatchOptions): ResultBatch {
  const messages = new Map(earlier.map((message) => [message.callId, message]))
  const done = new Set<string>()
  const shortenAt = async ({ callId, part, text }: ResultPart) => {
    const shorter = await shorten(callId, text, messages.get(callId)?.marks)
    const message = messages.get(callId)
    if (!message) return undefined
    const content = message.content.map((one, i) =>
      i === part && one.type === 'text' ? { ...one, text: shorter } : one,
    )
    messages.set(callId, { ...message, content })
    done.add(`${callId} ${part}`)
    return { callId, part, text: shorter }
  }
  const isOpen = ({ callId, part }: ResultPart) => !done.has(`${callId} ${part}`)
  return {
    add: async (message, maxChars = limits.perResult) => {
      const shortened: ResultPart[] = []
      messages.set(message.callId, message)
      for (const place of listTexts([message])) if (place.text.length > maxChars) await shortenAt(place)
      for (;;) {
        const texts = listTexts([...messages.values()])
        if (sumChars(texts) <= limits.perBatch) break
        const largest = findLargest(texts.filter(isOpen))
        if (!largest || largest.text.length <= minStoredChars) break
        const shorter = await shortenAt(largest)
        if (shorter && shorter.callId !== message.callId) shortened.push(shorter)
      }
      return { message: messages.get(message.callId) ?? message, shortened }
    },
    messages: () => [...messages.values()],
  }
}

const listTexts = (messages: readonly ToolMessage[]): readonly ResultPart[] =>
  messages.flatMap(({ callId, content }) =>
    content.flatMap((one, part) => (one.type === 'text' ? [{ callId, part, text: one.text }] : [])),
  )

const sumChars = (texts: readonly ResultPart[]): number => texts.reduce((sum, { text }) => sum + text.length, 0)

/** The newest of equally long ones, because the others may be stored already. */
const findLargest = (texts: readonly ResultPart[]): ResultPart | undefined =>
  texts.reduce<ResultPart | undefined>(
    (largest, one) => (one.text.length >= (largest?.text.length ?? 0) ? one : largest),
    undefined,
  )

export type Spill = {
  /** Stores a long result, with its marks, and returns its path. */
  readonly spill: (callId: string, text: string, marks?: Marks) => Promise<string>
  /** Reports a defect to the operator. */
  readonly logError: (error: unknown, tool: string) => void
}

/** A text of the result of a call. */
type SpilledText = { readonly callId: string; readonly text: string; readonly marks?: Marks | undefined }

export async function spillText(
  { callId, text, marks }: SpilledText,
  { spill, logError }: Spill,
  { perResult }: ResultLimits = maxLimits,
): Promise<string> {
  const preview = text.slice(0, previewChars)
  try {
    const path = await spill(callId, text, marks)
    return JSON.stringify({ persisted_output: { path, characters: text.length, read_with: 'read_file' }, preview })
  } catch (error) {
    // When the workspace cannot store the text, the model still gets its beginning.
    logError(error, 'spill')
    return JSON.stringify({ truncated: true, characters: text.length, preview: text.slice(0, perResult / 2) })
  }
}

/** Cuts the middle out of a text and says so. For results that no file can hold. */
export function cutMiddle(text: string, maxChars: number): string {
  const half = Math.floor(maxChars / 2)
  return `${text.slice(0, half)}\n[… ${text.length - 2 * half} characters were cut out here …]\n${text.slice(-half)}`
}
