/** Tests what the check of the layers says about exports, on a small tree of its own. */

import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, it } from 'vitest'

const script = fileURLToPath(new URL('../../scripts/check-floors.mjs', import.meta.url))
const folders: string[] = []
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })))

function check(files: Readonly<Record<string, string>>): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'floors-'))
  folders.push(folder)
  for (const room of ['scripts', 'bench', 'sandbox', 'web', 'test', 'bin', 'cli', 'migrations'])
    mkdirSync(join(folder, room))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  const { stderr } = spawnSync(process.execPath, [script], { cwd: folder, encoding: 'utf8' })
  return stderr.split('\n').filter((line) => line.includes(' exports '))
}

const at = 'src/agent/core/size.ts'
const offence = `not allowed: ${at} exports sizeOf, which`

it.each([
  ['the program', { 'src/tools/a.ts': `import { sizeOf } from '#agent/core/size.ts'` }, []],
  ['only tests', { 'test/a.test.ts': `import { sizeOf } from '#agent/core/size.ts'` }, [`${offence} only tests use`]],
  ['nobody', { 'src/tools/a.ts': `import { other } from '#agent/core/size.ts'` }, [`${offence} no other file imports`]],
])('an export that %s imports', (_who, user, offences) => {
  expect(check({ [at]: 'export const sizeOf = 1\n', ...user })).toEqual(offences)
})

it('an export that its own file uses may be imported by tests alone', () => {
  const source = 'export const sizeOf = 1\nexport const twice = 2 * sizeOf\n'
  const user = `import { twice } from '#agent/core/size.ts'`
  const test = `import { sizeOf } from '#agent/core/size.ts'`
  expect(check({ [at]: source, 'src/tools/a.ts': user, 'test/a.test.ts': test })).toEqual([])
})
