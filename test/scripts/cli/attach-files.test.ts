/** Tests which files of this computer go with a message of the command line. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { findMentioned, readAttachments } from '../../../cli/attach-files.mjs'

const folder = mkdtempSync(join(tmpdir(), 'talaria-attach-'))
const path = (name: string) => join(folder, name)
for (const name of ['a.txt', 'my notes.txt']) writeFileSync(path(name), name)
writeFileSync(path('large.bin'), Buffer.alloc(5_000_001))
writeFileSync(path('half.bin'), Buffer.alloc(4_000_000))
afterAll(() => rmSync(folder, { recursive: true }))

it.each([
  [`Read @${path('a.txt')}, please`, ['a.txt']],
  [`Is it in @${path('a.txt')}?`, ['a.txt']],
  [`Read @"${path('my notes.txt')}" and @${path('a.txt')}`, ['my notes.txt', 'a.txt']],
  [`@${path('a.txt')} @${path('a.txt')}`, ['a.txt']],
  [`mail to ann@${path('a.txt')} or @bob, and @${folder}`, []],
])('finds the files that a text names: %s', (text, names) => {
  expect(findMentioned(text)).toEqual(names.map(path))
})

it('leaves names of the workspace', () => {
  expect(findMentioned(`@${path('a.txt')}`, new Set([path('a.txt')]))).toEqual([])
})

it('reads files, and says which one cannot be sent', () => {
  expect(readAttachments([path('a.txt')])).toEqual([{ type: 'file', name: 'a.txt', data: btoa('a.txt') }])
  expect(() => readAttachments([path('none')])).toThrow(/There is no file .*none/)
  expect(() => readAttachments([folder])).toThrow(/There is no file/)
  expect(() => readAttachments([path('large.bin')])).toThrow(/large\.bin is larger than 5 MB/)
  expect(() => readAttachments([path('half.bin'), path('half.bin')])).toThrow(/larger than 7 MB together/)
  expect(() => readAttachments(Array.from({ length: 21 }, () => path('a.txt')))).toThrow(/at most 20 files/)
})
