/**
 * Holds the memory of a tenant and the profiles of its people. This object is the single writer, and each change is one
 * synchronous stretch, so that concurrent writers lose nothing.
 */

import { foreignMarks, joinMarks, type Marks, noMarks, privateMarks } from '#agent/core/marks.ts'
import { type Authority, isLimitedByRole, marksOfAuthority, type Scope } from '#agent/core/permission/authority.ts'
import { isScopeLost, othersLimit } from '#agent/core/permission/lost-rights.ts'
import type { MemoryChange, MemoryResult, MemoryTarget, PendingMemory } from '#agent/core/recall/memory.ts'
import type { Settings } from '#agent/core/settings.ts'
import { type MemoryReach, memoryReach } from '#agent/memory/memory-reach.ts'
import { explainRefusedContent } from '#agent/memory/memory-scan.ts'
import { applyOperations, defaultMemoryLimits, viewEntries } from '#agent/memory/memory-store.ts'
import { clock } from '#durable/platform/clock.ts'
import { newMemoryWriteId } from '#durable/platform/ids.ts'
import { type ChangeCheck, TenantPart } from '../tenant-part.ts'
import { maxPending, maxProfiles, type MemoryRows, type StoreName } from './memory-rows.ts'

export type TenantMemoryOptions = {
  readonly mayChange: ChangeCheck
  readonly rows: MemoryRows
  readonly settings: () => Settings
  /** Called in the same synchronous stretch as a change of what new sessions get. */
  readonly onChange: () => void
}

export type PendingDecision = 'approve' | 'reject'

export class TenantMemory extends TenantPart {
  readonly #options: TenantMemoryOptions

  constructor(options: TenantMemoryOptions) {
    super(options.mayChange)
    this.#options = options
  }

  read(authority: Authority, target: MemoryTarget): MemoryResult {
    this.requireOwn(authority)
    const store = this.#storeOf(authority, target)
    return 'error' in store
      ? { kind: 'unavailable', ...store }
      : { kind: 'done', view: this.#view(store), isChanged: false, marks: this.#marks(store) }
  }

  /** Applies all operations or none. */
  change(authority: Authority, change: MemoryChange): MemoryResult {
    this.requireOwn(authority)
    const store = this.#writableStore(authority, change.target)
    if ('error' in store) return { kind: 'unavailable', ...store }
    const answered = change.key === undefined ? undefined : this.#rows.answer(change.key)
    if (answered) return answered
    const isForeign = marksOfAuthority(authority).isForeign === true
    const result = { ...this.#change(store, change, isForeign), marks: this.#marks(store) }
    if (change.key !== undefined && result.kind !== 'refused') this.#rows.keepAnswer(change.key, result)
    return result
  }

  /** Applies a change that a person makes, who needs no approval. */
  changeNow(authority: Authority, change: MemoryChange): MemoryResult {
    this.requireOwn(authority)
    const store = this.#writableStore(authority, change.target)
    if ('error' in store) return { kind: 'unavailable', ...store }
    const error = this.#explainRefusal(store, change)
    return error === undefined ? this.#apply(store, change, false) : { kind: 'refused', error, view: this.#view(store) }
  }

  /** Replaces all entries of a store. The writes of a person are never staged. */
  replaceAll(authority: Authority, target: MemoryTarget, entries: readonly string[]): MemoryResult {
    this.requireOwn(authority)
    const store = this.#writableStore(authority, target)
    if ('error' in store) return { kind: 'unavailable', ...store }
    const operations = entries.map((content) => ({ action: 'add' as const, content }))
    const error = explainRefusedContent(operations)
    if (error !== undefined) return { kind: 'refused', error, view: this.#view(store) }
    const applied = applyOperations([], operations, this.#limit(target))
    if (applied.kind === 'refused') return { ...applied, view: this.#view(store) }
    // Every entry is the person's from here on.
    this.#rows.write(store, [], false)
    return this.#store(store, applied.entries, false)
  }

  /** All stores, for the export of the tenant. */
  listAll(authority: Authority): readonly (StoreName & { readonly entries: readonly string[] })[] {
    this.requireOwn(authority)
    const profiles = this.#rows.owners().map((owner): StoreName => ({ target: 'user', owner }))
    const stores: readonly StoreName[] = [{ target: 'memory' }, ...profiles]
    return stores.map((store) => ({ ...store, entries: this.#rows.entries(store) }))
  }

  /** The writes that wait: those to the memory of the tenant, and those to the profile of the asker. */
  pending(authority: Authority): readonly PendingMemory[] {
    this.requireOwn(authority)
    const reach = memoryReach(authority)
    return reach ? this.#rows.pending().filter((one) => isReached(one, reach)) : []
  }

  /** Undefined for an unknown write, or one that the authority does not reach. */
  decide(authority: Authority, id: string, decision: PendingDecision): MemoryResult | undefined {
    if (!this.mayChange(authority, 'write')) return undefined
    if (decision === 'approve' && isLimitedByRole(authority)) return undefined
    const one = this.pending(authority).find((pending) => pending.id === id)
    if (!one) return undefined
    const store: StoreName = { target: one.target, owner: one.owner }
    const result: MemoryResult =
      decision === 'reject'
        ? { kind: 'done', view: this.#view(store), isChanged: false }
        : this.#apply(store, one, one.isForeign !== false)
    // A write that the store cannot take any more stays: entries may be removed, and then it can be approved again.
    if (result.kind === 'done') this.#rows.removePending(id)
    return result
  }

  #change(store: StoreName, change: MemoryChange, isForeign: boolean): MemoryResult {
    const error = this.#explainRefusal(store, change)
    if (error !== undefined) return { kind: 'refused', error, view: this.#view(store) }
    return this.#settings.write_approval ? this.#stage(store, change, isForeign) : this.#apply(store, change, isForeign)
  }

  #explainRefusal(store: StoreName, { operations }: MemoryChange): string | undefined {
    return explainRefusedContent(operations) ?? this.#explainFull(store)
  }

  #apply(store: StoreName, { operations }: Pick<MemoryChange, 'operations'>, isForeign: boolean): MemoryResult {
    const applied = applyOperations(this.#rows.entries(store), operations, this.#limit(store.target))
    if (applied.kind === 'refused') return { ...applied, view: this.#view(store) }
    if (!applied.isChanged) return { kind: 'done', view: this.#view(store), isChanged: false }
    return this.#store(store, applied.entries, isForeign)
  }

  #store(store: StoreName, entries: readonly string[], isForeign: boolean): MemoryResult {
    this.#rows.write(store, entries, isForeign)
    this.#options.onChange()
    return { kind: 'done', view: this.#view(store), isChanged: true }
  }

  /** Tries the write before it is staged, so that the model learns of mistakes at once. */
  #stage(store: StoreName, { operations, sessionId }: MemoryChange, isForeign: boolean): MemoryResult {
    const tried = applyOperations(this.#rows.entries(store), operations, this.#limit(store.target))
    const view = this.#view(store)
    if (tried.kind === 'refused') return { ...tried, view }
    if (!tried.isChanged) return { kind: 'done', view, isChanged: false }
    if (this.#rows.pending().length >= maxPending)
      return { kind: 'refused', error: `${maxPending} writes wait for a person already.`, view }
    const id = newMemoryWriteId()
    const { target, owner } = store
    this.#rows.addPending({
      id,
      target,
      operations,
      createdAt: clock.now(),
      isForeign,
      ...(target === 'user' && owner !== undefined && { owner }),
      ...(sessionId !== undefined && { sessionId }),
    })
    return { kind: 'staged', id, view }
  }

  #explainFull({ target, owner }: StoreName): string | undefined {
    if (target === 'memory' || owner === undefined) return undefined
    const owners = this.#rows.owners()
    const isFull = owners.length >= maxProfiles && !owners.includes(owner)
    return isFull ? `There are ${maxProfiles} profiles already.` : undefined
  }

  /** Facts of the tenant act in all of its sessions, so they take more than one's own profile. */
  #writableStore(authority: Authority, target: MemoryTarget): StoreName | { readonly error: string } {
    const store = this.#storeOf(authority, target)
    if (target === 'user' || 'error' in store) return store
    if (isLimitedByRole(authority)) return { error: limitedByRole }
    if (memoryReach(authority)?.canWrite !== false) return store
    return { error: explainScope(authority, 'change', 'write') }
  }

  /** The store that an authority reaches, or why it does not. */
  #storeOf(authority: Authority, target: MemoryTarget): StoreName | { readonly error: string } {
    const reach = memoryReach(authority)
    if (!reach) return { error: explainScope(authority, 'read', 'read') }
    const { enabled = true, memory_enabled = true, user_profile_enabled = true } = this.#settings
    if (!enabled || !(target === 'memory' ? memory_enabled : user_profile_enabled))
      return { error: `The settings of this tenant switch the store ${target} off.` }
    if (target === 'memory') return { target }
    const { owner } = reach
    return owner === undefined
      ? { error: 'Nobody in particular asks here, so there is no profile.' }
      : { target, owner }
  }

  #marks(store: StoreName): Marks {
    return joinMarks(privateMarks, this.#rows.isForeign(store) ? foreignMarks : noMarks)
  }

  #view(store: StoreName) {
    return viewEntries(this.#rows.entries(store), this.#limit(store.target))
  }

  #limit(target: MemoryTarget): number {
    const { memory_char_limit, user_char_limit } = this.#settings
    const set = target === 'memory' ? memory_char_limit : user_char_limit
    return set ?? defaultMemoryLimits[target]
  }

  get #settings(): NonNullable<Settings['memory']> {
    return this.#options.settings().memory ?? {}
  }

  get #rows(): MemoryRows {
    return this.#options.rows
  }
}

const isReached = ({ target, owner }: PendingMemory, reach: MemoryReach): boolean =>
  target === 'memory' || (owner !== undefined && owner === reach.owner)

const limitedByRole =
  'The role of somebody who has contributed limits tools or risks, so the memory of this tenant stays as it is: it acts in all sessions.'

function explainScope(authority: Authority, verb: 'change' | 'read', scope: Scope): string {
  const reason = isScopeLost(authority, scope) ? `; ${othersLimit}` : ''
  return `The sender may not ${verb} the memory of this tenant: it takes the scope ${scope}${reason}.`
}
