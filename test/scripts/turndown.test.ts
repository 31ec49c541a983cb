/** Tests that the bundled Turndown is imported without an error where there is no DOM. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { withoutTrials } from '../../scripts/lib/turndown.mjs'

const source = readFileSync('node_modules/turndown/lib/turndown.browser.es.js', 'utf8')

/** Imports Turndown where its window has a parser that no document has made, and counts how often it is tried. */
async function countTrials(code: string): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'turndown-'))
  const state = globalThis as { window?: unknown }
  onTestFinished(() => {
    rmSync(folder, { recursive: true })
    delete state.window
  })
  let tried = 0
  const DOMParser = function () {
    tried++
    throw new TypeError('There is no DOM.')
  }
  state.window = { DOMParser }
  writeFileSync(join(folder, 'turndown.mjs'), code)
  await import(/* @vite-ignore */ pathToFileURL(join(folder, 'turndown.mjs')).href)
  return tried
}

it('tries no parser without a document', async () => {
  expect(await countTrials(source)).toBe(1)
  expect(await countTrials(withoutTrials(source))).toBe(0)
})

it('stops the build when Turndown has changed', () => {
  expect(() => withoutTrials(source.replace('shouldUseActiveX()', 'usesActiveX()'))).not.toThrow()
  expect(() => withoutTrials(source.replaceAll('shouldUseActiveX', 'usesActiveX'))).toThrow('another way')
})
