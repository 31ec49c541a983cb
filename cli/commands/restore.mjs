/** `talaria restore`: brings a backup into an empty tenant of any deployment, and compares what arrived. */

import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { openArchive } from '../backup/archive.mjs'
import { findDifference } from '../backup/compare.mjs'
import { readPassphrase } from '../backup/passphrase.mjs'
import { ApiError, createClient } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { exits, UsageError } from '../exits.mjs'
import { note, printOne } from '../output.mjs'

export async function run({ options, words: [folder] }) {
  const client = createClient(requireConfig())
  const passphrase = await readPassphrase(options)
  const ids = options.tenant ? [options.tenant] : readdirSync(folder).filter((id) => isBackup(folder, id))
  if (!ids.length) throw new UsageError(`${folder} has no backup.`)
  let differences = 0
  for (const id of ids) {
    const result = await restore(client, openArchive(join(folder, id), passphrase, { night: options.night }))
    differences += result.differences.length
    for (const one of result.differences) note(`${id}: ${one}`)
    printOne(options, { tenant: id, ...result }, describe(id, result))
  }
  return differences ? exits.failed : exits.done
}

const isBackup = (folder, id) => existsSync(join(folder, id, 'archive.json'))
const describe = (id, { sessions, blobs, compared, differences }) =>
  `${id}: ${sessions} sessions, ${blobs} stored objects; ${compared} compared, ${differences.length} differ`

async function restore(client, archive) {
  if (!archive.complete)
    throw new UsageError(
      `The backup of ${archive.tenant.id} is not complete, or its list was changed. Run the backup again.`,
    )
  const base = `/api/admin/tenants/${archive.tenant.id}/backup`
  const journal = archive.journalFor(client.url)
  await prepareTenant(client, archive.tenant)
  if (!journal.exists && (await client.get(`${base}/sessions?limit=1`)).data.length)
    throw new UsageError(`The tenant ${archive.tenant.id} has sessions. Restore into an empty one.`)
  const result = { sessions: 0, blobs: 0, compared: 0, differences: [] }
  for (const name of inOrder([...archive.complete.keys()])) {
    const given = archive.read(name)
    const path = `${base}${pathOf(name)}`
    if (!journal.has(name)) await send(client, { name, path, given })
    journal.add(name)
    const difference = findDifference(name, given, await fetchAgain(client, path))
    if (difference) result.differences.push(`${name}: ${difference}`)
    result.compared++
    if (name.startsWith('session:')) result.sessions++
    if (name.startsWith('blob:')) result.blobs++
  }
  if (!result.differences.length) journal.remove()
  return result
}

/**
 * Sessions refer to stored objects. Checkpoints belong to a session, and so do the objects that they need. The state is
 * last: the jobs in it begin to run.
 */
const order = ['rows', 'blob', 'session', 'kept', 'checkpoints', 'state']
const inOrder = (names) => names.toSorted((a, b) => order.indexOf(kindOf(a)) - order.indexOf(kindOf(b)))
const kindOf = (name) => name.split(':', 1)[0]

function pathOf(name) {
  const rest = encodeURIComponent(name.slice(name.indexOf(':') + 1))
  if (name.startsWith('session:')) return `/sessions/${rest}`
  if (name.startsWith('checkpoints:')) return `/sessions/${rest}/checkpoints`
  return /^(?:blob|kept):/.test(name) ? `/blob?key=${rest}` : `/${name}`
}

/** The tenant of the owner is always there. */
async function prepareTenant(client, { id, name, limits }) {
  const path = `/api/admin/tenants/${encodeURIComponent(id)}`
  const found = await client.fetch(path)
  if (found.status === 404) await client.call('POST', '/api/admin/tenants', { id, name })
  else if (!found.ok) throw new ApiError(`The server answered ${found.status}.`, { status: found.status })
  if (Object.keys(limits ?? {}).length) await client.call('PATCH', path, { limits })
}

async function send(client, { name, path, given }) {
  const answer = await client.fetch(path, { method: 'PUT', body: given })
  if (answer.ok) return
  const { error } = (await answer.json().catch(() => undefined)) ?? {}
  throw new ApiError(`${name}: ${error?.message ?? `the server answered ${answer.status}.`}`, { status: answer.status })
}

/** The object of the tenant starts again after it was restored: an answer may break off. */
const retryMs = [500, 1_000, 2_000, 4_000]

async function fetchAgain(client, path) {
  for (const pause of [...retryMs, 0]) {
    try {
      const answer = await client.fetch(path)
      const bytes = Buffer.from(await answer.arrayBuffer())
      if (answer.ok) return bytes
    } catch (error) {
      if (pause === 0) throw error
    }
    await new Promise((done) => setTimeout(done, pause))
  }
  return Buffer.alloc(0)
}
