/** Tests that the code of isolates stays out of the modules of a worker. */

import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, expect, it } from 'vitest'
import { codeAsAssets } from '../../scripts/lib/isolate-assets.mjs'

const folder = mkdtempSync(join(tmpdir(), 'talaria-assets-'))
afterAll(() => rmSync(folder, { recursive: true }))

const code = 'export const secretOfTheIsolate = 1'
writeFileSync(join(folder, 'page.isolate.txt'), code)
writeFileSync(join(folder, 'entry.mjs'), "export const text = (await import('./page.isolate.txt')).default")

async function bundle(plugins: readonly object[]): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(folder, 'entry.mjs')],
    bundle: true,
    write: false,
    format: 'esm',
    loader: { '.txt': 'text' },
    plugins: [...plugins] as never,
  })
  return outputFiles.map(({ text }) => text).join('\n')
}

it('replaces the text by its place and its hash', async () => {
  const assets = new Map<string, Buffer>()
  const text = await bundle([codeAsAssets(assets)])
  const sha256 = createHash('sha256').update(code).digest('hex')
  expect(text).not.toContain('secretOfTheIsolate')
  expect(text).toContain(sha256)
  expect([...assets]).toEqual([[`page-${sha256.slice(0, 16)}.txt`, Buffer.from(code)]])
})
