/**
 * People who are not named in any settings and want to talk: they get a code, and who owns the tenant gives it back. A
 * code is told once, to the person; here only its hash is kept. Few are open at a time, they do not last, and guessing
 * is stopped.
 */

const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'
const codeLength = 8
const validMs = 3_600_000
/** The same person gets no second code before. */
const pauseMs = 600_000
const mostPending = 3
const mostWrong = 5
const lockMs = 3_600_000

export type Met = { readonly is: 'approved' | 'unknown' } | { readonly is: 'told'; readonly code: string }

export type Approval =
  | { readonly is: 'approved'; readonly person: string; readonly name: string }
  | { readonly is: 'wrong' }
  /** Seconds. */
  | { readonly is: 'locked'; readonly retryAfter: number }

export type PairedPerson = {
  readonly platform: string
  readonly person: string
  readonly name: string
  readonly status: 'pending' | 'approved'
  readonly at: number
}

const schema = [
  `CREATE TABLE IF NOT EXISTS pairing (platform TEXT NOT NULL, person TEXT NOT NULL, name TEXT NOT NULL, status TEXT NOT NULL,
    hash TEXT, at INTEGER NOT NULL, PRIMARY KEY (platform, person)) WITHOUT ROWID`,
  'CREATE TABLE IF NOT EXISTS pairing_guesses (id INTEGER PRIMARY KEY, wrong INTEGER NOT NULL, until INTEGER NOT NULL)',
]

export class Pairing {
  readonly #sql: SqlStorage
  #isReady = false

  constructor(sql: SqlStorage) {
    this.#sql = sql
  }

  /** Somebody has written. `asks`: and gets a code for it, if none was told lately. */
  async meet(who: { platform: string; person: string; name: string }, asks: boolean, now: number): Promise<Met> {
    const code = newCode()
    const hash = await hashOf(who.platform, code)
    // From here on in one stretch: of several messages at once one gets the code.
    const sql = this.#ready()
    const { platform, person, name } = who
    const [known] = sql
      .exec<{ status: string; at: number }>(
        'SELECT status, at FROM pairing WHERE platform = ? AND person = ?',
        platform,
        person,
      )
      .toArray()
    if (known?.status === 'approved') return { is: 'approved' }
    if (!asks || (known && now - known.at < pauseMs)) return { is: 'unknown' }
    sql.exec(
      "DELETE FROM pairing WHERE status = 'pending' AND (at < ? OR (platform = ? AND person = ?))",
      now - validMs,
      platform,
      person,
    )
    const query = "SELECT count(*) AS n FROM pairing WHERE status = 'pending' AND platform = ?"
    if (sql.exec<{ n: number }>(query, platform).one().n >= mostPending) return { is: 'unknown' }
    sql.exec("INSERT INTO pairing VALUES (?, ?, ?, 'pending', ?, ?)", platform, person, name.slice(0, 200), hash, now)
    return { is: 'told', code }
  }

  async approve(platform: string, code: string, now: number): Promise<Approval> {
    const hash = await hashOf(platform, code.trim().toUpperCase())
    const sql = this.#ready()
    const [guesses] = sql.exec<{ wrong: number; until: number }>('SELECT wrong, until FROM pairing_guesses').toArray()
    if (guesses && guesses.until > now) return { is: 'locked', retryAfter: Math.ceil((guesses.until - now) / 1_000) }
    const [found] = sql
      .exec<{ person: string; name: string }>(
        "UPDATE pairing SET status = 'approved', hash = NULL, at = ? WHERE platform = ? AND hash = ? AND at >= ? RETURNING person, name",
        now,
        platform,
        hash,
        now - validMs,
      )
      .toArray()
    const wrong = found ? 0 : (guesses?.until ? 0 : (guesses?.wrong ?? 0)) + 1
    const until = wrong >= mostWrong ? now + lockMs : 0
    const put =
      'INSERT INTO pairing_guesses VALUES (0, ?, ?) ON CONFLICT DO UPDATE SET wrong = excluded.wrong, until = excluded.until'
    sql.exec(put, wrong, until)
    return found ? { is: 'approved', ...found } : { is: 'wrong' }
  }

  /** Newest first; what is no longer valid is left out. */
  list(now: number): readonly PairedPerson[] {
    const query =
      "SELECT platform, person, name, status, at FROM pairing WHERE status = 'approved' OR at >= ? ORDER BY at DESC"
    return this.#ready()
      .exec<PairedPerson>(query, now - validMs)
      .toArray()
  }

  /** False when there was nobody. */
  remove(platform: string, person: string): boolean {
    const query = 'DELETE FROM pairing WHERE platform = ? AND person = ? RETURNING person'
    return this.#ready().exec(query, platform, person).toArray().length > 0
  }

  #ready(): SqlStorage {
    if (!this.#isReady) for (const statement of schema) this.#sql.exec(statement)
    this.#isReady = true
    return this.#sql
  }
}

/** 32 signs: no byte is more likely than another. */
const newCode = (): string =>
  [...crypto.getRandomValues(new Uint8Array(codeLength))].map((byte) => alphabet[byte % alphabet.length]).join('')

async function hashOf(platform: string, code: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(`${platform} ${code}`))
  return btoa(String.fromCharCode(...new Uint8Array(digest)))
}
