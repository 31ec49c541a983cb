/**
 * Stores the vectors of a tenant's history, quantised to one byte for each dimension. A row has up to 64 of a session, so
 * that a search reads few rows. The tables exist only while an embedding model is set.
 */

import type { SimilarText } from '#db/search/similar.ts'

/** Page, seq of the first message, offset in its text, and the length of the quantised vector. */
type Position = readonly [page: number, seq: number, offset: number, norm: number]

export type EmbeddedChunk = {
  readonly page: number
  readonly seq: number
  readonly offset: number
  readonly vector: readonly number[]
}

/** The last page that was read, and the seq of its last message. */
export type IndexProgress = { readonly page: number; readonly last: number }

type VectorBlock = { readonly block: number; readonly positions: string; readonly vectors: ArrayBuffer }

const schema = [
  'CREATE TABLE IF NOT EXISTS recall_queue (session TEXT PRIMARY KEY, due INTEGER NOT NULL) WITHOUT ROWID',
  `CREATE TABLE IF NOT EXISTS recall_session (session TEXT PRIMARY KEY, page INTEGER NOT NULL,
    last INTEGER NOT NULL) WITHOUT ROWID`,
  `CREATE TABLE IF NOT EXISTS recall_vector (session TEXT NOT NULL, block INTEGER NOT NULL, positions TEXT NOT NULL,
    vectors BLOB NOT NULL, PRIMARY KEY (session, block)) WITHOUT ROWID`,
]
export const recallTables = ['recall_queue', 'recall_session', 'recall_vector'] as const

const chunksPerBlock = 64
/** Texts that have less in common with the query say nothing about it. */
const minSimilarity = 0.2
const minShareOfBest = 0.8

export class VectorRows {
  readonly #sql: SqlStorage

  constructor(sql: SqlStorage) {
    this.#sql = sql
  }

  create(): void {
    for (const statement of schema) this.#sql.exec(statement)
  }

  drop(): void {
    for (const table of recallTables) this.#sql.exec(`DROP TABLE IF EXISTS ${table}`)
  }

  queue(sessionId: string, due: number): void {
    this.#sql.exec(
      'INSERT INTO recall_queue VALUES (?, ?) ON CONFLICT DO UPDATE SET due = excluded.due',
      sessionId,
      due,
    )
  }

  nextDue(): { readonly session: string; readonly due: number } | undefined {
    const query = 'SELECT session, due FROM recall_queue ORDER BY due LIMIT 1'
    return this.#sql.exec<{ session: string; due: number }>(query).toArray()[0]
  }

  isQueued(sessionId: string): boolean {
    return this.#sql.exec('SELECT 1 FROM recall_queue WHERE session = ?', sessionId).toArray().length > 0
  }

  /** Leaves a session that was queued again meanwhile. */
  dequeue(sessionId: string, due: number): void {
    this.#sql.exec('DELETE FROM recall_queue WHERE session = ? AND due = ?', sessionId, due)
  }

  progress(sessionId: string): IndexProgress | undefined {
    const query = 'SELECT page, last FROM recall_session WHERE session = ?'
    return this.#sql.exec<{ page: number; last: number }>(query, sessionId).toArray()[0]
  }

  add(sessionId: string, chunks: readonly EmbeddedChunk[], { page, last }: IndexProgress): void {
    const newest = this.#blocks(sessionId, 'ORDER BY block DESC LIMIT 1')[0]
    const isOpen = newest !== undefined && countPositions(newest) < chunksPerBlock
    let block = newest ? newest.block + (isOpen ? 0 : 1) : 0
    const held = isOpen ? unpack(newest) : []
    const all = [...held, ...chunks.map(toPosition)]
    if (chunks.length)
      for (let at = 0; at < all.length; at += chunksPerBlock)
        this.#writeBlock(sessionId, block++, all.slice(at, at + chunksPerBlock))
    const upsert = 'INSERT INTO recall_session VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET page = ?2, last = ?3'
    this.#sql.exec(upsert, sessionId, page, last)
  }

  /** Removes the vectors of pages from `from` on, and takes the progress back. */
  removeFrom(sessionId: string, from: number): void {
    let lastPage: Position | undefined
    for (const block of this.#blocks(sessionId, 'ORDER BY block')) {
      const all = unpack(block)
      const left = all.filter(({ position }) => position[0] < from)
      lastPage = left.at(-1)?.position ?? lastPage
      if (left.length === all.length) continue
      this.#sql.exec('DELETE FROM recall_vector WHERE session = ? AND block = ?', sessionId, block.block)
      if (left.length) this.#writeBlock(sessionId, block.block, left)
    }
    const progress = this.progress(sessionId)
    if (!progress || progress.page < from) return
    if (!lastPage) this.#sql.exec('DELETE FROM recall_session WHERE session = ?', sessionId)
    // The seq of its last message is unknown: the page is read again.
    else this.#sql.exec('UPDATE recall_session SET page = ?, last = 0 WHERE session = ?', lastPage[0], sessionId)
  }

  remove(sessionId: string): void {
    for (const table of recallTables) this.#sql.exec(`DELETE FROM ${table} WHERE session = ?`, sessionId)
  }

  /** The texts whose vectors are the most similar, best first. Reads every row of the tenant, or those of one session. */
  nearest(vector: readonly number[], limit: number, sessionId?: string): readonly SimilarText[] {
    const query = quantise(vector)
    const best = new Nearest(limit)
    const sql = 'SELECT session, positions, vectors FROM recall_vector'
    const rows =
      sessionId === undefined
        ? this.#sql.exec<VectorBlock & { session: string }>(sql)
        : this.#sql.exec<VectorBlock & { session: string }>(`${sql} WHERE session = ?`, sessionId)
    for (const { session, positions, vectors } of rows) {
      const parsed = JSON.parse(positions) as readonly Position[]
      // A model that changed its dimensions is indexed anew with its name.
      if (vectors.byteLength !== parsed.length * query.bytes.length) continue
      const bytes = new Int8Array(vectors)
      for (const [i, [page, seq, offset, norm]] of parsed.entries()) {
        const similarity = multiply(query.bytes, bytes, i * query.bytes.length) / (query.norm * norm)
        if (similarity > best.floor) best.add(similarity, { session, page, seq, offset })
      }
    }
    return best.list()
  }

  #blocks(sessionId: string, order: string): readonly VectorBlock[] {
    const query = `SELECT block, positions, vectors FROM recall_vector WHERE session = ? ${order}`
    return this.#sql.exec<VectorBlock>(query, sessionId).toArray()
  }

  #writeBlock(sessionId: string, block: number, chunks: readonly PackedChunk[]): void {
    const dimensions = chunks[0]?.bytes.length ?? 0
    const vectors = new Int8Array(chunks.length * dimensions)
    for (const [i, { bytes }] of chunks.entries()) vectors.set(bytes, i * dimensions)
    const positions = JSON.stringify(chunks.map(({ position }) => position))
    const upsert =
      'INSERT INTO recall_vector VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET positions = ?3, vectors = ?4'
    this.#sql.exec(upsert, sessionId, block, positions, vectors.buffer)
  }
}

type PackedChunk = { readonly position: Position; readonly bytes: Int8Array }

function toPosition({ page, seq, offset, vector }: EmbeddedChunk): PackedChunk {
  const { bytes, norm } = quantise(vector)
  return { position: [page, seq, offset, norm], bytes }
}

const countPositions = ({ positions }: VectorBlock): number => (JSON.parse(positions) as readonly Position[]).length

function unpack({ positions, vectors }: VectorBlock): readonly PackedChunk[] {
  const parsed = JSON.parse(positions) as readonly Position[]
  const dimensions = vectors.byteLength / Math.max(1, parsed.length)
  return parsed.map((position, i) => ({ position, bytes: new Int8Array(vectors, i * dimensions, dimensions) }))
}

const maxByte = 127

/** Scales a vector so that its largest number is 127. */
function quantise(vector: readonly number[]): { readonly bytes: Int8Array; readonly norm: number } {
  const largest = vector.reduce((most, number) => Math.max(most, Math.abs(number)), 0)
  const bytes = Int8Array.from(vector, (number) => (largest ? Math.round((number / largest) * maxByte) : 0))
  return { bytes, norm: Math.max(1, Math.round(Math.sqrt(multiply(bytes, bytes, 0)))) }
}

function multiply(one: Int8Array, other: Int8Array, from: number): number {
  let sum = 0
  for (let i = 0; i < one.length; i++) sum += one[i]! * other[from + i]!
  return sum
}

/** Keeps the best of many. */
class Nearest {
  floor = minSimilarity
  readonly #limit: number
  #found: { readonly similarity: number; readonly text: SimilarText }[] = []

  constructor(limit: number) {
    this.#limit = limit
  }

  add(similarity: number, text: SimilarText): void {
    this.#found.push({ similarity, text })
    if (this.#found.length >= 2 * this.#limit) this.#cut()
  }

  list(): readonly SimilarText[] {
    this.#cut()
    const least = (this.#found[0]?.similarity ?? 0) * minShareOfBest
    return this.#found.filter(({ similarity }) => similarity >= least).map(({ text }) => text)
  }

  #cut(): void {
    this.#found = this.#found.toSorted((a, b) => b.similarity - a.similarity).slice(0, this.#limit)
    if (this.#found.length === this.#limit) this.floor = this.#found.at(-1)!.similarity
  }
}
