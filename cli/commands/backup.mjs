/** `talaria backup`: writes tenants into a folder, sealed. Repeating it goes on, and takes only what has changed. */

import { join } from 'node:path'
import { openArchive } from '../backup/archive.mjs'
import { readPassphrase } from '../backup/passphrase.mjs'
import { ApiError, createClient } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { UsageError } from '../exits.mjs'
import { note, printOne } from '../output.mjs'

const maxItems = 10_000_000

export async function run({ options, words: [folder, ...more], usage }) {
  if (!folder || more.length) throw new UsageError(`talaria ${usage}`)
  const client = createClient(requireConfig())
  const passphrase = await readPassphrase(options)
  const tenants = options.all
    ? await client.list('/api/admin/tenants', maxItems)
    : [await client.get(`/api/admin/tenants/${encodeURIComponent(options.tenant ?? 'default')}`)]
  for (const { id, name, limits } of tenants) {
    const archive = openArchive(join(folder, id), passphrase, { id, name, limits })
    const result = await backUp(client, archive)
    printOne(options, { tenant: id, ...result }, describe(id, result))
  }
}

const describe = (id, { sessions, blobs, fetched, bytes }) =>
  `${id}: ${sessions} sessions, ${blobs} stored objects; ${fetched} fetched, ${bytes} bytes`

async function backUp(client, archive) {
  const base = `/api/admin/tenants/${archive.tenant.id}/backup`
  const names = []
  const result = { sessions: 0, blobs: 0, fetched: 0, bytes: 0 }
  const take = async (name, mark, path) => {
    names.push(name)
    if (mark && archive.has(name, mark)) return
    const entry = await fetchEntry(client, archive, { name, mark, path: `${base}${path}` })
    if (!entry) return void names.pop()
    result.fetched++
    result.bytes += entry.bytes
  }
  for (const { id, updated_at: mark } of await client.list(`${base}/sessions?limit=100`, maxItems)) {
    await take(`session:${id}`, mark, `/sessions/${encodeURIComponent(id)}`)
    if (++result.sessions % 100 === 0) note(`${archive.tenant.id}: ${result.sessions} sessions`)
  }
  for (const { key, etag } of await client.list(`${base}/blobs?limit=100`, maxItems)) {
    await take(`blob:${key}`, etag, `/blob?key=${encodeURIComponent(key)}`)
    result.blobs++
  }
  // Last, so that they name nothing that is missing.
  for (const part of ['rows', 'state']) await take(part, undefined, `/${part}`)
  archive.end(names)
  return result
}

/** Undefined for what was deleted meanwhile. */
async function fetchEntry(client, archive, { name, mark, path }) {
  const answer = await client.fetch(path)
  if (answer.status === 404) return void (await answer.body?.cancel())
  if (!answer.ok) throw new ApiError(`${name}: the server answered ${answer.status}.`, { status: answer.status })
  return archive.store(name, mark, answer.body)
}
