/**
 * Holds the skills of a tenant, beside those that are bundled. Each change is judged by the security scan, replaces all
 * files of a skill at once, and is refused when the skill has changed since it was read.
 */

import { type Authority, isLimitedByRole, marksOfAuthority } from '#agent/core/permission/authority.ts'
import type {
  SkillChange,
  SkillChangeResult,
  SkillContent,
  SkillFile,
  SkillFinding,
  SkillMiss,
  SkillSource,
  SkillSummary,
  SkillView,
} from '#agent/core/skills/skill.ts'
import type { SearchableSkill } from '#agent/skills/search-skills.ts'
import { explainBadSkillName, skillFile } from '#agent/skills/skill-names.ts'
import { blockDangerous, describeFindings } from '#agent/skills/skill-verdict.ts'
import { clock } from '#durable/platform/clock.ts'
import type { ScheduledPart } from '#durable/platform/part-schedule.ts'
import type { TenantAudit } from '../audit.ts'
import { type ChangeCheck, TenantPart } from '../tenant-part.ts'
import type { StoredValues } from '../stored-values.ts'
import { loadBundledSkills, type OfferedSkill } from './bundled-skills.ts'
import { type CheckedSkill, checkSkill, decodeText } from './check-skill.ts'
import { archiveAfterMs, canBecomeStale, isForeign, lastActivity, toSummary } from './skill-summary.ts'
import { hashFiles, type SkillRecord, type SkillRows } from './skill-rows.ts'
import { explainRefusedChange, isLearningReview } from '#agent/skills/change-guard.ts'

export type TenantSkillsOptions = {
  readonly mayChange: ChangeCheck
  readonly rows: SkillRows
  readonly values: StoredValues
  readonly audit: TenantAudit
  /** Called in the same synchronous stretch as a change of what new sessions are offered. */
  readonly onChange: () => void
  readonly armAlarm: () => void
}

export type SkillWrite = {
  readonly name?: string | undefined
  readonly files: readonly SkillContent[]
  readonly source: Exclude<SkillSource, 'bundled'>
  /** `create`: refused when the tenant has a skill of the name. `replace`: refused when it has none. */
  readonly mode: 'create' | 'replace' | 'either'
  readonly isCautionAccepted: boolean
  readonly origin?: { readonly url: string; readonly choice?: string | undefined }
}

export type SkillFileWrite = {
  readonly path: string
  readonly bytes: Uint8Array | undefined
  readonly isCautionAccepted: boolean
}

export type SkillWriteResult =
  | { readonly kind: 'stored'; readonly summary: SkillSummary; readonly findings: readonly SkillFinding[] }
  | { readonly kind: 'foreign' | 'unknown' | 'exists' | 'full' }
  | { readonly kind: 'invalid'; readonly error: string }
  | { readonly kind: 'caution' | 'dangerous'; readonly findings: readonly SkillFinding[] }

export type SkillExport = {
  readonly summary: SkillSummary
  readonly files: readonly SkillContent[]
  readonly listed: readonly SkillFile[]
  /** The name that chose an imported skill at its address, and the hash of what was imported. */
  readonly choice: string | undefined
  readonly importedHash: string | undefined
}

const maxSkills = 300
const maxSimilar = 5
/** A use within this time is not stored again. */
const useIntervalMs = 3_600_000
const maxTries = 3

const hasForeign = (authority: Authority, keepsForeign = false): boolean =>
  keepsForeign || marksOfAuthority(authority).isForeign === true

export class TenantSkills extends TenantPart implements ScheduledPart {
  readonly #options: TenantSkillsOptions
  readonly #rows: SkillRows
  readonly #curator: SkillCurator

  constructor(options: TenantSkillsOptions) {
    super(options.mayChange)
    const { rows, values, onChange } = options
    this.#options = options
    this.#rows = rows
    this.#curator = new SkillCurator({ rows, values, onArchive: onChange })
  }

  /** All skills, by name. */
  async list(authority: Authority): Promise<readonly SkillSummary[]> {
    this.requireOwn(authority)
    const bundled = await loadBundledSkills()
    const now = clock.now()
    const own = new Map(this.#rows.list().map((record) => [record.name, record]))
    const records = [...own.values()].filter(({ source }) => source !== 'bundled')
    const shipped = [...bundled.values()]
      .filter(({ record }) => (own.get(record.name)?.source ?? 'bundled') === 'bundled')
      .map(({ record }) => withFlags(record, own.get(record.name)))
    return [...records, ...shipped].map((record) => toSummary(record, now)).toSorted(byName)
  }

  /** Names of the skills that fit the words, the best ones first. */
  async search(authority: Authority, query: string): Promise<readonly string[]> {
    const found: SearchableSkill[] = []
    for (const { head } of await this.list(authority)) {
      const bytes = await (await this.#find(head.name))?.read(skillFile)
      found.push({ head, text: (bytes && decodeText(bytes)) ?? '' })
    }
    return (await import('#agent/skills/search-skills.ts')).searchSkills(found, query)
  }

  /** Returns one file for the model, without what it must not read. It counts as a use. */
  async view(authority: Authority, name: string, path = skillFile): Promise<SkillView | SkillMiss> {
    this.requireOwn(authority)
    const found = await this.#find(name)
    if (!found) return { kind: 'unknown', similar: await this.#similar(name) }
    const { record, files } = found
    if (record.archivedAt !== undefined) return { kind: 'archived' }
    const file = files.find((one) => one.path === path)
    const bytes = file && (await found.read(path))
    if (!file || !bytes) return { kind: 'unknown-file', known: files.map((one) => one.path) }
    this.#recordUse(name)
    const text = decodeText(bytes)
    const content = text === undefined ? undefined : blockDangerous(text, record.source)
    return { kind: 'skill', summary: toSummary(record, clock.now()), path, fileHash: file.hash, content, files }
  }

  /** Returns all files as they are stored: for exports, and for commands in the workspace. */
  async read(authority: Authority, name: string): Promise<SkillExport | undefined> {
    this.requireOwn(authority)
    const found = await this.#find(name)
    if (!found) return undefined
    const { record } = found
    return {
      summary: toSummary(record, clock.now()),
      files: await readAll(found),
      listed: found.files,
      choice: record.origin?.choice,
      importedHash: record.origin?.hash,
    }
  }

  /** Stores a whole skill for a person or an import. */
  async write(authority: Authority, write: SkillWrite): Promise<SkillWriteResult> {
    if (!this.#mayWrite(authority)) return { kind: 'foreign' }
    if (write.mode === 'replace' && !this.#own(write.name ?? '')) return { kind: 'unknown' }
    const checked = await checkSkill(write.files, write.source, write.name)
    if (!checked.ok) return { kind: 'invalid', error: checked.error }
    const before = this.#own(checked.head.name)
    const refused = this.#refuseWrite(checked, write, before)
    if (refused) return refused
    const summary = await this.#store(authority, checked, { ...write, before })
    return summary ? { kind: 'stored', summary, findings: checked.findings } : this.write(authority, write)
  }

  /** Writes or removes one file for a person. `bytes` undefined: removes it. */
  async writeFile(authority: Authority, name: string, file: SkillFileWrite): Promise<SkillWriteResult> {
    if (!this.#mayWrite(authority)) return { kind: 'foreign' }
    const before = this.#own(name)
    const found = before && (await this.#find(name))
    if (!found) return { kind: 'unknown' }
    const { path, bytes, isCautionAccepted } = file
    const others = (await readAll(found)).filter((one) => one.path !== path)
    if (!bytes && others.length === found.files.length) return { kind: 'unknown' }
    const write = { name, source: 'user' as const, mode: 'replace' as const, isCautionAccepted }
    const files = bytes ? [...others, { path, bytes }] : others
    const isSame = this.#own(name)?.hash === before.hash
    return isSame ? this.write(authority, { ...write, files }) : this.writeFile(authority, name, file)
  }

  /** Skills act in all sessions: whoever writes them may do what any of them may. */
  #mayWrite(authority: Authority): boolean {
    return this.mayChange(authority, 'write') && !isLimitedByRole(authority)
  }

  #refuseWrite(
    { verdict, findings }: CheckedSkill,
    { mode, isCautionAccepted }: SkillWrite,
    before: SkillRecord | undefined,
  ): SkillWriteResult | undefined {
    if (verdict === 'dangerous') return { kind: 'dangerous', findings }
    if (verdict === 'caution' && !isCautionAccepted) return { kind: 'caution', findings }
    if (before && mode === 'create') return { kind: 'exists' }
    return !before && this.#isFull() ? { kind: 'full' } : undefined
  }

  /** Changes a skill for the model. `readHash`: of the changed file, when the caller has read it. */
  async change(
    authority: Authority,
    change: SkillChange,
    given: { readonly readHash?: string | undefined; readonly isCautionAccepted: boolean },
  ): Promise<SkillChangeResult> {
    this.requireOwn(authority)
    if (!this.mayChange(authority, 'write', 'approve')) return refuse(needsScope)
    if (isLimitedByRole(authority)) return refuse(limitedByRole)
    const badName = explainBadSkillName(change.name)
    if (badName !== undefined) return refuse(badName)
    for (let tried = 0; tried < maxTries; tried++) {
      const result = await this.#tryChange(authority, change, given)
      if (result) return result
    }
    return refuse(`${change.name} is being changed by others. Read it again and repeat the change.`)
  }

  /** Pins, archives or restores a skill. Undefined for an unknown one. */
  async mark(
    authority: Authority,
    name: string,
    { isPinned, isArchived }: { readonly isPinned?: boolean | undefined; readonly isArchived?: boolean | undefined },
  ): Promise<SkillSummary | undefined> {
    if (!this.#mayWrite(authority)) return undefined
    const found = await this.#find(name)
    if (!found) return undefined
    const { record } = found
    if (isPinned === undefined && isArchived === undefined) return toSummary(record, clock.now())
    const archivedAt = isArchived ? (record.archivedAt ?? clock.now()) : undefined
    const marked: SkillRecord = {
      ...record,
      ...(isPinned !== undefined && { isPinned }),
      // A restored skill counts as used, so that it is not archived again at once.
      ...(isArchived !== undefined && { archivedAt, ...(!isArchived && { usedAt: clock.now() }) }),
    }
    this.#rows.update(marked)
    this.#changed(authority, 'skill.changed', name)
    return toSummary(marked, clock.now())
  }

  /** False for an unknown or bundled skill. */
  async remove(authority: Authority, name: string): Promise<boolean | 'pinned'> {
    if (!this.#mayWrite(authority)) return false
    const record = this.#own(name)
    if (!record) return false
    if (record.isPinned) return 'pinned'
    await this.#delete(authority, name)
    return true
  }

  wakeAt(): number | undefined {
    return this.#curator.wakeAt()
  }

  wake(now: number): Promise<void> {
    return this.#curator.wake(now)
  }

  /** Undefined: the skill changed meanwhile, so the change has to be computed again. */
  async #tryChange(
    authority: Authority,
    change: SkillChange,
    { readHash, isCautionAccepted }: { readonly readHash?: string | undefined; readonly isCautionAccepted: boolean },
  ): Promise<SkillChangeResult | undefined> {
    const found = await this.#find(change.name)
    const refusal = (await this.#explainMissing(change, found)) ?? explainGuard(authority, change, found, readHash)
    if (refusal !== undefined) return refuse(refusal)
    if (change.action === 'delete') return this.#deleteFor(authority, change)
    const { applyChange } = await import('./apply-change.ts')
    const before = this.#own(change.name)
    const applied = applyChange(found ? await readAll(found) : [], change)
    if (!applied.ok) return refuse(applied.error)
    const source = before?.source ?? 'agent'
    const checked = await checkSkill(applied.files, source, change.name)
    if (!checked.ok) return refuse(checked.error)
    const error = explainFindings(checked, before, isCautionAccepted)
    if (error !== undefined) return { kind: 'refused', error, findings: checked.findings }
    const keepsForeign = before !== undefined && isForeign(before)
    const summary = await this.#store(authority, checked, { files: applied.files, source, before, keepsForeign })
    return summary && { kind: 'done', summary, findings: checked.findings }
  }

  async #explainMissing({ action, name }: SkillChange, found: OfferedSkill | undefined): Promise<string | undefined> {
    if (action !== 'create') return found ? undefined : explainUnknown(name, await this.#similar(name))
    if (this.#isFull()) return `There are ${maxSkills} skills already. Improve or delete one.`
    return found ? `There is a skill ${name} already. Change it with patch or edit, or choose another name.` : undefined
  }

  async #deleteFor(
    authority: Authority,
    change: Extract<SkillChange, { action: 'delete' }>,
  ): Promise<SkillChangeResult> {
    const { name, absorbedInto } = change
    if (absorbedInto !== undefined && (absorbedInto === name || !(await this.#find(absorbedInto))))
      return refuse(`absorbed_into names no other skill: ${absorbedInto}. Create or change that one first.`)
    await this.#delete(authority, name, absorbedInto)
    return { kind: 'done', findings: [] }
  }

  async #delete(authority: Authority, name: string, absorbedInto?: string): Promise<void> {
    const unused = this.#rows.remove(name)
    this.#changed(authority, 'skill.deleted', name, absorbedInto === undefined ? {} : { absorbed_into: absorbedInto })
    await this.#rows.deleteBlobs(unused)
  }

  /** Stores all files at once. Undefined when the skill is no longer `before`. */
  async #store(
    authority: Authority,
    { head, verdict }: CheckedSkill,
    {
      files,
      source,
      before,
      origin,
      keepsForeign,
    }: Pick<SkillWrite, 'files' | 'origin'> & {
      readonly source: SkillSource
      /** A part of the skill stays that others wrote. */
      readonly keepsForeign?: boolean
      readonly before: SkillRecord | undefined
    },
  ): Promise<SkillSummary | undefined> {
    const placed = await this.#rows.place(head.name, files)
    const hash = await hashFiles(placed)
    // One synchronous stretch from here on.
    const current = this.#own(head.name)
    if (current?.hash !== before?.hash) {
      await this.#rows.deleteBlobs(placed.flatMap(({ blob }) => blob ?? []))
      return undefined
    }
    const now = clock.now()
    const record: SkillRecord = {
      name: head.name,
      source,
      head,
      verdict,
      isPinned: current?.isPinned ?? false,
      archivedAt: undefined,
      hash,
      createdAt: current?.createdAt ?? now,
      updatedAt: now,
      usedAt: current?.usedAt,
      origin: origin ? { ...origin, hash } : current?.origin,
      isForeign: hasForeign(authority, keepsForeign),
    }
    const unused = this.#rows.write(record, placed)
    this.#changed(authority, current ? 'skill.changed' : 'skill.created', head.name, { source, verdict, hash })
    await this.#rows.deleteBlobs(unused)
    return toSummary(record, now)
  }

  #changed(
    authority: Authority,
    kind: 'skill.created' | 'skill.changed' | 'skill.deleted',
    subject: string,
    details: Readonly<Record<string, unknown>> = {},
  ): void {
    this.#options.audit.add(authority, { kind, subject, details })
    this.#options.onChange()
    this.#options.armAlarm()
  }

  #isFull(): boolean {
    return this.#rows.list().length >= maxSkills
  }

  /** The row of a skill that is the tenant's own. */
  #own(name: string): SkillRecord | undefined {
    const record = this.#rows.get(name)
    return record?.source === 'bundled' ? undefined : record
  }

  async #find(name: string): Promise<OfferedSkill | undefined> {
    const bundled = (await loadBundledSkills()).get(name)
    const record = this.#rows.get(name)
    if (record && record.source !== 'bundled') {
      const files = this.#rows.files(name).map(({ blob: _blob, ...file }) => file)
      return { record, files, read: (path) => this.#rows.read(name, path) }
    }
    return bundled && { ...bundled, record: withFlags(bundled.record, record) }
  }

  async #similar(name: string): Promise<readonly string[]> {
    const words = name.toLowerCase().split(/[^a-z0-9]+/)
    const names = [...(await loadBundledSkills()).keys(), ...this.#rows.list().map((record) => record.name)]
    const isSimilar = (one: string) => words.some((word) => word.length > 2 && one.includes(word))
    return [...new Set(names)].filter(isSimilar).slice(0, maxSimilar)
  }

  /** A bundled skill has no row, and its uses change nothing. */
  #recordUse(name: string): void {
    const record = this.#own(name)
    const now = clock.now()
    if (record && now - (record.usedAt ?? 0) >= useIntervalMs) this.#rows.update({ ...record, usedAt: now })
  }
}

const refuse = (error: string): SkillChangeResult => ({ kind: 'refused', error })

const byName = (one: SkillSummary, other: SkillSummary): number => (one.head.name < other.head.name ? -1 : 1)

const withFlags = (record: SkillRecord, flags: SkillRecord | undefined): SkillRecord =>
  flags ? { ...record, isPinned: flags.isPinned, archivedAt: flags.archivedAt } : record

async function readAll({ files, read }: OfferedSkill): Promise<readonly SkillContent[]> {
  const contents = await Promise.all(files.map(async ({ path }) => ({ path, bytes: await read(path) })))
  return contents.flatMap(({ path, bytes }) => (bytes ? [{ path, bytes }] : []))
}

const limitedByRole =
  'The role of somebody who has contributed limits tools or risks, so skills stay as they are: they act in all sessions.'

/** Explains to the model why a change of a skill is refused, and what to do instead. */
const needsScope =
  'The sender may not change skills, because they act in all sessions: it takes a key with the scope write, or an admin of the channel.'

const explainUnknown = (name: string, similar: readonly string[]): string =>
  `There is no skill ${name}.${similar.length ? ` Similar: ${similar.join(', ')}.` : ' Call skills_list.'}`

function explainGuard(
  authority: Authority,
  change: SkillChange,
  found: OfferedSkill | undefined,
  readHash: string | undefined,
): string | undefined {
  const files = new Map(found?.files.map((one) => [one.path, one.hash]))
  const context = { isReview: isLearningReview(authority), files, readHash }
  return found && explainRefusedChange(change, found.record, context)
}

/** Explains why text is refused. What a person accepted before stays accepted. */
function explainFindings(
  { verdict, findings }: CheckedSkill,
  before: SkillRecord | undefined,
  isCautionAccepted: boolean,
): string | undefined {
  if (verdict === 'dangerous')
    return `Refused: the text contains directives that a skill may not have (${describeFindings(findings)}). Describe the task instead.`
  if (verdict === 'safe' || isCautionAccepted || before?.verdict === 'caution') return undefined
  return `Refused: the text needs the approval of a person (${describeFindings(findings)}). Write the passage in one call, so that it can be approved, or leave it out.`
}

const intervalMs = 86_400_000
/** Name of the stored value: when the curator ran last. */
const ranAtName = 'skills curated'

type CuratorOptions = {
  readonly rows: SkillRows
  readonly values: StoredValues
  /** Called in the same synchronous stretch as each change. */
  readonly onArchive: (record: SkillRecord) => void
}

/**
 * Archives skills that nobody has used or changed for ninety days. An archived skill keeps its files and can be restored.
 * Also deletes contents in R2 that no skill uses, as a crash between two writes may leave them.
 */
class SkillCurator implements ScheduledPart {
  readonly #options: CuratorOptions

  constructor(options: CuratorOptions) {
    this.#options = options
  }

  /** At most once a day, and never for a tenant without skills that can become stale. */
  wakeAt(): number | undefined {
    const { rows, values } = this.#options
    const times = rows
      .list()
      .filter(canBecomeStale)
      .map((record) => lastActivity(record) + archiveAfterMs)
    if (times.length === 0) return undefined
    return Math.max(Math.min(...times), (values.get<number>(ranAtName) ?? 0) + intervalMs)
  }

  async wake(now: number): Promise<void> {
    const { rows, values, onArchive } = this.#options
    values.set(ranAtName, now)
    for (const record of rows.list().filter(canBecomeStale)) {
      if (now - lastActivity(record) < archiveAfterMs) continue
      const archived = { ...record, archivedAt: clock.now() }
      rows.update(archived)
      onArchive(archived)
    }
    await rows.deleteUnused(now - intervalMs)
  }
}
