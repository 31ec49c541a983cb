/** Tests the sync of a folder with a workspace, against a stand-in of the routes for files. */

import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { ApiError } from '../../../cli/client.mjs'
import { syncFiles } from '../../../cli/commands/sync-files.mjs'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'talaria-sync-'))))
afterEach(() => rmSync(folder, { recursive: true }))
const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
const read = (name: string) => readFileSync(join(folder, name), 'utf8')

const etagOf = (text: string) => `"${createHash('sha256').update(text).digest('hex').slice(0, 32)}"`
const nameOf = (path: string) => decodeURIComponent(path.split('/files/')[1] ?? '')

/** `during` runs once, after a file was listed and before its request is answered. */
function createWorkspace() {
  const files = new Map<string, { text: string; modified_at: string }>()
  const during = new Map<string, () => void>()
  const refusals = new Map<string, Error>()
  let clock = 0
  const put = (name: string, text: string) => {
    const entry = { text, modified_at: new Date(++clock).toISOString() }
    files.set(name, entry)
    return entry
  }
  const begin = (name: string) => {
    const [edit, refusal] = [during.get(name), refusals.get(name)]
    during.delete(name)
    edit?.()
    if (refusal) throw refusal
  }
  const client = {
    list: async () => [...files].map(([name, { modified_at }]) => ({ type: 'file', path: `/w/${name}`, modified_at })),
    call: async (_method: string, path: string, body: Uint8Array, headers: Record<string, string> = {}) => {
      const name = nameOf(path)
      begin(name)
      const etag = files.has(name) ? etagOf(files.get(name)?.text ?? '') : undefined
      const [match, noneMatch] = [headers['if-match'], headers['if-none-match']]
      if ((match && match !== etag) || (noneMatch && etag)) throw new ApiError('Changed.', { status: 412 })
      return { status: 200, body: put(name, new TextDecoder().decode(body)) }
    },
    fetch: async (path: string) => {
      const text = files.get(nameOf(path))?.text
      begin(nameOf(path))
      return text === undefined ? new Response('', { status: 404 }) : new Response(text)
    },
  }
  const sync = async () => {
    const results = Object.entries(await syncFiles(client, 'ses_1', folder))
    return Object.fromEntries(results.filter(([, paths]) => (paths as unknown[]).length))
  }
  return { put, during, refusals, sync, textOf: (name: string) => files.get(name)?.text }
}

it('sends an edit that was made while its file was sent the next time', async () => {
  const workspace = createWorkspace()
  write('a', 'one')
  workspace.during.set('a', () => write('a', 'two'))
  expect(await workspace.sync()).toEqual({ sent: ['a'] })
  expect(await workspace.sync()).toEqual({ sent: ['a'] })
  expect(workspace.textOf('a')).toBe('two')
})

it('receives an edit that was made while its file was received the next time', async () => {
  const workspace = createWorkspace()
  workspace.put('a', 'one')
  workspace.during.set('a', () => void workspace.put('a', 'two'))
  expect(await workspace.sync()).toEqual({ received: ['a'] })
  expect(await workspace.sync()).toEqual({ received: ['a'] })
  expect(read('a')).toBe('two')
})

it('overwrites no edit that was made on the other side meanwhile', async () => {
  const workspace = createWorkspace()
  write('mine', 'one')
  workspace.put('theirs', 'one')
  await workspace.sync()
  write('mine', 'two')
  workspace.put('theirs', 'two')
  workspace.during.set('mine', () => void workspace.put('mine', 'theirs'))
  workspace.during.set('theirs', () => write('theirs', 'mine'))
  expect(await workspace.sync()).toEqual({ conflicts: ['mine', 'theirs'] })
  expect([workspace.textOf('mine'), read('theirs')]).toEqual(['theirs', 'mine'])
  expect(await workspace.sync()).toEqual({ conflicts: ['mine', 'theirs'] })
})

it('creates no file over one that appeared meanwhile', async () => {
  const workspace = createWorkspace()
  write('a', 'mine')
  workspace.put('b', 'theirs')
  workspace.during.set('a', () => void workspace.put('a', 'theirs'))
  workspace.during.set('b', () => write('b', 'mine'))
  expect(await workspace.sync()).toEqual({ conflicts: ['a', 'b'] })
  expect([workspace.textOf('a'), read('b')]).toEqual(['theirs', 'mine'])
})

it('sends an edit of a file that the other side wrote again without a change', async () => {
  const workspace = createWorkspace()
  write('a', 'one')
  await workspace.sync()
  workspace.put('a', 'one')
  write('a', 'two')
  expect(await workspace.sync()).toEqual({ sent: ['a'] })
  expect(workspace.textOf('a')).toBe('two')
})

it('goes on after a file that is too large or that the server refuses, and records the others', async () => {
  const workspace = createWorkspace()
  for (const name of ['a', 'b', 'c']) write(name, 'one')
  write('d', 'd'.repeat(11 << 20))
  workspace.refusals.set('b', new ApiError('No.', { status: 400 }))
  const failed = [
    { path: 'b', error: 'No.' },
    { path: 'd', error: 'The file is larger than 10 MB.' },
  ]
  expect(await workspace.sync()).toEqual({ sent: ['a', 'c'], failed })
  write('a', 'two')
  expect(await workspace.sync()).toEqual({ sent: ['a'], failed })
})

it('records the files before the one at which the server was lost', async () => {
  const workspace = createWorkspace()
  for (const name of ['a', 'b']) write(name, 'one')
  workspace.refusals.set('b', new ApiError('No server.'))
  await expect(workspace.sync()).rejects.toThrow('No server.')
  workspace.refusals.clear()
  workspace.put('a', 'two')
  expect(await workspace.sync()).toEqual({ sent: ['b'], received: ['a'] })
  expect(existsSync(join(folder, 'a.talaria-part'))).toBe(false)
})
