/**
 * A session has one conversation after another. The current one is everything behind the last `/new`, and the parts of
 * an earlier one that was resumed. Only these messages reach a model.
 */

/** Messages by their seqs, both included. */
export type MessageSpan = { readonly from: number; readonly through: number }

/** A conversation that is not the current one. */
export type EarlierConversation = {
  readonly title: string | null
  readonly spans: readonly MessageSpan[]
  /** When it was left, in milliseconds since 1970. */
  readonly leftAt: number
}

/** The fields of a session's metadata that tell which messages belong to the current conversation. */
export type Conversation = {
  /** Messages up to this seq belong to earlier conversations: models do not get them. */
  readonly earlierThrough?: number | undefined
  /** Earlier messages that belong to the current conversation, because it was resumed. */
  readonly resumed?: readonly MessageSpan[] | undefined
}

/** The conversations of a session. */
export type Conversations = Conversation & {
  /** The one that was left last first. */
  readonly conversations?: readonly EarlierConversation[] | undefined
  /** The next turn begins a new conversation, or goes on with an earlier one. */
  readonly startsAnew?: true | NextConversation | undefined
}

const isWithin =
  (seq: number) =>
  ({ from, through }: MessageSpan): boolean =>
    from <= seq && seq <= through

/** Whether a message, or the row that begins with it, belongs to the current conversation. */
export const isCurrent = ({ earlierThrough = 0, resumed = [] }: Conversation, seq: number): boolean =>
  seq > earlierThrough || resumed.some(isWithin(seq))

/** No message before this seq belongs to the current conversation. */
export const firstCurrent = ({ earlierThrough = 0, resumed = [] }: Conversation): number =>
  Math.min(earlierThrough + 1, ...resumed.map(({ from }) => from))

const maxConversations = 50

/** The conversation that the next turn begins, because a turn was open when it was asked for. */
export type NextConversation = { readonly leftTitle: string | null; readonly spans: readonly MessageSpan[] }

type Titled = Conversations & { readonly title: string | null }
type SpanPosition = { readonly lastSeq: number; readonly now: number }

/** Leaves the current conversation behind its last message. The next one is new, or goes on after `spans`. */
export function beginConversation(
  meta: Titled,
  { lastSeq, now }: SpanPosition,
  next: NextConversation = nextOf(meta),
): Conversations {
  const { earlierThrough = 0, resumed = [], conversations = [] } = meta
  const own = lastSeq > earlierThrough ? [{ from: earlierThrough + 1, through: lastSeq }] : []
  const left = [...resumed, ...own]
  const earlier = conversations.filter(({ spans }) => !isSame(spans, next.spans))
  return {
    // An empty conversation is not kept.
    conversations: (left.length ? [{ title: next.leftTitle, spans: left, leftAt: now }, ...earlier] : earlier).slice(
      0,
      maxConversations,
    ),
    earlierThrough: lastSeq,
    startsAnew: undefined,
    resumed: next.spans.length ? next.spans : undefined,
  }
}

const nextOf = ({ startsAnew, title }: Titled): NextConversation =>
  startsAnew && startsAnew !== true ? startsAnew : { leftTitle: title, spans: [] }

const isSame = (one: readonly MessageSpan[], other: readonly MessageSpan[]): boolean =>
  JSON.stringify(one) === JSON.stringify(other)
