/**
 * Holds the memory of a tenant and of its projects, and the profiles of its people: changes of the agent and of people, writes that wait for a
 * decision, where entries come from, earlier versions, and forgetting, which also removes a text from every version. The
 * tenant's object is the single writer. A store is looked up first, since the members of a project are another part's; the change itself
 * is one synchronous stretch, so that concurrent writers lose nothing.
 */

import { foreignMarks, joinMarks, type Marks, noMarks, privateMarks } from '#agent/core/marks.ts'
import {
  type Authority,
  hasScope,
  holderOf,
  isLimitedByRole,
  marksOfAuthority,
  type Scope,
  systemAuthority,
} from '#agent/core/permission/authority.ts'
import { isScopeLost, othersLimit } from '#agent/core/permission/lost-rights.ts'
import {
  type MemoryChange,
  type MemoryProject,
  type MemoryResult,
  type MemoryTarget,
  memoryTargets,
  type PendingMemory,
} from '#agent/core/recall/memory.ts'
import type { Settings } from '#agent/core/settings.ts'
import { type MemoryReach, memoryReach } from '#agent/memory/memory-reach.ts'
import { explainRefusedContent } from '#agent/memory/memory-scan.ts'
import { applyOperations, defaultMemoryLimits, viewEntries } from '#agent/memory/memory-store.ts'
import { clock } from '#durable/platform/clock.ts'
import { newMemoryWriteId } from '#durable/platform/ids.ts'
import type { TenantAudit } from '../audit.ts'
import type { Project } from '../projects/project.ts'
import type { ChangeCheck } from '../tenant-part.ts'
import type { EntryOrigin, ForgetRequest, Forgotten, KnownEntry, MemoryVersion } from './memory.ts'
import { maxPending, maxProfiles, type MemoryRows, type StoredVersion, type StoreName } from './memory-rows.ts'

export type StoredMemoryOptions = {
  readonly mayChange: ChangeCheck
  readonly rows: MemoryRows
  readonly audit: TenantAudit
  readonly settings: () => Settings
  /** Undefined when the caller is no member. */
  readonly findProject: (authority: Authority, id: string) => Promise<Project | undefined>
  /** Called in the same synchronous stretch as a change of what new sessions get. */
  readonly onChange: () => void
}

export type PendingDecision = 'approve' | 'reject'

export class StoredMemory {
  readonly #options: StoredMemoryOptions

  constructor(options: StoredMemoryOptions) {
    this.#options = options
  }

  async read(authority: Authority, target: MemoryTarget, project?: MemoryProject): Promise<MemoryResult> {
    const store = await this.#storeOf(authority, target, project)
    return 'error' in store
      ? { kind: 'unavailable', ...store }
      : { kind: 'done', view: this.#view(store), isChanged: false, marks: this.#marks(store) }
  }

  /** Applies all operations or none. */
  async change(authority: Authority, change: MemoryChange): Promise<MemoryResult> {
    const store = await this.#writableStore(authority, change.target, change.project)
    if ('error' in store) return { kind: 'unavailable', ...store }
    const answered = change.key === undefined ? undefined : this.#rows.answer(change.key)
    if (answered) return answered
    const isForeign = marksOfAuthority(authority).isForeign === true
    const origin = { at: clock.now(), by: holderOf(authority), sessionId: change.sessionId }
    const result = { ...this.#change(store, change, isForeign, origin), marks: this.#marks(store) }
    if (change.key !== undefined && result.kind !== 'refused') this.#rows.keepAnswer(change.key, result)
    return result
  }

  /** Applies a change that a person makes, who needs no approval. */
  async changeNow(authority: Authority, change: MemoryChange): Promise<MemoryResult> {
    const store = await this.#writableStore(authority, change.target, change.project)
    if ('error' in store) return { kind: 'unavailable', ...store }
    const error = this.#explainRefusal(store, change)
    if (error !== undefined) return { kind: 'refused', error, view: this.#view(store) }
    return this.#apply(store, change, false, originOf(authority))
  }

  /** Replaces all entries of a store. The writes of a person are never staged. */
  async replaceAll(
    authority: Authority,
    target: MemoryTarget,
    entries: readonly string[],
    project?: MemoryProject,
  ): Promise<MemoryResult> {
    const store = await this.#writableStore(authority, target, project)
    if ('error' in store) return { kind: 'unavailable', ...store }
    const operations = entries.map((content) => ({ action: 'add' as const, content }))
    const error = explainRefusedContent(operations)
    if (error !== undefined) return { kind: 'refused', error, view: this.#view(store) }
    const applied = applyOperations([], operations, this.#limit(target))
    if (applied.kind === 'refused') return { ...applied, view: this.#view(store) }
    const origin = originOf(authority)
    // Every entry is the person's from here on.
    return this.#record(
      store,
      applied.entries.map((text) => ({ text, ...origin })),
      origin,
    )
  }

  /** All stores, for the export of the tenant. */
  listAll(_authority: Authority): readonly (StoreName & { readonly entries: readonly string[] })[] {
    return this.#stores().map((store) => ({ ...store, entries: this.#rows.entries(store) }))
  }

  /** The writes that wait: those to the memory of the tenant and of projects of the asker, and those to their profile. */
  async pending(authority: Authority): Promise<readonly PendingMemory[]> {
    const reach = memoryReach(authority)
    if (!reach) return []
    const projects = this.#rows.pending().flatMap(({ target, owner }) => (target === 'project' ? (owner ?? []) : []))
    const reached = await this.#projectStores(authority, projects)
    return this.#rows.pending().filter((one) => isReached(one, reach, reached))
  }

  /** Undefined for an unknown write, or one that the authority does not reach. */
  async decide(authority: Authority, id: string, decision: PendingDecision): Promise<MemoryResult | undefined> {
    if (!this.#options.mayChange(authority, 'write')) return undefined
    if (decision === 'approve' && isLimitedByRole(authority)) return undefined
    const reached = (await this.pending(authority)).find((pending) => pending.id === id)
    const project = reached && projectOf(reached)
    const changed = project && (await this.#writableStore(authority, 'project', project))
    if (changed && 'error' in changed) return { kind: 'unavailable', ...changed }
    // Somebody else may have decided meanwhile.
    const one = reached && this.#rows.pending().find((pending) => pending.id === id)
    if (!one) return undefined
    const store: StoreName = { target: one.target, owner: one.owner }
    const { createdAt: at, by, sessionId } = one
    const result: MemoryResult =
      decision === 'reject'
        ? { kind: 'done', view: this.#view(store), isChanged: false }
        : this.#apply(store, one, one.isForeign !== false, { at, by, sessionId })
    // A write that the store cannot take any more stays: entries may be removed, and then it can be approved again.
    if (result.kind === 'done') this.#rows.removePending(id)
    return result
  }

  /** The entries with where they come from. Undefined: the caller does not reach the store. */
  async entries(
    authority: Authority,
    target: MemoryTarget,
    project?: MemoryProject,
  ): Promise<readonly KnownEntry[] | undefined> {
    const store = await this.#storeOf(authority, target, project)
    return 'error' in store ? undefined : this.#rows.known(store)
  }

  /** Newest first. Empty: the caller does not reach the store. */
  async versions(
    authority: Authority,
    target: MemoryTarget,
    project?: MemoryProject,
  ): Promise<readonly MemoryVersion[]> {
    const store = await this.#storeOf(authority, target, project)
    if ('error' in store) return []
    const versions = this.#rows.versions(store)
    return versions.map((version, index) => describeVersion(store, version, versions[index + 1]))
  }

  /** Makes an earlier version the newest one. Undefined for one that is unknown, or that the caller does not reach. */
  async restore(authority: Authority, id: number): Promise<MemoryResult | undefined> {
    const isIt = (store: StoreName) => this.#rows.versions(store).find(({ n }) => n === id)
    const store = (await this.#reached(authority)).find(isIt)
    const writable = store && (await this.#writableStore(authority, store.target, projectOf(store)))
    if (writable && 'error' in writable) return { kind: 'unavailable', ...writable }
    // Its texts may have been forgotten meanwhile.
    const version = store && isIt(store)
    if (!store || !version) return undefined
    const { chars, limit } = viewEntries(
      version.entries.map(({ text }) => text),
      this.#limit(store.target),
    )
    if (chars > limit) {
      const error = `This version has ${chars} characters, and ${limit} is the limit.`
      return { kind: 'refused', error, view: this.#view(store) }
    }
    this.#options.audit.add(authority, {
      kind: 'memory.restored',
      subject: store.target,
      details: { version: id, ...(store.owner !== undefined && { owner: store.owner }) },
    })
    return this.#record(store, version.entries, originOf(authority))
  }

  /**
   * Removes entries, their texts in every version, writes that wait and kept answers. Undefined: the caller may not.
   * Others' profiles are reached only by who may decide for the tenant, and never shown.
   */
  async forget(authority: Authority, request: ForgetRequest): Promise<Forgotten | undefined> {
    const { person, targets = memoryTargets } = request
    const own = (await this.#reached(authority, true)).filter(({ target }) => targets.includes(target))
    if (!own.length) return undefined
    const isOthers = person !== undefined && person !== memoryReach(authority)?.owner
    if (isOthers && !isDecider(authority)) return undefined
    const stores = isOthers ? unite(own, { target: 'user', owner: person }) : own
    const found = stores.map((store) => ({ store, ...this.#find(store, request) }))
    const isReadable = (store: StoreName) => own.includes(store)
    const forgotten: Forgotten = {
      entries: found.flatMap(({ store, entries }) =>
        isReadable(store) ? entries.map(({ text }) => ({ ...nameOf(store), text })) : [],
      ),
      hidden: found.flatMap(({ store, entries }) => (isReadable(store) ? [] : entries)).length,
      earlier: found.reduce((sum, { earlier, pending }) => sum + earlier.size + pending.length, 0),
    }
    if (!request.isPreview) this.#remove(authority, found, request)
    return forgotten
  }

  #find(store: StoreName, request: ForgetRequest): FoundEntries {
    const isMatch = matcher(store, request)
    const entries = this.#rows.known(store).filter(isMatch)
    const texts = new Set(entries.map(({ text }) => text))
    const all = this.#rows.versions(store).flatMap((version) => version.entries)
    const earlier = new Set(all.filter((one) => isMatch(one) && !texts.has(one.text)).map(({ text }) => text))
    const pending = this.#rows.pending().filter((one) => isSameStore(one, store) && writesMatch(one, isMatch))
    return { entries, earlier, pending }
  }

  #remove(authority: Authority, found: readonly (FoundEntries & { store: StoreName })[], request: ForgetRequest): void {
    for (const { store, entries, earlier, pending } of found) {
      const gone = new Set([...entries.map(({ text }) => text), ...earlier])
      const keep = (known: readonly KnownEntry[]) => known.filter(({ text }) => !gone.has(text))
      if (entries.length) this.#rows.replace(store, keep(this.#rows.known(store)))
      for (const version of gone.size ? this.#rows.versions(store) : [])
        this.#rows.rewriteVersion({ ...version, entries: keep(version.entries) })
      for (const { id } of pending) this.#rows.removePending(id)
    }
    const count = found.reduce((sum, { entries }) => sum + entries.length, 0)
    if (!found.some(({ entries, earlier, pending }) => entries.length + earlier.size + pending.length)) return
    this.#rows.clearAnswers()
    this.#options.onChange()
    const { words, person, sessionId } = request
    const details = { count, by: words === undefined ? 'origin' : 'words', person, session_id: sessionId }
    this.#options.audit.add(authority, { kind: 'memory.forgotten', subject: 'memory', details })
  }

  #record(store: StoreName, entries: readonly KnownEntry[], origin: EntryOrigin): MemoryResult {
    this.#rows.record(store, entries, origin)
    this.#options.onChange()
    return { kind: 'done', view: this.#view(store), isChanged: true }
  }

  #stores(): readonly StoreName[] {
    const owned = (['user', 'project'] as const).flatMap((target) =>
      this.#rows.owners(target).map((owner): StoreName => ({ target, owner })),
    )
    return [{ target: 'memory' }, ...owned]
  }

  /** All stores that a caller may read, or change. */
  async #reached(authority: Authority, isToChange = false): Promise<readonly StoreName[]> {
    const find = (target: MemoryTarget) =>
      isToChange ? this.#writableStore(authority, target) : this.#storeOf(authority, target)
    const own = await Promise.all([find('memory'), find('user')])
    const projects = await this.#projectStores(authority, this.#rows.owners('project', 'memory_version'), isToChange)
    return [...own.flatMap((store) => ('error' in store ? [] : [store])), ...projects]
  }

  async #projectStores(
    authority: Authority,
    ids: readonly string[],
    isToChange = false,
  ): Promise<readonly StoreName[]> {
    const stores = await Promise.all(
      [...new Set(ids)].map((id) =>
        isToChange ? this.#writableStore(authority, 'project', { id }) : this.#storeOf(authority, 'project', { id }),
      ),
    )
    return stores.flatMap((store) => ('error' in store ? [] : [store]))
  }

  #change(store: StoreName, change: MemoryChange, isForeign: boolean, origin: EntryOrigin): MemoryResult {
    const error = this.#explainRefusal(store, change)
    if (error !== undefined) return { kind: 'refused', error, view: this.#view(store) }
    return this.#settings.write_approval
      ? this.#stage(store, change, isForeign, origin)
      : this.#apply(store, change, isForeign, origin)
  }

  #explainRefusal(store: StoreName, { operations }: MemoryChange): string | undefined {
    return explainRefusedContent(operations) ?? this.#explainFull(store)
  }

  #apply(
    store: StoreName,
    { operations }: Pick<MemoryChange, 'operations'>,
    isForeign: boolean,
    origin: EntryOrigin,
  ): MemoryResult {
    const applied = applyOperations(this.#rows.entries(store), operations, this.#limit(store.target))
    if (applied.kind === 'refused') return { ...applied, view: this.#view(store) }
    if (!applied.isChanged) return { kind: 'done', view: this.#view(store), isChanged: false }
    this.#rows.write(store, applied.entries, { ...origin, ...(isForeign && { isForeign }) })
    this.#options.onChange()
    return { kind: 'done', view: this.#view(store), isChanged: true }
  }

  /** Tries the write before it is staged, so that the model learns of mistakes at once. */
  #stage(
    store: StoreName,
    { operations, sessionId }: MemoryChange,
    isForeign: boolean,
    { at, by }: EntryOrigin,
  ): MemoryResult {
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
      createdAt: at ?? clock.now(),
      ...(by !== undefined && { by }),
      isForeign,
      ...(owner !== undefined && { owner }),
      ...(sessionId !== undefined && { sessionId }),
    })
    return { kind: 'staged', id, view }
  }

  #explainFull({ target, owner }: StoreName): string | undefined {
    if (target !== 'user' || owner === undefined) return undefined
    const owners = this.#rows.owners()
    const isFull = owners.length >= maxProfiles && !owners.includes(owner)
    return isFull ? `There are ${maxProfiles} profiles already.` : undefined
  }

  /** Facts of a tenant or a project act in all of its sessions, so they take more than one's own profile. */
  async #writableStore(
    authority: Authority,
    target: MemoryTarget,
    project?: MemoryProject,
  ): Promise<StoreName | { readonly error: string }> {
    const store = await this.#storeOf(authority, target, project, 'edit')
    if (target === 'user' || 'error' in store) return store
    if (isLimitedByRole(authority)) return { error: limitedByRole }
    if (memoryReach(authority)?.canWrite !== false) return store
    return { error: explainScope(authority, 'change', 'write') }
  }

  /** The store that an authority reaches, or why it does not. */
  async #storeOf(
    authority: Authority,
    target: MemoryTarget,
    project?: MemoryProject,
    access: 'use' | 'edit' = 'use',
  ): Promise<StoreName | { readonly error: string }> {
    const reach = memoryReach(authority)
    if (!reach) return { error: explainScope(authority, 'read', 'read') }
    const { enabled = true, memory_enabled = true, user_profile_enabled = true } = this.#settings
    if (!enabled || !(target === 'user' ? user_profile_enabled : memory_enabled))
      return { error: `The settings of this tenant switch the store ${target} off.` }
    if (target === 'memory') return { target }
    if (target === 'project') return this.#projectStore(authority, project, access)
    const { owner } = reach
    return owner === undefined
      ? { error: 'Nobody in particular asks here, so there is no profile.' }
      : { target, owner }
  }

  async #projectStore(
    authority: Authority,
    project: MemoryProject | undefined,
    access: 'use' | 'edit',
  ): Promise<StoreName | { readonly error: string }> {
    if (!project) return { error: 'This belongs to no project.' }
    const { id, isGiven } = project
    const caller = isGiven
      ? systemAuthority(authority.tenantId, { kind: 'session', id: 'project' }, ['write', 'approve'])
      : authority
    const found = await this.#options.findProject(caller, id)
    if (!found) return { error: 'The sender is no member of this project.' }
    if (access === 'edit' && found.access === 'use') return { error: 'The sender may use this project, not change it.' }
    return { target: 'project', owner: id }
  }

  #marks(store: StoreName): Marks {
    return joinMarks(privateMarks, this.#rows.isForeign(store) ? foreignMarks : noMarks)
  }

  #view(store: StoreName) {
    return viewEntries(this.#rows.entries(store), this.#limit(store.target))
  }

  #limit(target: MemoryTarget): number {
    const { memory_char_limit, user_char_limit } = this.#settings
    const set = target === 'user' ? user_char_limit : memory_char_limit
    return set ?? defaultMemoryLimits[target]
  }

  get #settings(): NonNullable<Settings['memory']> {
    return this.#options.settings().memory ?? {}
  }

  get #rows(): MemoryRows {
    return this.#options.rows
  }
}

type FoundEntries = {
  readonly entries: readonly KnownEntry[]
  readonly earlier: ReadonlySet<string>
  readonly pending: readonly PendingMemory[]
}

const originOf = (authority: Authority): EntryOrigin => ({ at: clock.now(), by: holderOf(authority) })

/** Those who may decide for the tenant. */
const isDecider = (authority: Authority): boolean =>
  hasScope(authority, 'approve') && hasScope(authority, 'write') && !isLimitedByRole(authority)

const unite = (stores: readonly StoreName[], other: StoreName): readonly StoreName[] => [
  ...stores.filter(({ target }) => target !== 'user'),
  other,
]

const isReached = (one: PendingMemory, reach: MemoryReach, projects: readonly StoreName[]): boolean =>
  one.target === 'project'
    ? projects.some((store) => isSameStore(one, store))
    : one.target === 'memory' || (one.owner !== undefined && one.owner === reach.owner)

const projectOf = ({ target, owner }: StoreName): MemoryProject | undefined =>
  target === 'project' && owner !== undefined ? { id: owner } : undefined

const nameOf = ({ target, owner }: StoreName) => ({
  target,
  ...(target === 'project' && owner !== undefined && { project: owner }),
})

const isSameStore = ({ target, owner }: PendingMemory, store: StoreName): boolean =>
  target === store.target && (target === 'memory' || owner === store.owner)

function matcher(store: StoreName, { words, sessionId, person }: ForgetRequest): (entry: KnownEntry) => boolean {
  if (sessionId !== undefined) return (entry) => entry.sessionId === sessionId
  if (person !== undefined) return ({ by }) => store.target === 'user' || (by !== undefined && isBy(by, person))
  const wanted = fold(words ?? '')
    .split(/\s+/)
    .filter(Boolean)
  return ({ text }) => wanted.length > 0 && wanted.every((word) => fold(text).includes(word))
}

/** Holders of keys are named `key:ID`, and the profile that all keys share is `keys`. */
const isBy = (by: string, person: string): boolean =>
  by === person || by === `key:${person}` || (person === 'keys' && /^key:[^:]+$/.test(by))

const fold = (text: string): string => text.normalize('NFKC').toLowerCase()

const writesMatch = ({ operations, sessionId, by }: PendingMemory, isMatch: (entry: KnownEntry) => boolean): boolean =>
  operations.some((operation) =>
    isMatch({
      text: operation.action === 'remove' ? operation.oldText : operation.content,
      ...(sessionId !== undefined && { sessionId }),
      ...(by !== undefined && { by }),
    }),
  )

function describeVersion(
  store: StoreName,
  { n: id, at, by, sessionId, entries }: StoredVersion,
  before: StoredVersion | undefined,
): MemoryVersion {
  const texts = entries.map(({ text }) => text)
  const earlier = before?.entries.map(({ text }) => text) ?? []
  return {
    id,
    ...nameOf(store),
    at,
    ...(by !== undefined && { by }),
    ...(sessionId !== undefined && { sessionId }),
    entries: texts,
    added: texts.filter((text) => !earlier.includes(text)),
    removed: earlier.filter((text) => !texts.includes(text)),
  }
}

const limitedByRole =
  'The role of somebody who has contributed limits tools or risks, so the memory of this tenant stays as it is: it acts in all sessions.'

function explainScope(authority: Authority, verb: 'change' | 'read', scope: Scope): string {
  const reason = isScopeLost(authority, scope) ? `; ${othersLimit}` : ''
  return `The sender may not ${verb} the memory of this tenant: it takes the scope ${scope}${reason}.`
}
