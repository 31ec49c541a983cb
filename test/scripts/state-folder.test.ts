/** Tests the check of the state folder. */

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { requireWritable } from '../../scripts/lib/state-folder.mjs'

describe('the folder of the data', () => {
  let place = ''
  beforeEach(() => {
    place = mkdtempSync(join(tmpdir(), 'talaria-state-'))
    writeFileSync(join(place, 'file'), '')
  })
  afterEach(() => rmSync(place, { recursive: true }))

  it('is made where it is not there, and holds nothing of the test', () => {
    requireWritable(join(place, 'a/b'))
    expect(readdirSync(join(place, 'a/b'))).toEqual([])
  })

  it.each(['file', 'file/inside'])('is refused with its name when it is %s', (name) => {
    expect(() => requireWritable(join(place, name))).toThrow(
      `--persist-to ${join(place, name)} cannot be written: it is a file, or lies in one`,
    )
  })

  it.runIf(process.platform === 'linux')('is refused where nothing can be made', () => {
    expect(() => requireWritable('/proc/nope')).toThrow('--persist-to /proc/nope cannot be written: ENOENT')
  })
})
