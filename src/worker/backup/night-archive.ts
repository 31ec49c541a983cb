/**
 * The backups of one tenant in R2, in the format of `talaria backup`: sealed parts, and a list of parts for each night. A
 * part is stored once and named by the lists of all nights in which it did not change. While a night is being written,
 * its list grows in pages, so that it goes on after an interruption.
 */

import { readLines } from '#durable/platform/byte-stream.ts'
import { sha256Hex, toHex } from '#durable/platform/hash.ts'
import { uploadInParts } from '#durable/workspace/checkpoint-archive.ts'
import type { NamedTenant } from '#db/tenants.ts'
import { authenticate, scryptCost, sealStream, type TenantKey } from './seal.ts'

const format = 'talaria.backup'
/** Parts that an interrupted night may store again. */
const pageEntries = 50
const dayMs = 86_400_000

export const backupsPrefix = 'backups/'

type NightEntry = {
  readonly name: string
  readonly file: string
  readonly mark: string
  readonly key: string
  readonly bytes: number
  readonly sha256: string
}

export type NightOptions = {
  readonly bucket: R2Bucket
  readonly tenant: NamedTenant
  readonly key: TenantKey
  readonly salt: string
  /** Its date. */
  readonly night: string
}

type StoredParts = { readonly known: ReadonlyMap<string, NightEntry>; readonly pages: number }

export class NightArchive {
  readonly #options: NightOptions
  /** The content of the newest list and of the pages of this night. */
  readonly #known: ReadonlyMap<string, NightEntry>
  readonly #entries = new Map<string, NightEntry>()
  readonly #contentsOf: ReadonlyMap<string, readonly string[]>
  /** Names the passphrase: parts that another one has sealed are not taken over. */
  readonly #keyId: string
  #unsaved: NightEntry[] = []
  #pages: number

  private constructor(options: NightOptions, keyId: string, stored: StoredParts) {
    const { known, pages } = stored
    this.#options = options
    this.#keyId = keyId
    this.#known = known
    this.#pages = pages
    this.#contentsOf = Map.groupBy(known.keys(), sessionOf)
  }

  /** Undefined when the night is complete. */
  static async open(options: NightOptions): Promise<NightArchive | undefined> {
    const { bucket, tenant, key, night } = options
    const lists = await listKeys(bucket, `${folderOf(tenant.id)}night-`)
    if (lists.some(({ key: list }) => list.endsWith(`night-${night}.jsonl`))) return undefined
    const keyId = await sha256Hex(await authenticate(key, format), 4)
    const pages = await listKeys(bucket, `${folderOf(tenant.id)}page-${night}-${keyId}-`)
    const known = new Map<string, NightEntry>()
    for (const { key: list } of [...lists.slice(-1), ...pages])
      for await (const entry of readEntries(bucket, list)) if (entry.key === keyId) known.set(entry.name, entry)
    return new NightArchive(options, keyId, { known, pages: pages.length })
  }

  /** Takes a part over that has not changed, or that this night has stored. */
  keep(name: string, mark: string): boolean {
    const entry = this.#known.get(name)
    if (!entry || entry.mark !== mark) return false
    this.#entries.set(name, entry)
    return true
  }

  has(name: string): boolean {
    return this.#entries.has(name)
  }

  /** For a session that was deleted meanwhile. */
  dropCheckpoints(session: string): void {
    for (const name of this.#entries.keys()) if (sessionOf(name) === session) this.#entries.delete(name)
  }

  /** Takes the checkpoints of a session over that has not changed. */
  keepCheckpoints(session: string): void {
    for (const name of this.#contentsOf.get(session) ?? []) {
      const entry = this.#known.get(name)
      if (entry) this.#entries.set(name, entry)
    }
  }

  /** `mark`: by which a later night knows that nothing has changed. */
  async store(name: string, mark: string, plain: ReadableStream<Uint8Array>): Promise<void> {
    const { bucket, key, tenant } = this.#options
    const file = `${await sha256Hex(`${this.#keyId}\n${name}\n${mark}`, 16)}.sealed`
    const digest = new crypto.DigestStream('SHA-256')
    const [hash, writer] = [digest.digest, digest.getWriter()]
    let bytes = 0
    const onPlain = (part: Uint8Array) => {
      bytes += part.length
      return writer.write(part)
    }
    await uploadInParts(bucket, folderOf(tenant.id) + file, sealStream(plain, { key, name, onPlain }))
    await writer.close()
    const entry = { name, file, mark, key: this.#keyId, bytes, sha256: toHex(new Uint8Array(await hash)) }
    this.#entries.set(name, entry)
    this.#unsaved.push(entry)
    if (this.#unsaved.length >= pageEntries) await this.savePage()
  }

  async savePage(): Promise<void> {
    if (!this.#unsaved.length) return
    const { bucket, tenant, night } = this.#options
    const number = String(this.#pages++).padStart(6, '0')
    await bucket.put(`${folderOf(tenant.id)}page-${night}-${this.#keyId}-${number}.jsonl`, toLines(this.#unsaved))
    this.#unsaved = []
  }

  /** Completes the night. Returns the number of its parts. */
  async finish(at: number): Promise<number> {
    const { bucket, tenant, key, salt, night } = this.#options
    const names = [...this.#entries.keys()]
    const hashes = names.map((name) => `${name} ${this.#entries.get(name)?.sha256}`)
    const sealing = { salt, cost: scryptCost, check: await authenticate(key, format) }
    const mac = await authenticate(key, hashes.join('\n'))
    const end = { name: 'end', at: new Date(at).toISOString(), names, mac, sealing }
    const about = { format, version: 2, tenant, ...sealing }
    const folder = folderOf(tenant.id)
    await bucket.put(`${folder}archive.json`, `${JSON.stringify(about, null, 2)}\n`)
    await bucket.put(`${folder}night-${night}.jsonl`, toLines([...this.#entries.values(), end]))
    await deleteKeys(
      bucket,
      (await listKeys(bucket, `${folder}page-`)).map(({ key: page }) => page),
    )
    return names.length
  }
}

/** The dates of the nights that are complete, newest first. */
export async function listNights(bucket: R2Bucket, tenantId: string): Promise<readonly string[]> {
  const prefix = `${folderOf(tenantId)}night-`
  return (await listKeys(bucket, prefix)).map(({ key }) => key.slice(prefix.length, -'.jsonl'.length)).toReversed()
}

export const nightFilePattern = /^(?:archive\.json|night-[0-9-]{10}\.jsonl|[0-9a-f]{32}\.sealed)$/

export const readNightFile = (bucket: R2Bucket, tenantId: string, name: string): Promise<R2ObjectBody | null> =>
  bucket.get(folderOf(tenantId) + name)

const folderOf = (tenantId: string): string => `${backupsPrefix}${tenantId}/`
const toLines = (lines: readonly object[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('')

/** The session whose checkpoints a part belongs to; empty for others. */
const sessionOf = (name: string): string => /^(?:checkpoints:|kept:s\/)([^/]+)/.exec(name)?.[1] ?? ''

async function* readEntries(bucket: R2Bucket, key: string): AsyncGenerator<NightEntry> {
  const found = await bucket.get(key)
  if (!found) return
  for await (const line of readLines(found.body)) {
    const entry = JSON.parse(line) as NightEntry
    if (entry.name !== 'end') yield entry
  }
}

async function listKeys(bucket: R2Bucket, prefix: string): Promise<R2Object[]> {
  const found: R2Object[] = []
  for (let cursor: string | undefined, isMore = true; isMore;) {
    const page: R2Objects = await bucket.list({ prefix, ...(cursor && { cursor }) })
    found.push(...page.objects)
    isMore = page.truncated
    if (page.truncated) cursor = page.cursor
  }
  return found
}

const keysPerDelete = 1_000

async function deleteKeys(bucket: R2Bucket, keys: readonly string[]): Promise<void> {
  for (let at = 0; at < keys.length; at += keysPerDelete) await bucket.delete(keys.slice(at, at + keysPerDelete))
}

type SweepOptions = { readonly bucket: R2Bucket; readonly now: number; readonly days: number }

/**
 * Deletes nights that are older than `days`, and the parts that no other night names. The newest night of a tenant that
 * exists stays. A part of the last day may belong to a night that is being written.
 */
export async function deleteOldNights(
  { bucket, now, days }: SweepOptions,
  tenantId: string,
  exists: boolean,
): Promise<void> {
  const folder = folderOf(tenantId)
  const oldest = `${folder}night-${new Date(now - days * dayMs).toISOString().slice(0, 10)}.jsonl`
  const nights = (await listKeys(bucket, `${folder}night-`)).map(({ key }) => key)
  const newest = exists ? nights.at(-1) : undefined
  const expired = nights.filter((key) => key < oldest && key !== newest)
  if (!expired.length) return
  await deleteKeys(bucket, expired)
  const kept = nights.filter((key) => !expired.includes(key))
  const used = new Set<string>()
  for (const key of kept) for await (const { file } of readEntries(bucket, key)) used.add(folder + file)
  const isUnused = ({ key, uploaded }: R2Object) =>
    kept.length ? key.endsWith('.sealed') && !used.has(key) && uploaded.getTime() < now - dayMs : true
  await deleteKeys(
    bucket,
    (await listKeys(bucket, folder)).filter(isUnused).map(({ key }) => key),
  )
}
