/** Tests what the check of the layers says about exports and about the order inside rooms, on small trees of its own. */

import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'

const script = join(import.meta.dirname, '../../scripts/check-floors.mjs')
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
  return stderr.split('\n').filter((line) => / exports | \(the order | that the order /.test(line))
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

describe('the order inside a room', () => {
  const core = 'src/durable/session/core/part.ts'
  const submit = 'src/durable/session/submit.ts'
  const command = 'src/durable/session/commands/run.ts'
  const value = (path: string) => `import { part } from '${path}'\nvoid part\n`
  const against = (from: string, to: string) => `not allowed: ${from} -> ${to} (the order inside src/durable/session)`

  it.each([
    ['a folder imports a lower one', { [command]: value('../core/part.ts'), [core]: '' }, []],
    ['a folder imports a higher one', { [core]: value('../commands/run.ts'), [command]: '' }, [against(core, command)]],
    ['only a type comes from above', { [core]: `import type { T } from '../commands/run.ts'`, [command]: '' }, []],
    ['types in braces come from above', { [core]: `import { type A, type B } from '../submit.ts'`, [submit]: '' }, []],
    [
      'a value is among the types',
      { [core]: `import {\n  type A,\n  part,\n} from '../submit.ts'\nvoid part`, [submit]: '' },
      [against(core, submit)],
    ],
    [
      'the import is dynamic',
      {
        [core]: `export const load = () => import('../submit.ts')`,
        'src/a.ts': `import { load } from './durable/session/core/part.ts'`,
        [submit]: '',
      },
      [against(core, submit)],
    ],
    ['a listed file is below a folder', { 'src/durable/session/rpc/runs.ts': value('../submit.ts'), [submit]: '' }, []],
    [
      'a file that is not listed is above all folders',
      { 'src/durable/session/rpc/runs.ts': value('../session.ts'), 'src/durable/session/session.ts': '' },
      [against('src/durable/session/rpc/runs.ts', 'src/durable/session/session.ts')],
    ],
    [
      'two folders of one level',
      {
        'src/durable/session/subagents/a.ts': value('../self-started/b.ts'),
        'src/durable/session/self-started/b.ts': '',
      },
      [against('src/durable/session/subagents/a.ts', 'src/durable/session/self-started/b.ts')],
    ],
  ])('%s', (_what, files, offences) => {
    expect(check(files)).toEqual(offences)
  })

  it('names every folder', () => {
    expect(check({ 'src/worker/extra/a.ts': '' })).toEqual([
      'not allowed: src/worker/extra/a.ts is in a folder that the order of src/worker does not name',
    ])
  })
})
