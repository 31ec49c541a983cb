/** `talaria files`: lists, reads, writes, moves and deletes files of a session. */

import { readFile, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { ApiError, createClient, sessionPath } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { exits } from '../exits.mjs'
import { note, printList, printOne } from '../output.mjs'
import { syncFiles } from './sync-files.mjs'

const filePath = (session, path) => sessionPath(session, `/files/${path.split('/').map(encodeURIComponent).join('/')}`)

export async function run({ options, words: [action, session, ...rest] }) {
  return actions[action](createClient(requireConfig()), options, session, rest)
}

const actions = { ls: list, get: download, put: upload, mv: move, rm: remove, sync }

async function list(client, options, session, [path = '']) {
  const query = options.recursive ? '?recursive=1' : ''
  const found = await client.list(`${filePath(session, path)}${query}`, 20_000)
  printList(options, found, ['TYPE', 'SIZE', 'MODIFIED', 'PATH'], (one) => [
    one.type,
    String(one.size),
    one.modified_at.slice(0, 16).replace('T', ' '),
    one.path,
  ])
}

async function download(client, _options, session, [path, to = basename(path)]) {
  const answer = await client.fetch(filePath(session, path))
  const isFolder = answer.headers.get('content-type')?.includes('json') && !answer.headers.get('content-disposition')
  if (!answer.ok || isFolder) {
    const body = await answer.json().catch(() => undefined)
    throw new ApiError(body?.error?.message ?? `${path} is a folder.`, { status: answer.status })
  }
  const bytes = Buffer.from(await answer.arrayBuffer())
  if (to === '-') return void process.stdout.write(bytes)
  await writeFile(to, bytes)
  note(`${to}: ${bytes.byteLength} bytes`)
}

async function upload(client, options, session, [from, path]) {
  const bytes = from === '-' ? await readInput() : await readFile(from)
  const { body } = await client.call('PUT', filePath(session, path), new Uint8Array(bytes))
  printOne(options, body, `${body.path}: ${body.size} bytes`)
}

async function readInput() {
  const parts = []
  for await (const part of process.stdin) parts.push(part)
  return Buffer.concat(parts)
}

async function move(client, options, session, [from, to]) {
  const { body } = await client.call('POST', `${filePath(session, from)}/move`, { to })
  printOne(options, body, body.path)
}

async function remove(client, options, session, [path]) {
  await client.call('DELETE', filePath(session, path))
  printOne(options, { path, status: 'deleted' }, 'Deleted.')
}

async function sync(client, options, session, [folder]) {
  const result = await syncFiles(client, session, folder)
  for (const path of result.conflicts) note(`${path} changed on both sides. Nothing was written.`)
  for (const path of result.gone) note(`${path} was deleted on one side. The other keeps it.`)
  for (const { path, error } of result.failed) note(`${path}: ${error}`)
  printOne(options, result, `${result.sent.length} sent, ${result.received.length} received`)
  return result.conflicts.length || result.failed.length ? exits.failed : exits.done
}
