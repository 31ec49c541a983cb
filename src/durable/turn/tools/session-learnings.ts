/** Answers the tool `learning`: what the tenant has learned from failures, and whether this session teaches. */

import { foreignMarks } from '#agent/core/marks.ts'
import type { GivenFix, LearningRequest, Learnings } from '#agent/core/recall/learnings.ts'
import { hasScope, historyReach, isLimitedByRole, marksOfAuthority } from '#agent/core/permission/authority.ts'
import { patchSettings, type Settings } from '#agent/core/settings.ts'
import { createFix } from '#agent/skills/learning/fixes.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { redactorFor } from '#durable/platform/redaction.ts'
import type { SessionMetadata } from '#durable/storage/session-metadata.ts'
import { fixesOf, type ListedFix } from '#durable/tenant/fixes/fixes.ts'

export type SessionLearningsOptions = {
  readonly env: Env
  readonly tenantId: string
  readonly settings: { readonly now: () => Settings }
  readonly meta: () => Pick<SessionMetadata, 'settings'>
  readonly updateMeta: (change: Pick<SessionMetadata, 'settings'>) => void
}

type Call = Parameters<Learnings['handle']>[1]
type Answer = Readonly<Record<string, unknown>>

const maxListed = 20

export async function handleLearning(
  options: SessionLearningsOptions,
  request: LearningRequest,
  call: Call,
): Promise<Answer> {
  const { action, ids } = request
  if (action === 'off' || action === 'on') return switchLearning(options, action)
  if (historyReach(call.authority).kind !== 'tenant')
    return { error: 'Only those who may read the sessions of the tenant.' }
  const isReading = action === 'search' || action === 'list' || (action === 'tags' && !ids)
  return isReading ? find(options, request, call) : change(options, request, call)
}

async function find(options: SessionLearningsOptions, { action, query, tags }: LearningRequest, call: Call) {
  const found = await fixesFor(options).list(call.authority, query, tags)
  if (found.some(({ isForeign }) => isForeign)) call.addMarks?.(foreignMarks)
  if (action === 'tags') return { tags: countTags(found) }
  return { fixes: found.slice(0, maxListed).map(view), count: found.length }
}

async function change(options: SessionLearningsOptions, request: LearningRequest, call: Call): Promise<Answer> {
  const refusal = explainRefusal(options, call)
  if (refusal) return { error: refusal }
  const { action, ids, tags = [], fix } = request
  if (action === 'save') return save(options, request, call)
  const fixes = fixesFor(options)
  if (action === 'tags') return changed(await fixes.tag(call.authority, ids ?? [], tags))
  const redacted = fix && redactorFor(options.env, options.tenantId).redact(fix)
  return { success: true, merged: await fixes.merge(call.authority, ids, redacted) }
}

const fixesFor = ({ env, tenantId }: SessionLearningsOptions) => fixesOf(tenantStub(env, tenantId))

const changed = (count: number): Answer =>
  count ? { success: true, changed: count } : { error: 'There is none with these ids. list shows them.' }

const view = ({ id, tool, error, failed, fix, uses, tags }: ListedFix) => ({ id, tool, error, failed, fix, uses, tags })

function countTags(fixes: readonly ListedFix[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const tag of fixes.flatMap(({ tags }) => tags)) counts[tag] = (counts[tag] ?? 0) + 1
  return counts
}

/** Words of strangers would reach all sessions. */
function explainRefusal({ settings }: SessionLearningsOptions, { authority }: Call): string | undefined {
  if (!hasScope(authority, 'write') || isLimitedByRole(authority))
    return 'It takes the scope write, without limits of a role.'
  if (settings.now().learning?.fixes === false) return 'Learning is off. The action on switches it on in this session.'
  return marksOfAuthority(authority).isForeign
    ? 'This turn has read what others wrote, and nothing of it is kept for other sessions.'
    : undefined
}

async function save(options: SessionLearningsOptions, request: LearningRequest, { authority }: Call): Promise<Answer> {
  const { error, fix, tool, failed, tags = [] } = request
  if (!error?.trim() || !fix?.trim()) return { error: 'save needs error and fix.' }
  const given: GivenFix = { error, fix, tool, failed }
  const { env, tenantId } = options
  const redactor = redactorFor(env, tenantId)
  const stored = createFix(given, (text) => redactor.redact(text))
  const id = await fixesFor(options).save(authority, stored, tags)
  return id === undefined ? { error: 'Not stored.' } : { success: true, id }
}

/** The settings of the session win over those of the tenant. */
function switchLearning({ meta, updateMeta, settings }: SessionLearningsOptions, action: 'off' | 'on'): Answer {
  const own = action === 'off' ? false : null
  const patched = patchSettings(meta().settings ?? {}, { learning: { fixes: own, review: own } })
  if (patched.kind === 'patched') updateMeta({ settings: patched.settings })
  const { fixes, review } = settings.now().learning ?? {}
  return action === 'on' && fixes === false && review === false
    ? { error: 'The settings of the tenant switch learning off: PATCH /api/settings.' }
    : {
        success: true,
        message: action === 'off' ? 'Nothing of this session is learned.' : 'This session is learned from.',
      }
}
