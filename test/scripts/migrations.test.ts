/** Tests that a local state folder gets all migrations once, recorded as wrangler records them. */

import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, it } from 'vitest'
import { migrateLocally } from '../../scripts/lib/migrations.mjs'

const state = mkdtempSync(join(tmpdir(), 'talaria-migrations-'))
afterAll(() => rmSync(state, { recursive: true, force: true }))

const databases = join(state, 'v3/d1')
const forget = () => rmSync(join(databases, 'talaria-migrations'))
const files = readdirSync('migrations').filter((name) => name.endsWith('.sql'))

function query(sql: string): unknown[] {
  const folder = join(databases, 'miniflare-D1DatabaseObject')
  const [name = ''] = readdirSync(folder).filter((file) => /^[0-9a-f]+\.sqlite$/.test(file))
  const database = new DatabaseSync(join(folder, name))
  try {
    return database
      .prepare(sql)
      .all()
      .map((row) => Object.values(row)[0])
  } finally {
    database.close()
  }
}
const recorded = () => query('SELECT name FROM d1_migrations ORDER BY id')

it('applies each migration once', async () => {
  await migrateLocally(state)
  expect(recorded()).toEqual(files.toSorted())
  expect(query('SELECT id FROM tenant')).toEqual(['default'])
  forget()
  await migrateLocally(state)
  expect(recorded()).toHaveLength(files.length)
})

it('names the migration that fails, and records nothing of it', async () => {
  query("DELETE FROM d1_migrations WHERE name = '0001_full-text.sql'")
  forget()
  await expect(migrateLocally(state)).rejects.toThrow('The migration 0001_full-text.sql cannot be applied')
  expect(recorded()).not.toContain('0001_full-text.sql')
})
