/** `/fork` and `/rollback`: copy a session, and bring its files and its conversation back to an earlier state. */

import { newSessionId } from '#durable/platform/ids.ts'
import { maxCheckpointName } from '#agent/core/tool.ts'
import { createNamed, orUnreachable, type RollbackResult, rollback, type Unreachable } from '../core/checkpoints.ts'
import { cancelCopy } from '../copies/fork.ts'
import { type CommandHandler, reply, usageReply } from './command.ts'
import { describeLimit, describeTurns } from './describe.ts'
import { sessionStub } from '#durable/platform/addresses.ts'

const maxTitleChars = 100
const maxListed = 10

export const forkCommand: CommandHandler = async (session, { text, authority }) => {
  await session.ensureTenant()
  const { tenantId, sessionId, outside } = session
  const { copySession } = await import('../copies/copy-session.ts')
  const copy = copySession(session)
  if (!copy) return reply('There is nothing to copy.')
  const hasLimit = session.tenant.limits?.storage_bytes !== undefined
  const admission = hasLimit
    ? await session.tenantObject().limits.admitBytes(authority, copy.bytes)
    : { ok: true as const }
  if (!admission.ok) {
    await cancelCopy(copy)
    return reply(describeLimit(admission.limit))
  }
  const id = newSessionId()
  const title = text.slice(0, maxTitleChars) || session.meta.title
  const stub = sessionStub(outside.env, tenantId, id)
  await stub.transfer.paste(authority, copy, { source: session.meta.source, title, parentId: sessionId })
  return reply(`Copied to the session ${id}${title ? ` (${title})` : ''}. This conversation goes on here.`)
}

export const rollbackCommand: CommandHandler = async (session, { words }) => {
  const all = words.some((word) => /^(?:--)?all$/i.test(word))
  const named = words.filter((word) => !/^(?:--)?all$/i.test(word)).join(' ')
  if (/^[0+-]/.test(named)) return usageReply('rollback')
  const ref = /^\d+$/.test(named) ? { turn: Number(named) } : named ? { name: named } : {}
  const { storage } = session.outside
  const done = await orUnreachable(() => rollback(session, storage, { ...ref, ...(all && { all }) }))
  return reply(describeRollback(done))
}

export const checkpointCommand: CommandHandler = async (session, { text, runId }) => {
  const name = text.trim()
  if (!/\D/.test(name) || name.length > maxCheckpointName) return usageReply('checkpoint')
  const done = await orUnreachable(() => createNamed(session, name, runId))
  if (typeof done !== 'string') return reply(done.unreachable)
  return reply(
    {
      created: `The files are kept as "${name}". /rollback ${name} restores them.`,
      exists: `There is a checkpoint "${name}" already.`,
      unsupported: 'This workspace keeps no checkpoints now.',
    }[done],
  )
}

function describeRollback(result: RollbackResult | Unreachable): string {
  if ('unreachable' in result) return result.unreachable
  if (result.kind !== 'done')
    return result.kind === 'busy'
      ? 'A turn is running. Send /stop first, or wait.'
      : 'There is no such state of the files.'
  const { restored, kept, undone } = result
  return [
    `Restored: ${restored.length ? shorten(restored) : 'no file'}. Undone: ${describeTurns(undone)}.`,
    ...(kept.length ? [`Changed since by others, and kept: ${shorten(kept)}. "/rollback all" restores them too.`] : []),
  ].join('\n')
}

const shorten = (paths: readonly string[]): string =>
  paths.length > maxListed
    ? `${paths.slice(0, maxListed).join(', ')} and ${paths.length - maxListed} more`
    : paths.join(', ')
