/** `/memory`: shows what the agent keeps and its versions, decides its writes that wait for a person, and forgets. */

import {
  type MemoryOperation,
  type MemoryResult,
  type MemoryTarget,
  memoryTargets,
  type PendingMemory,
} from '#agent/core/recall/memory.ts'
import { type MemoryVersion, memoryOf } from '#durable/tenant/memory/memory.ts'
import { memoryProjectOf } from '#durable/storage/session-metadata.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import type { Session } from '../session.ts'
import { type CommandCall, type CommandReply, reply, type CommandHandler, usageReply } from './command.ts'

const maxShownChars = 200

export const memoryCommand: CommandHandler = async (session, call) => {
  const [action = '', id = ''] = call.words
  const show = shown[action]
  if (show) return reply(await show(session, call))
  return (id && (await changing[action]?.(session, call, id))) || usageReply('memory')
}

const shown: Readonly<Record<string, (session: Session, call: CommandCall) => Promise<string>>> = {
  '': (session, call) => renderStores(session, call),
  pending: (session, call) => renderPending(session, call),
  versions: (session, call) => renderVersions(session, call),
}

type Change = (session: Session, call: CommandCall, id: string) => Promise<CommandReply>
const changing: Readonly<Record<string, Change>> = {
  approve: (session, call, id) => decide(session, call, { action: 'approve', id }),
  reject: (session, call, id) => decide(session, call, { action: 'reject', id }),
  restore: (session, call, id) => restore(session, call, Number(id)),
  forget: (session, call) => forget(session, call),
}

const memoryFor = (session: Session) => memoryOf(session.tenantObject())

async function renderStores(session: Session, { authority }: CommandCall): Promise<string> {
  const isGroup = session.meta.origin?.isGroup === true
  const project = memoryProjectOf(session.meta)
  const read = (name: string, target: MemoryTarget) =>
    memoryFor(session)
      .read(authority, target, project)
      .then((result) => renderStore(name, result))
  const stores = await Promise.all([
    read('Memory', 'memory'),
    ...(project ? [read('Project', 'project')] : []),
    ...(isGroup ? [] : [read('Profile', 'user')]),
  ])
  return stores.join('\n\n')
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
  const pending: readonly PendingMemory[] = await memoryFor(session).pending(authority)
  return session.meta.origin?.isGroup ? pending.filter(({ target }) => target !== 'user') : pending
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
    const result = await memoryFor(session).decide(authority, one.id, action)
    lines.push(`${one.id}: ${describeDecision(result, action)}`)
  }
  return reply(lines.join('\n'))
}

/** Others read along in a group. */
const shownTargets = (session: Session): readonly MemoryTarget[] =>
  session.meta.origin?.isGroup ? ['memory'] : ['memory', 'user']

const maxShownVersions = 10

async function listVersions(session: Session, { authority }: CommandCall): Promise<readonly MemoryVersion[]> {
  const project = memoryProjectOf(session.meta)
  const targets = [...shownTargets(session), ...(project ? (['project'] as const) : [])]
  const stores = targets.map((target) => memoryFor(session).versions(authority, target, project))
  return (await Promise.all(stores)).flat().toSorted((a, b) => b.id - a.id)
}

async function renderVersions(session: Session, call: CommandCall): Promise<string> {
  const versions = (await listVersions(session, call)).slice(0, maxShownVersions)
  return versions.length ? versions.map(renderVersion).join('\n') : 'There are no versions yet.'
}

function renderVersion({ id, target, at, added, removed, entries }: MemoryVersion): string {
  const changes = [...added.map((text) => `+ ${shorten(text)}`), ...removed.map((text) => `- ${shorten(text)}`)]
  const when = at ? new Date(at).toISOString().slice(0, 16).replace('T', ' ') : 'before versions were kept'
  return [`${id} (${target}, ${when}, ${entries.length} entries)`, ...changes].join('\n  ')
}

async function restore(session: Session, call: CommandCall, id: number): Promise<CommandReply> {
  if (!(await listVersions(session, call)).some((version) => version.id === id))
    return reply(`There is no version ${id}. /memory versions lists them.`)
  const result = await memoryFor(session).restore(call.authority, id)
  forgetSnapshot(session.tenantId)
  return reply(result?.kind === 'done' ? 'Restored. New sessions get it.' : describeDecision(result, 'approve'))
}

/** Shows what would go; `yes` before the words forgets it. */
async function forget(session: Session, { authority, words }: CommandCall): Promise<CommandReply> {
  const isConfirmed = words[1] === 'yes' && words.length > 2
  const wanted = words.slice(isConfirmed ? 2 : 1).join(' ')
  const targets = session.meta.origin?.isGroup ? shownTargets(session) : memoryTargets
  const done = await memoryFor(session).forget(authority, { words: wanted, targets, isPreview: !isConfirmed })
  if (!done) return reply('You may not change the memory of this tenant.')
  forgetSnapshot(session.tenantId)
  const { entries, earlier } = done
  if (!entries.length && !earlier) return reply(`Nothing that is kept has the words "${wanted}".`)
  const lines = entries.map(({ target, text }) => `- ${shorten(text)} (${target})`)
  const more = earlier ? [`- ${earlier} more in earlier versions and writes that wait`] : []
  const first = isConfirmed ? 'Forgotten:' : `/memory forget yes ${wanted} forgets these, in every version:`
  return reply([first, ...lines, ...more].join('\n'))
}

function describeDecision(result: MemoryResult | undefined, action: 'approve' | 'reject'): string {
  if (!result) return 'not found, or you may not decide it.'
  if (result.kind === 'refused' || result.kind === 'unavailable') return `not stored. ${result.error}`
  return action === 'approve' ? 'stored. New sessions get it.' : 'rejected.'
}
