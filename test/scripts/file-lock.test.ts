/** Tests that one process at a time has a lock, and that a build waits for another one. */

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'

const library = new URL('../../scripts/lib/file-lock.mjs', import.meta.url).href
let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'talaria-lock-'))
  file = join(folder, 'lock')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const script = (more: string) =>
  `import { takeLock } from ${JSON.stringify(library)}
const holder = takeLock(${JSON.stringify(file)})
console.log(holder ?? 'mine')
${more}`
const take = () =>
  spawnSync(process.execPath, ['--input-type=module', '-e', script('')], { encoding: 'utf8' }).stdout.trim()

it('belongs to one process, and to the next one after its end, also after SIGKILL', async () => {
  const holds = () => spawn(process.execPath, ['--input-type=module', '-e', script('setInterval(() => {}, 1_000)')])
  const first = holds()
  await once(first.stdout, 'data')
  expect(take()).toBe(String(first.pid))
  first.kill('SIGKILL')
  await once(first, 'exit')
  expect(existsSync(file)).toBe(true)
  expect(take()).toBe('mine')
  expect(existsSync(file)).toBe(false)
})

it('is not taken from a process that has not written its id yet', () => {
  writeFileSync(file, '')
  expect(take()).toBe('0')
  utimesSync(file, 1, 1)
  expect(take()).toBe('mine')
})

it('is taken by one of many that begin at once', async () => {
  const many = Array.from({ length: 6 }, async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', script('setTimeout(() => {}, 3_000)')])
    const [said] = (await once(child.stdout, 'data')) as [Buffer]
    return { child, said: String(said).trim() }
  })
  const started = await Promise.all(many)
  expect(started.filter(({ said }) => said === 'mine')).toHaveLength(1)
  for (const { child } of started) child.kill('SIGKILL')
})
