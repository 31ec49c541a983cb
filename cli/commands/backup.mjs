/** `talaria backup`: writes tenants into a folder, sealed. Repeating it goes on, and takes only what has changed. */

import { createWriteStream, existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { hasOwnBackup, openArchive } from '../backup/archive.mjs'
import { readPassphrase } from '../backup/passphrase.mjs'
import { ApiError, createClient } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { UsageError } from '../exits.mjs'
import { note, printOne } from '../output.mjs'

const maxItems = 10_000_000

export async function run({ options, words: [folder] }) {
  const client = createClient(requireConfig())
  const tenants = options.all
    ? await client.list('/api/admin/tenants', maxItems)
    : [await client.get(`/api/admin/tenants/${encodeURIComponent(options.tenant ?? 'default')}`)]
  if (options.night) return downloadNights(client, { folder, tenants, options })
  const passphrase = await readPassphrase(options)
  for (const { id, name, limits } of tenants) {
    const archive = openArchive(join(folder, id), passphrase, { tenant: { id, name, limits } })
    const result = await backUp(client, archive)
    printOne(options, { tenant: id, ...result }, describe(id, result))
  }
}

/** Copies what the server has made in a night. It stays sealed, so no passphrase is needed. */
async function downloadNights(client, { folder, tenants, options }) {
  let found = 0
  for (const { id } of tenants) {
    const base = `/api/admin/tenants/${encodeURIComponent(id)}/backup/nights`
    const nights = (await client.get(base)).data.map(({ night }) => night)
    const night = options.night === 'newest' ? nights[0] : nights.find((one) => one === options.night)
    if (!night) continue
    found++
    const result = await downloadNight(client, { folder: join(folder, id), base, night })
    printOne(options, { tenant: id, ...result }, `${id}: ${night}, ${result.files} files, ${result.fetched} fetched`)
  }
  if (!found) throw new UsageError(`The server has no backup of ${options.night}.`)
}

async function downloadNight(client, { folder, base, night }) {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  // It has another description and key.
  if (hasOwnBackup(folder)) throw new UsageError(`${folder} has a backup of this command. Choose another folder.`)
  const fetchFile = async (name) => {
    const answer = await client.fetch(`${base}/object?name=${name}`)
    if (!answer.ok) throw new ApiError(`${name}: the server answered ${answer.status}.`, { status: answer.status })
    const path = join(folder, name)
    await pipeline(Readable.fromWeb(answer.body), createWriteStream(`${path}.part`, { mode: 0o600 }))
    renameSync(`${path}.part`, path)
    return path
  }
  const list = await fetchFile(`night-${night}.jsonl`)
  const files = readFileSync(list, 'utf8')
    .split('\n')
    .filter(Boolean)
    .flatMap((line) => JSON.parse(line).file ?? [])
  const missing = files.filter((name) => !existsSync(join(folder, name)))
  for (const name of missing) await fetchFile(name)
  await fetchFile('archive.json')
  return { night, files: files.length, fetched: missing.length }
}

const describe = (id, { sessions, blobs, fetched, bytes }) =>
  `${id}: ${sessions} sessions, ${blobs} stored objects; ${fetched} fetched, ${bytes} bytes`

async function backUp(client, archive) {
  const base = `/api/admin/tenants/${archive.tenant.id}/backup`
  const names = []
  const result = { sessions: 0, blobs: 0, fetched: 0, bytes: 0 }
  const contents = Map.groupBy(archive.entries.keys(), sessionOf)
  const take = async (name, mark, path) => {
    names.push(name)
    if (mark && archive.has(name, mark)) return false
    const entry = await fetchEntry(client, archive, { name, mark, path: `${base}${path}` })
    if (!entry) return void names.pop()
    result.fetched++
    result.bytes += entry.bytes
    return true
  }
  for (const { id, mark } of await client.list(`${base}/sessions?limit=100`, maxItems)) {
    if (archive.has(`session:${id}`, mark)) names.push(`session:${id}`, ...(contents.get(id) ?? []))
    else await takeSession(client, { base, take, names }, { id, mark })
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

/** The session whose checkpoints an entry belongs to; empty for others. */
const sessionOf = (name) => /^(?:checkpoints:|kept:s\/)([^/]+)/.exec(name)?.[1] ?? ''

/** The session is last, because one that is stored is not looked at again. */
async function takeSession(client, { base, take, names }, { id, mark }) {
  const path = `/sessions/${encodeURIComponent(id)}`
  const before = names.length
  if (await take(`checkpoints:${id}`, undefined, `${path}/checkpoints`))
    for (const { key } of (await client.get(`${base}${path}/kept`)).data)
      await take(`kept:${key}`, key, `/blob?key=${encodeURIComponent(key)}`)
  if (!(await take(`session:${id}`, mark, path))) names.length = before
}

/** Undefined for what was deleted meanwhile. */
async function fetchEntry(client, archive, { name, mark, path }) {
  const answer = await client.fetch(path)
  if (answer.status === 404) return void (await answer.body?.cancel())
  if (!answer.ok) throw new ApiError(`${name}: the server answered ${answer.status}.`, { status: answer.status })
  return archive.store(name, mark, answer.body)
}
