/**
 * Parses the webhooks of GitHub: issues, pull requests, their comments and reviews. The signature does not cover the
 * header that names the event, so the body tells what it is.
 */

import type { Background, BotAccount, InboundEvent } from '../channel.ts'
import { pick, pickText } from '../kit/pick.ts'

type MessageEvent = Extract<InboundEvent, { kind: 'message' | 'edit' }>
type Said = Pick<MessageEvent, 'key' | 'messageId' | 'text' | 'mentions'> & {
  readonly isEdit?: boolean
  readonly background?: readonly Background[]
  /** The text is that of the issue itself. */
  readonly isSubject?: true
}

/** `own`: the account of the agent, whose own comments are not read. */
export function parseEvent(body: unknown, own: BotAccount | undefined): InboundEvent | undefined {
  const subject = pick(body, 'pull_request') ?? pick(body, 'issue')
  const source = parseSource(body, subject)
  if (!source || source.sender.id === own?.id) return undefined
  const said = parseSaid(body, subject, own)
  if (!said?.text.trim()) return undefined
  const { isEdit, isSubject, background = [], ...message } = said
  return {
    kind: isEdit ? 'edit' : 'message',
    ...source,
    ...message,
    media: [],
    background: [{ text: describeSubject(body, subject, isSubject), isOfChat: true }, ...background],
  }
}

function parseSource(body: unknown, subject: unknown) {
  const chat = pickText(body, 'repository', 'full_name')?.toLowerCase()
  const thread = pickText(subject, 'number')
  const name = pickText(body, 'sender', 'login')
  if (chat === undefined || thread === undefined || name === undefined) return undefined
  const isBot = pickText(body, 'sender', 'type') === 'Bot'
  const sender = { id: name.toLowerCase(), name, ...(isBot && { isBot: true as const }) }
  return { address: { chat, thread }, isGroup: true, isPublic: true, sender } as const
}

function parseSaid(body: unknown, subject: unknown, own: BotAccount | undefined): Said | undefined {
  if (pick(body, 'comment') !== undefined) return parseComment(body)
  if (pick(body, 'review') !== undefined) return parseReview(body)
  return parseSubject(body, subject, own)
}

/** Somebody else may change a comment: its author has not said that. */
function parseComment(body: unknown): Said | undefined {
  const comment = pick(body, 'comment')
  const [action, id] = [pickText(body, 'action'), pickText(comment, 'id')]
  const isEdit = action === 'edited'
  const isOwn = pickText(comment, 'user', 'login') === pickText(body, 'sender', 'login')
  if (id === undefined || !(action === 'created' || (isEdit && isOwn))) return undefined
  const text = pickText(comment, 'body') ?? ''
  const lines = pickText(comment, 'diff_hunk')
  // Answers go to the first comment of the lines.
  const root = pickText(comment, 'in_reply_to_id') ?? id
  return {
    key: `${lines === undefined ? 'c' : 'r'}${id}${isEdit ? `:${pickText(comment, 'updated_at')}` : ''}`,
    messageId: lines === undefined ? `c${id}` : `r${root}-${id}`,
    text,
    mentions: findMentions(text),
    isEdit,
    ...(lines !== undefined && { background: [{ text: describeLines(comment, lines) }] }),
  }
}

function parseReview(body: unknown): Said | undefined {
  const review = pick(body, 'review')
  const id = pickText(review, 'id')
  if (pickText(body, 'action') !== 'submitted' || id === undefined) return undefined
  const text = pickText(review, 'body') ?? ''
  return { key: `v${id}`, messageId: `v${id}`, text, mentions: findMentions(text) }
}

function parseSubject(body: unknown, subject: unknown, own: BotAccount | undefined): Said | undefined {
  const [action, id] = [pickText(body, 'action'), pickText(subject, 'id')]
  if (id === undefined) return undefined
  const messageId = `i${pickText(subject, 'number')}`
  if (action === 'opened') {
    const text = [pickText(subject, 'title'), pickText(subject, 'body')].filter(Boolean).join('\n\n')
    return { key: `${messageId}:${id}`, messageId, text, mentions: findMentions(text), isSubject: true }
  }
  const chosen = pickText(body, 'assignee', 'login') ?? pickText(body, 'requested_reviewer', 'login')
  if (own === undefined || chosen?.toLowerCase() !== own.id) return undefined
  const order = orders[action ?? '']
  if (order === undefined) return undefined
  const key = `${messageId}:${id}:${action}:${pickText(subject, 'updated_at')}`
  return { key, messageId, text: `[${order}]`, mentions: [own.id] }
}

const orders: Readonly<Record<string, string>> = {
  assigned: 'This is assigned to you.',
  review_requested: 'You are asked to review this.',
}

const maxBodyChars = 12_000
const maxHunkChars = 4_000

function describeSubject(body: unknown, subject: unknown, isSaid = false): string {
  const isPull = pick(body, 'pull_request') !== undefined || pick(subject, 'pull_request') !== undefined
  const name = `${isPull ? 'Pull request' : 'Issue'} #${pickText(subject, 'number')}`
  const [head, base] = [pickText(subject, 'head', 'label'), pickText(subject, 'base', 'label')]
  return [
    `${name} of ${pickText(body, 'repository', 'full_name')}: ${pickText(subject, 'title') ?? ''}`,
    pickText(subject, 'html_url'),
    `${pickText(subject, 'state') ?? 'open'}, by ${pickText(subject, 'user', 'login') ?? 'somebody'}`,
    head !== undefined && base !== undefined && `Branches: ${head} into ${base}`,
    !isSaid && (pickText(subject, 'body') ?? '').slice(0, maxBodyChars),
  ]
    .filter(Boolean)
    .join('\n')
}

/** The end of the hunk is the line that the comment is about. */
function describeLines(comment: unknown, hunk: string): string {
  const line = pickText(comment, 'line') ?? pickText(comment, 'original_line')
  return `Lines of ${pickText(comment, 'path') ?? 'a file'}${line === undefined ? '' : `, to line ${line}`}:\n${hunk.slice(-maxHunkChars)}`
}

const mention = /(?<![\w/`.-])@([a-z\d][a-z\d-]{0,38})(?![\w/-])/gi

/** In lower case. Quotes and blocks of code mention nobody. */
export function findMentions(text: string): readonly string[] {
  const found = new Set<string>()
  let isCode = false
  for (const line of text.split('\n', 5_000)) {
    const isFence = /^\s{0,3}(?:```|~~~)/.test(line)
    if (isFence) isCode = !isCode
    if (isCode || isFence || /^\s{0,3}>/.test(line)) continue
    for (const [, name = ''] of line.replace(/`[^`]{0,500}`/g, '').matchAll(mention)) found.add(name.toLowerCase())
  }
  return [...found]
}
