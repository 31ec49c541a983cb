/** Tests the folder of a backup: an interrupted backup goes on, and leaves the one before as it was. */

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openArchive } from '../../../cli/backup/archive.mjs'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'talaria-archive-'))))
afterEach(() => rmSync(folder, { recursive: true }))

const open = () => openArchive(folder, 'correct horse battery', { tenant: { id: 'one', name: 'One' } })
const store = (archive: ReturnType<typeof open>, name: string, text: string) =>
  archive.store(name, text, new Response(text).body!)
const sealed = () => readdirSync(folder).filter((name) => name.endsWith('.sealed'))
const read = (archive: ReturnType<typeof open>, name: string) => String(archive.read(name))

it('has the last complete backup until the next one is complete', async () => {
  const first = open()
  await store(first, 'rows', 'first')
  await store(first, 'session:a', 'a')
  expect(first.complete).toBeUndefined()
  first.end(['rows', 'session:a'])
  await store(open(), 'rows', 'second')
  const interrupted = open()
  expect([read(interrupted, 'rows'), read(interrupted, 'session:a')]).toEqual(['first', 'a'])
  expect([interrupted.has('rows', 'second'), interrupted.has('session:a', 'a')]).toEqual([true, true])
  interrupted.end(['rows'])
  expect([read(open(), 'rows'), sealed().length]).toEqual(['second', 1])
})

it('goes on behind a line that was cut off, and is refused when its list was changed', async () => {
  const list = join(folder, 'entries.jsonl')
  await store(open(), 'rows', 'first')
  writeFileSync(list, '{"name":"session:a","fi', { flag: 'a' })
  writeFileSync(join(folder, 'left.part'), 'x')
  const next = open()
  expect(next.has('rows', 'first')).toBe(true)
  await store(next, 'session:a', 'a')
  next.end(['rows', 'session:a'])
  const ended = open()
  expect([read(ended, 'rows'), read(ended, 'session:a')]).toEqual(['first', 'a'])
  expect(readdirSync(folder)).not.toContain('left.part')
  writeFileSync(list, readFileSync(list, 'utf8').replace(/"sha256":"./, '"sha256":"x'))
  expect(open().complete).toBeUndefined()
})
