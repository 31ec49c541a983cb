// Applies the D1 migrations to a local state folder. wrangler takes seconds for that, so a stamp beside the database
// records the applied migrations, and wrangler only runs when the database is missing or the migrations differ.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './root.mjs'
import { wranglerQuietly } from './wrangler.mjs'

function migrationsFingerprint(folder = join(root, 'migrations')) {
  const hash = createHash('sha256').update(readFileSync(join(root, 'wrangler.toml')))
  for (const name of readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .toSorted())
    hash.update(name).update(readFileSync(join(folder, name)))
  return hash.digest('hex')
}

export async function migrateLocally(persistTo) {
  const databases = join(persistTo, 'v3/d1')
  const stampFile = join(databases, 'talaria-migrations')
  const wanted = migrationsFingerprint()
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === wanted && hasDatabase(databases)) return
  await wranglerQuietly(['d1', 'migrations', 'apply', 'DB', '--local', '--persist-to', persistTo])
  mkdirSync(databases, { recursive: true })
  writeFileSync(stampFile, wanted)
}

const hasDatabase = (folder) =>
  readdirSync(folder, { recursive: true }).some((name) => name.endsWith('.sqlite') && !name.endsWith('metadata.sqlite'))
