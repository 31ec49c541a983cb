/**
 * Stores the projects of a tenant in its object: a row for each project, member and file. Contents over 32 KiB are in R2
 * below `t/<tenant>/projects/`, so that the deletion, the backup and the measure of a tenant's files cover them. Every
 * method answers for a project that the caller may not see as for an unknown one.
 */

import { listChanges } from '#agent/core/permission/audit.ts'
import { type Authority, hasScope, holderOf, isLimitedByRole } from '#agent/core/permission/authority.ts'
import { type EarlierRights, listEarlierRights } from '#agent/core/permission/contribution.ts'
import { blobPrefix } from '#durable/platform/addresses.ts'
import { clock } from '#durable/platform/clock.ts'
import { sha256Hex } from '#durable/platform/hash.ts'
import type { TenantAudit } from '../audit.ts'
import type { StoredValues } from '../stored-values.ts'
import type { ChangeCheck } from '../tenant-part.ts'
import {
  everyKey,
  maxProjectBytes,
  maxProjectFiles,
  maxProjects,
  type Project,
  type ProjectAccess,
  projectAccesses,
  projectBytesName,
  type ProjectFields,
  type ProjectFile,
  type ProjectMaterial,
  type ProjectMember,
} from './project.ts'

export type ProjectRowsOptions = {
  readonly mayChange: ChangeCheck
  readonly sql: SqlStorage
  readonly values: StoredValues
  readonly audit: TenantAudit
  readonly blobs: R2Bucket | undefined
  readonly tenantId: string
  readonly onRemoved: (id: string) => void
}

/** `forbidden`: the caller sees the project and may not change this. */
export type ProjectRefusal = 'unknown' | 'forbidden'
export type WrittenFile =
  | { readonly kind: 'written'; readonly file: ProjectFile; readonly isNew: boolean }
  | { readonly kind: ProjectRefusal | 'too-many' | 'too-large' | 'blocked' }

type ProjectRow = {
  id: string
  name: string
  instructions: string
  rights: string
  model: string | null
  version: number
  created_at: number
  updated_at: number
}
type FileRow = {
  path: string
  bytes: number
  hash: string
  written_by: string
  rights: string
  updated_at: number
  blob: string | null
}
type MemberRow = { kind: string; name: string; access: string }

const schema = [
  `CREATE TABLE IF NOT EXISTS project (id TEXT PRIMARY KEY, name TEXT NOT NULL, instructions TEXT NOT NULL, rights TEXT NOT NULL,
    model TEXT, version INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) WITHOUT ROWID`,
  `CREATE TABLE IF NOT EXISTS project_member (project TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
    access TEXT NOT NULL, PRIMARY KEY (project, kind, name)) WITHOUT ROWID`,
  `CREATE TABLE IF NOT EXISTS project_file (project TEXT NOT NULL, path TEXT NOT NULL, bytes INTEGER NOT NULL,
    hash TEXT NOT NULL, written_by TEXT NOT NULL, rights TEXT NOT NULL, updated_at INTEGER NOT NULL, blob TEXT, body BLOB,
    PRIMARY KEY (project, path)) WITHOUT ROWID`,
]
const maxInlineBytes = 32 * 1024
/** A row holds 2 MB. */
const maxRowBytes = 2 ** 20

export class ProjectRows {
  readonly #options: ProjectRowsOptions
  readonly #prefix: string

  constructor(options: ProjectRowsOptions) {
    this.#options = options
    this.#prefix = blobPrefix(options.tenantId, 'projects')
    for (const statement of schema) options.sql.exec(statement)
  }

  /** The projects that the caller is a member of, by name. */
  list(authority: Authority): readonly Project[] {
    const rows = this.#options.sql.exec<ProjectRow>('SELECT * FROM project ORDER BY name COLLATE NOCASE, id').toArray()
    return rows.flatMap((row) => {
      const access = this.#accessOf(authority, row.id)
      return access ? [this.#toProject(row, access)] : []
    })
  }

  find(authority: Authority, id: string): Project | undefined {
    const row = this.#row(id)
    const access = row && this.#accessOf(authority, id)
    return access && this.#toProject(row, access)
  }

  /** Repeating it changes nothing. The key or person that creates a project manages it. */
  create(authority: Authority, id: string, fields: ProjectFields): Project | 'full' | 'foreign' {
    if (!this.#options.mayChange(authority, 'write')) return 'foreign'
    if (this.#row(id)) return this.find(authority, id) ?? 'foreign'
    const { sql, values } = this.#options
    if (sql.exec<{ n: number }>('SELECT count(*) AS n FROM project').one().n >= maxProjects) return 'full'
    const { name, instructions, model, members } = fields
    const now = clock.now()
    const rights = instructions ? listEarlierRights(authority) : []
    sql.exec(
      'INSERT INTO project VALUES (?, ?, ?, ?, ?, 1, ?, ?)',
      id,
      name,
      instructions,
      JSON.stringify(rights),
      model,
      now,
      now,
    )
    this.#setMembers(id, withCreator(members, authority))
    values.set(projectBytesName, values.get<number>(projectBytesName) ?? 0)
    this.#audit(authority, 'project.created', id, { name })
    return this.find(authority, id) ?? 'foreign'
  }

  /** Members are changed by those who manage the project, everything else by those who edit it. */
  update(authority: Authority, id: string, change: Partial<ProjectFields>): Project | ProjectRefusal {
    const before = this.find(authority, id)
    if (!before || !this.#options.mayChange(authority, 'write')) return 'unknown'
    if (!hasAccess(before.access, change.members ? 'manage' : 'edit')) return 'forbidden'
    const after = { ...fieldsOf(before), ...change }
    const isRewritten = after.instructions !== before.instructions
    const held = parseRights(this.#row(id)?.rights)
    const rights = isRewritten ? joinRights(held, authority, after.instructions) : held
    this.#options.sql.exec(
      `UPDATE project SET name = ?, instructions = ?, model = ?, rights = ?, version = version + 1, updated_at = ?
        WHERE id = ?`,
      after.name,
      after.instructions,
      after.model,
      JSON.stringify(rights),
      clock.now(),
      id,
    )
    if (change.members) this.#setMembers(id, change.members)
    const changes = listChanges(fieldsOf(before), after)
    if (changes.length) this.#options.audit.add(authority, { kind: 'project.changed', subject: id, changes })
    return this.find(authority, id) ?? 'unknown'
  }

  /** Its sessions stay, with the files that they have. */
  async remove(authority: Authority, id: string): Promise<'removed' | ProjectRefusal> {
    const found = this.find(authority, id)
    if (!found || !this.#options.mayChange(authority, 'write')) return 'unknown'
    if (!hasAccess(found.access, 'manage')) return 'forbidden'
    const blobs = this.#files(id).flatMap(({ blob }) => blob ?? [])
    for (const table of ['project_file', 'project_member'])
      this.#options.sql.exec(`DELETE FROM ${table} WHERE project = ?`, id)
    this.#options.sql.exec('DELETE FROM project WHERE id = ?', id)
    this.#countBytes()
    this.#options.onRemoved(id)
    this.#audit(authority, 'project.deleted', id, { name: found.name })
    await this.#deleteBlobs(blobs)
    return 'removed'
  }

  async readFile(authority: Authority, id: string, path: string): Promise<Uint8Array | undefined> {
    if (!this.find(authority, id)) return undefined
    const query = 'SELECT blob, body FROM project_file WHERE project = ? AND path = ?'
    const [row] = this.#options.sql.exec<{ blob: string | null; body: ArrayBuffer | null }>(query, id, path).toArray()
    if (!row) return undefined
    if (row.blob === null) return new Uint8Array(row.body ?? new ArrayBuffer())
    const object = await this.#options.blobs?.get(row.blob)
    return object ? new Uint8Array(await object.arrayBuffer()) : undefined
  }

  async writeFile(authority: Authority, id: string, path: string, bytes: Uint8Array): Promise<WrittenFile> {
    const refused = this.#refuseFile(authority, id, path, bytes.byteLength)
    if (refused) return { kind: refused }
    const hash = await sha256Hex(bytes)
    const isInline = bytes.byteLength <= maxInlineBytes || !this.#options.blobs
    // A name of its own: a concurrent change never deletes what this one stores.
    const blob = isInline ? null : `${this.#prefix}${id}/${crypto.randomUUID()}`
    if (blob !== null) await this.#options.blobs?.put(blob, bytes)
    // One synchronous stretch from here on: the project may have changed meanwhile.
    const refusedNow = this.#refuseFile(authority, id, path, bytes.byteLength)
    if (refusedNow) {
      await this.#deleteBlobs(blob === null ? [] : [blob])
      return { kind: refusedNow }
    }
    const before = this.#files(id).find((file) => file.path === path)
    const rights = listEarlierRights(authority)
    this.#options.sql.exec(
      'INSERT OR REPLACE INTO project_file VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
      id,
      path,
      bytes.byteLength,
      hash,
      holderOf(authority),
      JSON.stringify(rights),
      clock.now(),
      blob,
      blob === null ? bytes : null,
    )
    this.#fileChanged(authority, id, { file: path, hash })
    await this.#deleteBlobs(before?.blob ? [before.blob] : [])
    const file = this.#files(id).find((one) => one.path === path)
    return file ? { kind: 'written', file: toFile(file), isNew: !before } : { kind: 'unknown' }
  }

  async removeFile(authority: Authority, id: string, path: string): Promise<'removed' | ProjectRefusal> {
    const found = this.find(authority, id)
    if (!found || !this.#options.mayChange(authority, 'write')) return 'unknown'
    if (!hasAccess(found.access, 'edit')) return 'forbidden'
    const file = this.#files(id).find((one) => one.path === path)
    if (!file) return 'unknown'
    this.#options.sql.exec('DELETE FROM project_file WHERE project = ? AND path = ?', id, path)
    this.#fileChanged(authority, id, { file: path, deleted: true })
    await this.#deleteBlobs(file.blob === null ? [] : [file.blob])
    return 'removed'
  }

  /** Undefined when the caller is no member. `known`: the version that the session has. */
  material(authority: Authority, id: string, known?: number): ProjectMaterial | 'same' | 'gone' | undefined {
    const row = this.#row(id)
    if (!row) return 'gone'
    if (!this.#accessOf(authority, id)) return undefined
    const { version, name, instructions, model } = row
    if (version === known) return 'same'
    return { version, name, instructions, model, rights: parseRights(row.rights), files: this.#files(id).map(toFile) }
  }

  #row(id: string): ProjectRow | undefined {
    return this.#options.sql.exec<ProjectRow>('SELECT * FROM project WHERE id = ?', id).toArray()[0]
  }

  #files(id: string): readonly FileRow[] {
    const query = `SELECT path, bytes, hash, written_by, rights, updated_at, blob FROM project_file WHERE project = ?
      ORDER BY path`
    return this.#options.sql.exec<FileRow>(query, id).toArray()
  }

  #members(id: string): readonly MemberRow[] {
    const query = 'SELECT kind, name, access FROM project_member WHERE project = ? ORDER BY kind DESC, name'
    return this.#options.sql.exec<MemberRow>(query, id).toArray()
  }

  #setMembers(id: string, members: readonly ProjectMember[]): void {
    const { sql } = this.#options
    sql.exec('DELETE FROM project_member WHERE project = ?', id)
    for (const member of members) {
      const [kind, name] = 'role' in member ? ['role', member.role] : ['key', member.key]
      sql.exec('INSERT OR REPLACE INTO project_member VALUES (?, ?, ?, ?)', id, kind, name, member.access)
    }
  }

  /** The highest access of the caller. Those who may change the roles of the tenant manage every project. */
  #accessOf(authority: Authority, id: string): ProjectAccess | undefined {
    if (isOwner(authority)) return 'manage'
    const holder = holderOf(authority)
    const roles = (authority.entitlements ?? []).map(({ role }) => role)
    const isMember = ({ kind, name }: MemberRow) =>
      kind === 'key' ? holder === `key:${name}` : name === everyKey ? holder.startsWith('key:') : roles.includes(name)
    const held = this.#members(id).filter(isMember)
    return projectAccesses.findLast((access) => held.some((one) => one.access === access))
  }

  #refuseFile(authority: Authority, id: string, path: string, size: number) {
    const found = this.find(authority, id)
    if (!found || !this.#options.mayChange(authority, 'write')) return 'unknown'
    if (!hasAccess(found.access, 'edit')) return 'forbidden'
    const others = found.files.filter((file) => file.path !== path)
    if (others.some((file) => file.path.startsWith(`${path}/`) || path.startsWith(`${file.path}/`))) return 'blocked'
    if (others.length >= maxProjectFiles) return 'too-many'
    const all = others.reduce((sum, { bytes }) => sum + bytes, size)
    return all > maxProjectBytes || (!this.#options.blobs && size > maxRowBytes) ? 'too-large' : undefined
  }

  #fileChanged(authority: Authority, id: string, details: Readonly<Record<string, unknown>>): void {
    const update = 'UPDATE project SET version = version + 1, updated_at = ? WHERE id = ?'
    this.#options.sql.exec(update, clock.now(), id)
    this.#countBytes()
    this.#audit(authority, 'project.changed', id, details)
  }

  #countBytes(): void {
    const { sql, values } = this.#options
    const query = 'SELECT sum(bytes) AS n FROM project_file WHERE blob IS NULL'
    values.set(projectBytesName, sql.exec<{ n: number | null }>(query).one().n ?? 0)
  }

  async #deleteBlobs(blobs: readonly string[]): Promise<void> {
    if (blobs.length) await this.#options.blobs?.delete([...blobs])
  }

  #audit(
    authority: Authority,
    kind: 'project.created' | 'project.changed' | 'project.deleted',
    subject: string,
    details: Readonly<Record<string, unknown>>,
  ): void {
    this.#options.audit.add(authority, { kind, subject, details })
  }

  #toProject(row: ProjectRow, access: ProjectAccess): Project {
    const { id, name, instructions, model, created_at: createdAt, updated_at: updatedAt } = row
    const members = this.#members(id).map(toMember)
    const files = this.#files(id).map(toFile)
    return { id, name, instructions, model, members, access, files, createdAt, updatedAt }
  }
}

const hasAccess = (held: ProjectAccess, wanted: ProjectAccess): boolean =>
  projectAccesses.indexOf(held) >= projectAccesses.indexOf(wanted)

const isOwner = (authority: Authority): boolean =>
  hasScope(authority, 'approve') &&
  hasScope(authority, 'write') &&
  !authority.entitlements &&
  !isLimitedByRole(authority)

/** Only keys and people of identity providers are members by themselves. */
function withCreator(members: readonly ProjectMember[], authority: Authority): readonly ProjectMember[] {
  const holder = holderOf(authority)
  if (!holder.startsWith('key:')) return members
  const key = holder.slice('key:'.length)
  return [...members.filter((member) => !('key' in member && member.key === key)), { key, access: 'manage' }]
}

const fieldsOf = ({ name, instructions, model, members }: ProjectFields): ProjectFields => ({
  name,
  instructions,
  model,
  members,
})

const parseRights = (text = '[]') => JSON.parse(text) as readonly EarlierRights[]

/** Words of those who have written before may still be there, until the text is empty. */
function joinRights(held: readonly EarlierRights[], by: Authority, text: string): readonly EarlierRights[] {
  if (!text) return []
  const all = [...held, ...listEarlierRights(by)]
  return [...new Map(all.map((rights) => [JSON.stringify(rights), rights])).values()]
}

const toFile = ({ path, bytes, hash, written_by: writtenBy, rights, updated_at: updatedAt }: FileRow): ProjectFile => ({
  path,
  bytes,
  hash,
  updatedAt,
  writtenBy,
  rights: parseRights(rights),
})

function toMember({ kind, name, access }: MemberRow): ProjectMember {
  const held = access as ProjectAccess
  return kind === 'role' ? { role: name, access: held } : { key: name, access: held }
}
