/** Tests that every file of the source that opens connections is classified, and that none of them goes past the guard. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isRiskAbove } from '#agent/core/permission/approval.ts'
import { addressFetches, orderedFetches } from '#test/support/address-fetches.ts'
import { tools } from '#tools/index.ts'

const root = 'src'
/** Methods of objects of the Worker, which answer requests, or pass on those of a caller. */
const ownMethods =
  /^ *(?:override )?(?:async )?fetch\(.*\{$|\bthis\.fetch\(|^export async function fetch\(|\bNetwork(?:Request)?\b.*\{$/
const rawFetch = /(?<![\w.#])fetch\(|= fetch\b(?! *\()/
const guarded = /\b(?:createTenantFetch|createGuardedFetch|guardedFetch|fetchForeign)\(/

type Found = { readonly file: string; readonly isRaw: boolean }

/** The lines of code, without comments. */
const linesOf = (path: string): readonly string[] =>
  readFileSync(join(root, path), 'utf8')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .split('\n')
    .filter((line) => !/^\s*\/\//.test(line) && !ownMethods.test(line))

const found: readonly Found[] = readdirSync(root, { recursive: true })
  .map(String)
  .filter((path) => /\.tsx?$/.test(path) && !path.endsWith('.d.ts') && !path.includes('/dist/'))
  .flatMap((file) => {
    const lines = linesOf(file)
    const isRaw = lines.some((line) => rawFetch.test(line))
    return isRaw || lines.some((line) => guarded.test(line)) ? [{ file, isRaw }] : []
  })

describe('the table of addresses', () => {
  it('has every file that opens connections, and no other', () =>
    expect(addressFetches.map(({ file }) => file).toSorted()).toEqual(found.map(({ file }) => file).toSorted()))

  it('names a reason for each file that goes past the guarded fetch', () =>
    expect(
      addressFetches
        .filter(({ raw }) => raw !== undefined)
        .map(({ file }) => file)
        .toSorted(),
    ).toEqual(
      found
        .filter(({ isRaw }) => isRaw)
        .map(({ file }) => file)
        .toSorted(),
    ))

  it('has a request for each file that fetches in place of a person or a job', () =>
    expect([...new Set(orderedFetches.map(({ file }) => file))].toSorted()).toEqual(
      addressFetches.flatMap(({ file, by }) => (by === 'ordered' ? [file] : [])).toSorted(),
    ))
})

describe('a tool that fetches an address', () => {
  const used = addressFetches.flatMap(({ tools: inputs = {} }) => Object.entries(inputs))
  it('is named for each file that fetches in place of a model', () =>
    expect(addressFetches.filter(({ by, tools: inputs }) => (by === 'call') !== (inputs !== undefined))).toEqual([]))
  it.each(used)('has a risk above reading: %s', (name, input) => {
    const tool = tools.find((one) => one.name === name)
    expect(tool && isRiskAbove(tool.risk(input), 'read')).toBe(true)
  })
})
