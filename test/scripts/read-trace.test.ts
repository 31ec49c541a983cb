/** Tests that a stack trace of a minified module names its places in the source. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, expect, it } from 'vitest'
import { readTrace } from '../../scripts/lib/read-trace.mjs'

const folder = mkdtempSync(join(tmpdir(), 'talaria-trace-'))
afterAll(() => rmSync(folder, { recursive: true }))

it('names the places of a trace, in a log line too, and leaves others as they are', async () => {
  mkdirSync(join(folder, 'src'))
  writeFileSync(
    join(folder, 'src/fail.mjs'),
    'const pad = () => 1\nexport function failHere() {\n  throw new Error(`failed ${pad()}`)\n}\n',
  )
  const shared = { bundle: true, minify: true, format: 'esm', sourcemap: 'linked' } as const
  const outfile = join(folder, 'dist/chunk-AB12CD34.js')
  await build({ entryPoints: [join(folder, 'src/fail.mjs')], outfile, ...shared })
  const column = readFileSync(outfile, 'utf8').indexOf('new Error') + 1
  const at = `chunk-AB12CD34.js:1:${column}`
  const lines = `Error: failed\n    at a (file:///worker/${at})\n{"stack":"Error\\n    at a (${at})"}\n    at b (other.js:1:2)`
  const read = readTrace(lines, join(folder, 'dist'), folder)
  expect(read.match(/src\/fail\.mjs:3:\d+/g)).toHaveLength(2)
  expect(read).toContain('at b (other.js:1:2)')
  expect(read).not.toContain('chunk-AB12CD34.js')
})
