/**
 * Brings a folder and the workspace of a session together. A file that changed on one side goes to the other. A file that
 * changed on both stays as it is and is reported. Deletions are not repeated on the other side.
 */

import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, posix, relative, sep } from 'node:path'
import { ApiError, sessionPath } from '../client.mjs'

/** The versions that both sides had after the last time, by session. */
const stateFile = '.talaria-sync.json'
const skipped = new Set(['.git', 'node_modules', stateFile])

/** The server closes connections that send far more than it accepts, which looks as if it were lost. */
const maxFileBytes = 10 * 1024 * 1024

const digest = (bytes) => createHash('sha256').update(bytes).digest('hex')
/** As the server makes it, see src/durable/platform/etag.ts. */
const etagOf = (hash) => `"${hash.slice(0, 32)}"`
const addressOf = (session, path) => sessionPath(session, `/files/${path.split('/').map(encodeURIComponent).join('/')}`)

/**
 * Returns the paths by result: `sent`, `received`, `conflicts`, `gone`, and `failed` with the errors. The state records
 * the versions that were compared or transferred, so that an edit made meanwhile is found the next time.
 */
export async function syncFiles(client, session, folder) {
  // A session that is not there must leave no folder.
  const there = await listRemote(client, session)
  await mkdir(folder, { recursive: true })
  const root = await realpath(folder)
  const states = JSON.parse(await readFile(join(root, stateFile), 'utf8').catch(() => '{}'))
  const known = states[session] ?? {}
  const here = await listLocal(root)
  const paths = [...new Set([...here.keys(), ...there.keys()])].toSorted()
  const state = Object.fromEntries(paths.flatMap((path) => (known[path] ? [[path, known[path]]] : [])))
  const result = { sent: [], received: [], conflicts: [], gone: [], failed: [] }
  try {
    for (const path of paths) {
      const file = { path, local: here.get(path), remote: there.get(path), last: known[path] }
      const { outcome, version, error } = await settle({ client, session, root }, file)
      if (version) state[path] = version
      result[outcome]?.push(error === undefined ? path : { path, error })
    }
  } finally {
    await writeAtomically(join(root, stateFile), JSON.stringify({ ...states, [session]: state }))
  }
  return result
}

/** Resolves to the outcome of a path, if there is one, and the version that both sides have. */
async function settle(sides, file) {
  const found = compare(file)
  try {
    return (await acts[found]?.(sides, file)) ?? { outcome: found }
  } catch (error) {
    if (isFatal(error)) throw error
    return { outcome: 'failed', error: error.message }
  }
}

/** Every further file would fail, too: no server, no access, or a limit is reached. */
const isFatal = (error) =>
  error instanceof ApiError &&
  (error.status === undefined || [401, 403, 429].includes(error.status) || error.status >= 500)

const acts = { sent: send, received: receive, conflicts: resolveConflict }

/** The server refuses the bytes when its file is not the version that both sides had. */
async function send(sides, { path, remote, last }) {
  const { client, session, root } = sides
  const bytes = await readFile(join(root, path))
  if (bytes.byteLength > maxFileBytes) throw new Error('The file is larger than 10 MB.')
  const condition = remote === undefined ? { 'if-none-match': '*' } : { 'if-match': etagOf(last.digest) }
  try {
    const { body } = await client.call('PUT', addressOf(session, path), new Uint8Array(bytes), condition)
    return { outcome: 'sent', version: { digest: digest(bytes), modified: body.modified_at } }
  } catch (error) {
    if (error.status !== 412) throw error
    // An earlier attempt may have arrived although its answer was lost.
    const isSame = digest(await download(client, session, path)) === digest(bytes)
    return isSame ? { version: { digest: digest(bytes), modified: remote } } : { outcome: 'conflicts' }
  }
}

/** The time of a file changes when it is written again with the same content. */
async function resolveConflict(sides, file) {
  const { local, remote, last } = file
  const theirs = digest(await download(sides.client, sides.session, file.path))
  if (theirs === local) return { version: { digest: local, modified: remote } }
  return theirs === last?.digest ? send(sides, file) : { outcome: 'conflicts' }
}

async function receive({ client, session, root }, { path, local, remote }) {
  const bytes = await download(client, session, path)
  if (!(await replace(root, { path, bytes, local }))) return { outcome: 'conflicts' }
  return { outcome: 'received', version: { digest: digest(bytes), modified: remote } }
}

/** The outcome for a path, or undefined when nothing has changed. */
function compare({ local, remote, last }) {
  const hasBoth = local !== undefined && remote !== undefined
  if (last !== undefined && !hasBoth) return 'gone'
  const isChangedHere = local !== last?.digest
  if (remote === last?.modified) return isChangedHere ? 'sent' : undefined
  if (!isChangedHere) return 'received'
  return hasBoth ? 'conflicts' : undefined
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

/** Writes only below the folder, whatever the server names. Resolves to false when the file is not `local` any more. */
async function replace(root, { path, bytes, local }) {
  const file = join(root, path)
  if (!file.startsWith(root + sep)) throw new Error('The path leads out of the folder.')
  await mkdir(dirname(file), { recursive: true })
  const parent = await realpath(dirname(file))
  if (parent !== root && !parent.startsWith(root + sep)) throw new Error('The path leads out of the folder.')
  return writeAtomically(file, bytes, async () => (await digestOf(file)) === local)
}

async function digestOf(file) {
  const bytes = await readFile(file).catch((error) => {
    if (error.code !== 'ENOENT') throw error
  })
  return bytes && digest(bytes)
}

async function writeAtomically(file, contents, isWanted = () => true) {
  const part = `${file}.talaria-part`
  await writeFile(part, contents)
  const isWritten = await isWanted()
  await (isWritten ? rename(part, file) : rm(part))
  return isWritten
}
