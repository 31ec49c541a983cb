/** `/sessions` and `/resume`: list earlier conversations, and go on with one. */

import type { CommandChoice } from '#agent/core/delivery.ts'
import { historyDb } from '#db/shards/sharded-database.ts'
import { historyReach } from '#agent/core/permission/authority.ts'
import { createReachableHistory } from '#db/history.ts'
import type { EarlierConversation } from '#durable/storage/conversation-span.ts'
import type { Session } from '../session.ts'
import { type CommandCall, type CommandHandler, type CommandReply, reply } from './command.ts'
import { startNewConversation } from './new-conversation.ts'

const maxListed = 20
const untitled = 'without a title'

export const sessionsCommand: CommandHandler = async (session, call) => {
  const [first, ...rest] = call.words
  const isAll = first?.toLowerCase() === 'all'
  const words = (isAll ? rest : call.words).join(' ').toLowerCase()
  const parts = [renderConversations(session, words), ...(isAll ? [await renderOthers(session, call, words)] : [])]
  return { kind: 'text', text: parts.join('\n\n'), ...(!isAll && { picks: listPicks(session, words) }) }
}

function renderConversations({ meta }: Session, words: string): string {
  const { conversations = [], title } = meta
  const lines = conversations.flatMap((one, at) =>
    contains(one.title, words) ? [`${at + 1}. ${one.title ?? untitled} (until ${dayOf(one.leftAt)})`] : [],
  )
  const current = `Now: ${title ?? untitled}`
  if (!lines.length) return `${current}\nThere is no earlier conversation here${words ? ' with these words' : ''}.`
  return [current, ...lines.slice(0, maxListed), '/resume N goes on with one of them.'].join('\n')
}

const listPicks = ({ meta }: Session, words: string): readonly CommandChoice[] =>
  (meta.conversations ?? [])
    .flatMap(({ title }, at) =>
      contains(title, words) ? [{ label: `${at + 1}. ${title ?? untitled}`, command: `/resume ${at + 1}` }] : [],
    )
    .slice(0, maxListed)

const contains = (title: string | null, words: string): boolean => (title ?? '').toLowerCase().includes(words)

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 16).replace('T', ' ')

/** As far as the caller may read: of the tenant, or of the chat. */
async function renderOthers({ outside, tenantId, sessionId }: Session, { authority }: CommandCall, words: string) {
  const history = createReachableHistory(
    { db: historyDb(outside.env, tenantId), blobs: outside.env.BLOBS },
    { tenantId, sessionId },
    historyReach(authority),
  )
  const others = await history.recent(maxListed)
  const lines = others
    .filter(({ title }) => contains(title, words))
    .map((one) => `- ${one.title ?? untitled} (${one.source}, ${one.updated_at.slice(0, 10)}, ${one.session_id})`)
  return lines.length ? ['Other sessions:', ...lines].join('\n') : 'There is no other session that you may read.'
}

export const resumeCommand: CommandHandler = async (session, call) => {
  const { conversations = [] } = session.meta
  if (!conversations.length) return reply('There is no earlier conversation here. /sessions all lists other sessions.')
  const found = findConversations(conversations, call)
  const [one, ...others] = found
  if (!one) return reply('No earlier conversation has this number or title. /sessions lists them.')
  if (others.length) return reply(`Several conversations match. /sessions lists their numbers.`)
  return resume(session, one)
}

/** Without an argument: the one that was left last. */
function findConversations(conversations: readonly EarlierConversation[], { text }: CommandCall) {
  if (!text) return conversations.slice(0, 1)
  if (/^\d{1,3}$/.test(text)) return conversations.slice(Number(text) - 1).slice(0, Number(text) > 0 ? 1 : 0)
  const wanted = text.toLowerCase()
  const exact = conversations.filter(({ title }) => title?.toLowerCase() === wanted)
  return exact.length ? exact : conversations.filter(({ title }) => contains(title, wanted))
}

async function resume(session: Session, { title, spans }: EarlierConversation): Promise<CommandReply> {
  await startNewConversation(session, { title, spans })
  return reply(`You are back in the conversation: ${title ?? untitled}. The other one stays; /sessions lists it.`)
}
