/** Tests the messages of an installation. */

import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { explainInstallFailure, showProgress } from '../../scripts/lib/install-progress.mjs'

it('an installation shows how many packages are there', async () => {
  const root = mkdtempSync(join(tmpdir(), 'talaria-install-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  mkdirSync(join(root, 'node_modules/a'), { recursive: true })
  const lines: string[] = []
  const stream = { isTTY: false, write: (text: string) => lines.push(text) }
  const stop = showProgress(['', 'node_modules/a', 'node_modules/b'], root, { stream, intervalMs: 5 })
  await expect.poll(() => lines.join('')).toContain('1 of 2 packages')
  stop()
})

it.each([
  ['npm error code ENOTFOUND', 'There is no connection to the npm registry'],
  ['npm error code EAI_AGAIN', 'There is no connection to the npm registry'],
  ['npm error code EACCES', 'The folder /there cannot be written'],
  ['npm error code EROFS', 'The folder /there cannot be written'],
  ['npm error code ENOSPC', 'The disk is full'],
  ['npm error code EUSAGE', 'package-lock.json does not fit'],
  ['npm error something else', 'The output of npm is above'],
])('%s is explained', (stderr, hint) => {
  const text = explainInstallFailure({ status: 1, stderr }, '/there')
  expect(text).toContain(stderr)
  expect(text).toContain(hint)
})

it('an old Node is told what is needed', () => {
  const script = `Object.defineProperty(process.versions, 'node', { value: '18.20.1' }); import('./scripts/install.mjs')`
  const { status, stderr } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' })
  expect([status, stderr]).toEqual([
    1,
    expect.stringContaining('needs Node 20 or newer to install itself; this is Node 18.20.1'),
  ])
})

it('the entry of the installation has no syntax that an old Node does not know', () => {
  const source = execFileSync('cat', ['scripts/install.mjs'], { encoding: 'utf8' })
  expect(source).not.toMatch(/^import .* from|await |\?\?|\?\./m)
})
