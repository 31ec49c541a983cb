// Applies the D1 migrations to a local state folder, as `wrangler d1 migrations apply --local` does: same files, same
// table. That command starts a runtime for each migration, which took most of a first `npm start`. A stamp beside the
// database records the applied migrations, so that later starts read two files only.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { root } from './root.mjs'

const folder = join(root, 'migrations')
const breakpoint = '--> statement-breakpoint'
const createTable = `CREATE TABLE IF NOT EXISTS d1_migrations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT UNIQUE,
  applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
)`

const listMigrations = () =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .toSorted()

function fingerprint() {
  const hash = createHash('sha256').update(readFileSync(join(root, 'wrangler.toml')))
  for (const name of listMigrations()) hash.update(name).update(readFileSync(join(folder, name)))
  return hash.digest('hex')
}

export async function migrateLocally(persistTo) {
  const databases = join(persistTo, 'v3/d1')
  const stampFile = join(databases, 'talaria-migrations')
  const wanted = fingerprint()
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === wanted && hasDatabase(databases)) return
  const { database, close } = await openDatabase(join(persistTo, 'v3'))
  try {
    await applyMigrations(database)
  } finally {
    await close()
  }
  mkdirSync(databases, { recursive: true })
  writeFileSync(stampFile, wanted)
}

/** Opens the database as wrangler does, with the miniflare that wrangler brings. */
async function openDatabase(resourcePersistencePath) {
  const fromWrangler = createRequire(createRequire(import.meta.url).resolve('wrangler'))
  const { Miniflare, convertV4MiniflareOptions } = fromWrangler('miniflare')
  const [, id] = /^database_id\s*=\s*"([^"]+)"/m.exec(readFileSync(join(root, 'wrangler.toml'), 'utf8')) ?? []
  if (!id) throw new Error('wrangler.toml has no database_id. The binding DB needs one; locally any UUID will do.')
  const d1Databases = { DB: id }
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({ modules: true, script: '', resourcePersistencePath, d1Databases }),
  )
  return { database: await miniflare.getD1Database('DB'), close: () => miniflare.dispose() }
}

/** Each migration and its record are one transaction: after an interruption the next start goes on behind the last. */
async function applyMigrations(database) {
  await database.prepare(createTable).run()
  const { results } = await database.prepare('SELECT name FROM d1_migrations').all()
  const applied = new Set(results.map(({ name }) => name))
  for (const name of listMigrations().filter((file) => !applied.has(file))) {
    const statements = readFileSync(join(folder, name), 'utf8').split(breakpoint)
    const record = database.prepare('INSERT INTO d1_migrations (name) VALUES (?)').bind(name)
    await database.batch([...statements.map((statement) => database.prepare(statement)), record]).catch((error) => {
      throw new Error(`The migration ${name} cannot be applied to the local database: ${error.message}`)
    })
  }
}

const hasDatabase = (path) =>
  readdirSync(path, { recursive: true }).some((name) => name.endsWith('.sqlite') && !name.endsWith('metadata.sqlite'))
