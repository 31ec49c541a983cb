/**
 * Stores what belongs to the chats of a tenant and to no single session: the home chat of each platform, the last messages
 * of groups that were not meant for the agent, the ids under which a platform knows the same person, and the names of
 * deliveries whose signatures do not cover them.
 */

import type { Authority } from '#agent/core/permission/authority.ts'
import { type EarlierRights, listEarlierRights } from '#agent/core/permission/contribution.ts'
import type { ChatOrigin } from '#agent/core/delivery.ts'
import { clock } from '#durable/platform/clock.ts'
import { type ChangeCheck, TenantPart } from '../tenant-part.ts'
import type { StoredValues } from '../stored-values.ts'

/** The chat that gets what is sent to a platform without a chat. */
export type HomeChat = { readonly sessionId: string; readonly chat: ChatOrigin }

/** A message of a group that was not meant for the agent. Later ones have a higher number. */
export type GroupLine = {
  readonly n: number
  readonly line: string
  /** Of its author. Absent in lines that are older than this field. */
  readonly rights?: readonly EarlierRights[]
}

const homesName = 'chat_homes'
const schema = [
  `CREATE TABLE IF NOT EXISTS group_line (n INTEGER PRIMARY KEY AUTOINCREMENT, chat TEXT NOT NULL, key TEXT NOT NULL,
    at INTEGER NOT NULL, line TEXT NOT NULL)`,
  'CREATE UNIQUE INDEX IF NOT EXISTS group_line_key ON group_line(chat, key)',
  'CREATE TABLE IF NOT EXISTS group_line_author (n INTEGER PRIMARY KEY, rights TEXT NOT NULL)',
  'CREATE TABLE IF NOT EXISTS person_alias (platform TEXT NOT NULL, alias TEXT NOT NULL, person TEXT NOT NULL, PRIMARY KEY (platform, alias)) WITHOUT ROWID',
  'CREATE INDEX IF NOT EXISTS person_alias_person ON person_alias(platform, person)',
  'CREATE TABLE IF NOT EXISTS claimed_delivery (proof TEXT PRIMARY KEY, at INTEGER NOT NULL, delivery TEXT NOT NULL) WITHOUT ROWID',
]
/** Of each group. */
const maxLines = 50
/** Older lines are no context any more. */
const retentionMs = 2 * 86_400_000
const maxAliases = 8
/** Longer than a signature is accepted. */
const proofRetentionMs = 900_000

export class TenantChats extends TenantPart {
  readonly #sqlStorage: SqlStorage
  readonly #values: StoredValues
  #hasTables = false

  constructor(mayChange: ChangeCheck, sql: SqlStorage, values: StoredValues) {
    super(mayChange)
    this.#sqlStorage = sql
    this.#values = values
  }

  /** Undefined removes the home. */
  setHome(authority: Authority, platform: string, home: HomeChat | undefined): void {
    this.requireOwn(authority, 'chat', 'write')
    const { [platform]: _before, ...others } = this.#homes()
    this.#values.set(homesName, home ? { ...others, [platform]: home } : others)
  }

  home(authority: Authority, platform: string): HomeChat | undefined {
    this.requireOwn(authority)
    return this.findHome(platform)
  }

  /** For other parts of the tenant's object. */
  readonly findHome = (platform: string): HomeChat | undefined => {
    const homes = this.#homes()
    return Object.hasOwn(homes, platform) ? homes[platform] : undefined
  }

  #homes = (): Readonly<Record<string, HomeChat>> => this.#values.get(homesName) ?? {}

  /** Stores a line once. `chat`: the name of the group with its thread. `key`: the same in every delivery. */
  addLine(authority: Authority, chat: string, { key, line }: { readonly key: string; readonly line: string }): void {
    this.requireOwn(authority, 'chat')
    const now = clock.now()
    const insert = 'INSERT INTO group_line (chat, key, at, line) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING n'
    const [added] = this.#sql.exec<{ n: number }>(insert, chat, key, now, line).toArray()
    if (added) {
      const rights = JSON.stringify(listEarlierRights(authority))
      this.#sql.exec('INSERT INTO group_line_author VALUES (?, ?)', added.n, rights)
    }
    this.#sql.exec('DELETE FROM group_line WHERE at < ?', now - retentionMs)
    const prune = `DELETE FROM group_line WHERE chat = ? AND n <= coalesce((SELECT n FROM group_line WHERE chat = ?
      ORDER BY n DESC LIMIT 1 OFFSET ${maxLines}), 0)`
    this.#sql.exec(prune, chat, chat)
    this.#sql.exec('DELETE FROM group_line_author WHERE n NOT IN (SELECT n FROM group_line)')
  }

  /** The lines behind the number `after`, oldest first. */
  linesSince(authority: Authority, chat: string, after: number): readonly GroupLine[] {
    this.requireOwn(authority)
    const query = `SELECT n, line, rights FROM group_line LEFT JOIN group_line_author USING (n)
      WHERE chat = ? AND n > ? AND at >= ? ORDER BY n`
    const rows = this.#sql.exec<{ n: number; line: string; rights: string | null }>(
      query,
      chat,
      after,
      clock.now() - retentionMs,
    )
    return rows.toArray().map(({ n, line, rights }) => ({
      n,
      line,
      ...(rights !== null && { rights: JSON.parse(rights) as EarlierRights[] }),
    }))
  }

  /**
   * All ids of a person, beginning with the one under which they were seen first. Platforms name one person by a number,
   * a user id or both; every id that ever came together with a known one means the same person. Nothing is stored about
   * strangers.
   */
  resolvePerson(authority: Authority, platform: string, ids: readonly string[], isStranger: boolean): string[] {
    this.requireOwn(authority)
    const given = [...new Set(ids)].slice(0, maxAliases)
    const find = 'SELECT person FROM person_alias WHERE platform = ? AND alias = ?'
    const known = given
      .flatMap((alias) => this.#sql.exec<{ person: string }>(find, platform, alias).toArray())
      .map(({ person }) => person)[0]
    const person = known ?? given[0] ?? ''
    const insert = 'INSERT INTO person_alias VALUES (?, ?, ?) ON CONFLICT DO NOTHING'
    if (given.length > 1 && (known !== undefined || !isStranger))
      for (const alias of given) this.#sql.exec(insert, platform, alias, person)
    const list = `SELECT alias FROM person_alias WHERE platform = ? AND person = ? LIMIT ${maxAliases}`
    const aliases = this.#sql.exec<{ alias: string }>(list, platform, person).toArray()
    return [...new Set([person, ...given, ...aliases.map(({ alias }) => alias)])]
  }

  /** Returns the name with which a signature came first. */
  claimDelivery(authority: Authority, proof: string, delivery: string): string {
    this.requireOwn(authority)
    const now = clock.now()
    this.#sql.exec('DELETE FROM claimed_delivery WHERE at < ?', now - proofRetentionMs)
    this.#sql.exec('INSERT INTO claimed_delivery VALUES (?, ?, ?) ON CONFLICT DO NOTHING', proof, now, delivery)
    const find = 'SELECT delivery FROM claimed_delivery WHERE proof = ?'
    return this.#sql.exec<{ delivery: string }>(find, proof).one().delivery
  }

  /** Creates the tables at the first use: most tenants have no channel. */
  get #sql(): SqlStorage {
    if (!this.#hasTables) for (const statement of schema) this.#sqlStorage.exec(statement)
    this.#hasTables = true
    return this.#sqlStorage
  }
}
