/** `/memory`: shows what the agent keeps, and decides its writes that wait for a person. */

import type { MemoryOperation, MemoryResult, PendingMemory } from '#agent/core/recall/memory.ts'
import type { Session } from '../session.ts'
import { type CommandCall, type CommandReply, reply, type CommandHandler, usageReply } from './command.ts'

const maxShownChars = 200

export const memoryCommand: CommandHandler = async (session, call) => {
  const [action = '', id = ''] = call.words
  if (action === '') return reply(await renderStores(session, call))
  if (action === 'pending') return reply(await renderPending(session, call))
  if ((action === 'approve' || action === 'reject') && id) return decide(session, call, { action, id })
  return usageReply('memory')
}

const memoryOf = (session: Session) => session.tenantObject().memory

async function renderStores(session: Session, { authority }: CommandCall): Promise<string> {
  const isGroup = session.meta.origin?.isGroup === true
  const memory = renderStore('Memory', await memoryOf(session).read(authority, 'memory'))
  return isGroup ? memory : `${memory}\n\n${renderStore('Profile', await memoryOf(session).read(authority, 'user'))}`
}

function renderStore(name: string, result: MemoryResult): string {
  if (result.kind === 'unavailable') return `${name}: ${result.error}`
  const { entries, chars, limit } = result.view
  return [`${name}: ${chars} of ${limit} characters`, ...entries.map((entry) => `- ${entry}`)].join('\n')
}

async function renderPending(session: Session, { authority }: CommandCall): Promise<string> {
  const pending = await listPending(session, authority)
  return pending.length ? pending.map(renderWrite).join('\n') : 'Nothing waits for approval.'
}

const renderWrite = ({ id, target, operations }: PendingMemory): string =>
  `${id} (${target}): ${operations.map(renderOperation).join('; ')}`

function renderOperation(operation: MemoryOperation): string {
  if (operation.action === 'add') return `add "${shorten(operation.content)}"`
  if (operation.action === 'remove') return `remove "${shorten(operation.oldText)}"`
  return `replace "${shorten(operation.oldText)}" by "${shorten(operation.content)}"`
}

const shorten = (text: string): string => (text.length > maxShownChars ? `${text.slice(0, maxShownChars)}…` : text)

/** Others read along in a group: writes to profiles are decided in a direct chat or by the API. */
async function listPending(session: Session, authority: CommandCall['authority']): Promise<readonly PendingMemory[]> {
  const pending: readonly PendingMemory[] = await memoryOf(session).pending(authority)
  return session.meta.origin?.isGroup ? pending.filter(({ target }) => target === 'memory') : pending
}

async function decide(
  session: Session,
  { authority }: CommandCall,
  { action, id }: { readonly action: 'approve' | 'reject'; readonly id: string },
): Promise<CommandReply> {
  const pending = await listPending(session, authority)
  const chosen = id === 'all' ? pending : pending.filter((one) => one.id === id)
  if (!chosen.length) return reply(id === 'all' ? 'Nothing waits for approval.' : `No write ${id} waits for approval.`)
  const lines: string[] = []
  for (const one of chosen) {
    const result = await memoryOf(session).decide(authority, one.id, action)
    lines.push(`${one.id}: ${describeDecision(result, action)}`)
  }
  return reply(lines.join('\n'))
}

function describeDecision(result: MemoryResult | undefined, action: 'approve' | 'reject'): string {
  if (!result) return 'not found, or you may not decide it.'
  if (result.kind === 'refused' || result.kind === 'unavailable') return `not stored. ${result.error}`
  return action === 'approve' ? 'stored. New sessions get it.' : 'rejected.'
}
