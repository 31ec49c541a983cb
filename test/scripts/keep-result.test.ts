/** Tests that the result of a build step is kept until its source or its rules change. */

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, it } from 'vitest'
import { keepResult } from '../../scripts/lib/keep-result.mjs'

const folder = mkdtempSync(join(tmpdir(), 'talaria-keep-'))
const file = join(folder, 'inside/kept.js')
let done: string[] = []
const keep = (source: string, rules: string) =>
  keepResult(file, source, rules, (text: string) => {
    done.push(text)
    return `changed ${text}\n`
  })

beforeEach(() => {
  done = []
  rmSync(join(folder, 'inside'), { recursive: true, force: true })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('is worked out once for a source and its rules, and again when one of them changes', () => {
  expect([keep('a', '1'), keep('a', '1'), keep('b', '1'), keep('b', '2'), keep('b', '2')]).toEqual(
    ['a', 'a', 'b', 'b', 'b'].map((text) => `changed ${text}\n`),
  )
  expect(done).toEqual(['a', 'b', 'b'])
})

it('does not take the end of the rules for the beginning of the source', () => {
  keep('bc', 'a')
  keep('c', 'ab')
  expect(done).toEqual(['bc', 'c'])
})

it('leaves one file, and takes nothing from one that is cut or of others', () => {
  keep('a', '1')
  expect(readdirSync(join(folder, 'inside'))).toEqual(['kept.js'])
  for (const text of ['', '// 12', 'changed a\n']) {
    writeFileSync(file, text)
    expect(keep('a', '1')).toBe('changed a\n')
  }
  expect(done).toEqual(['a', 'a', 'a', 'a'])
})

it('keeps nothing of work that fails', () => {
  const fail = () =>
    keepResult(file, 'a', '1', () => {
      throw new Error('PDF.js has changed')
    })
  expect(fail).toThrow('PDF.js has changed')
  expect(keep('a', '1')).toBe('changed a\n')
})
