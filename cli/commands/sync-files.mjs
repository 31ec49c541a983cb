/**
 * Brings a folder and the workspace of a session together. A file that changed on one side goes to the other. A file that
 * changed on both stays as it is and is reported. Deletions are not repeated on the other side.
 */

import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, realpath, rename, writeFile } from 'node:fs/promises'
import { dirname, join, posix, relative, sep } from 'node:path'
import { ApiError, sessionPath } from '../client.mjs'

/** The versions that both sides had after the last time, by session. */
const stateFile = '.talaria-sync.json'
const skipped = new Set(['.git', 'node_modules', stateFile])

const digest = (bytes) => createHash('sha256').update(bytes).digest('hex')
const addressOf = (session, path) => sessionPath(session, `/files/${path.split('/').map(encodeURIComponent).join('/')}`)

/** Returns the paths by what happened: `sent`, `received`, `conflicts`, `gone`. */
export async function syncFiles(client, session, folder) {
  await mkdir(folder, { recursive: true })
  const root = await realpath(folder)
  const states = JSON.parse(await readFile(join(root, stateFile), 'utf8').catch(() => '{}'))
  const known = states[session] ?? {}
  const here = await listLocal(root)
  const there = await listRemote(client, session)
  const result = { sent: [], received: [], conflicts: [], gone: [] }
  for (const path of [...new Set([...here.keys(), ...there.keys()])].toSorted()) {
    const side = { path, local: here.get(path), remote: there.get(path), last: known[path] }
    await settle({ client, session, root }, side, result)
  }
  states[session] = readState(await listLocal(root), await listRemote(client, session), result, known)
  await writeAtomically(join(root, stateFile), JSON.stringify(states))
  return result
}

const acts = {
  async sent({ client, session, root }, path) {
    await client.call('PUT', addressOf(session, path), new Uint8Array(await readFile(join(root, path))))
  },
  async received({ client, session, root }, path) {
    await receive(root, path, await download(client, session, path))
  },
}

async function settle(sides, { path, ...states }, result) {
  const found = compare(states)
  if (found === undefined) return
  if (found === 'conflicts' && (await isSame(sides, path, states.local))) return
  await acts[found]?.(sides, path)
  result[found].push(path)
}

/** The result of a path, or undefined when nothing has changed. */
function compare({ local, remote, last }) {
  const hasBoth = local !== undefined && remote !== undefined
  if (last !== undefined && !hasBoth) return 'gone'
  const isChangedHere = local !== last?.digest
  if (remote === last?.modified) return isChangedHere ? 'sent' : undefined
  if (!isChangedHere) return 'received'
  return hasBoth ? 'conflicts' : undefined
}

const isSame = async ({ client, session }, path, local) => digest(await download(client, session, path)) === local

/** Conflicts and deletions keep their earlier state, so that they are found again the next time. */
function readState(here, there, { conflicts, gone }, known) {
  const kept = new Set([...conflicts, ...gone])
  const state = Object.fromEntries([...kept].map((path) => [path, known[path]]))
  for (const [path, local] of here)
    if (there.has(path) && !kept.has(path)) state[path] = { digest: local, modified: there.get(path) }
  return state
}

/** Digests by path. Links are left out: they may lead out of the folder. */
async function listLocal(root, folder = root, found = new Map()) {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (skipped.has(entry.name)) continue
    if (entry.isDirectory()) await listLocal(root, path, found)
    else if (entry.isFile()) found.set(relative(root, path).split(sep).join('/'), digest(await readFile(path)))
  }
  return found
}

/** Times of the last change by path below the workspace. */
async function listRemote(client, session) {
  const entries = await client.list(sessionPath(session, '/files/?recursive=1'), 20_000)
  const top = entries.toSorted((one, other) => one.path.split('/').length - other.path.split('/').length)[0]
  const workspace = top ? posix.dirname(top.path) : ''
  const files = entries.filter(
    ({ type, path }) => type === 'file' && !path.split('/').some((name) => skipped.has(name)),
  )
  return new Map(files.map(({ path, modified_at }) => [posix.relative(workspace, path), modified_at]))
}

async function download(client, session, path) {
  const answer = await client.fetch(addressOf(session, path))
  if (!answer.ok) throw new ApiError(`${path}: the server answered ${answer.status}.`, { status: answer.status })
  return Buffer.from(await answer.arrayBuffer())
}

/** Writes only below the folder, whatever the server names. */
async function receive(root, path, bytes) {
  const file = join(root, path)
  if (!file.startsWith(root + sep)) throw new ApiError(`${path} leads out of the folder.`)
  await mkdir(dirname(file), { recursive: true })
  const parent = await realpath(dirname(file))
  if (parent !== root && !parent.startsWith(root + sep)) throw new ApiError(`${path} leads out of the folder.`)
  await writeAtomically(file, bytes)
}

async function writeAtomically(file, contents) {
  await writeFile(`${file}.talaria-part`, contents)
  await rename(`${file}.talaria-part`, file)
}
