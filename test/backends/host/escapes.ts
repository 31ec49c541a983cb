/** Tests that the processes of a command end with it, however they were started. Each writes to a file while it lives. */

import { expect, it } from 'vitest'
import type { ExecutionBackend } from '#agent/core/backend.ts'
import { itInTurn } from '#test/support/long.ts'

type Backend = Pick<ExecutionBackend, 'exec' | 'files' | 'jobs'>

/** Ends by itself when the folder of the test is removed. */
const beat = (file: string) => `while [ -e ${file} ]; do echo x >> ${file}; sleep 0.05; done`
const quiet = '> /dev/null 2>&1 < /dev/null'

const escapes: Readonly<Record<string, (file: string) => string>> = {
  'another session': (file) => `setsid bash -c '${beat(file)}' ${quiet} &`,
  'another session, from a shell that has ended': (file) => `(setsid bash -c '${beat(file)}' ${quiet} &);`,
  nohup: (file) => `nohup bash -c '${beat(file)}' ${quiet} & disown;`,
  'no environment': (file) => `setsid env -i bash -c '${beat(file)}' ${quiet} &`,
  'orphaned, no environment': (file) => `(setsid env -i bash -c '${beat(file)}' ${quiet} &);`,
  'forked twice, no environment, no descriptors': (file) =>
    `setsid env -i bash -c 'exec 0<&- 1>&- 2>&-; (setsid bash -c "(${beat(file)}) & exit" & exit) & exit' &`,
  'no mark in its limits': (file) => `(setsid bash -c 'ulimit -x unlimited; ${beat(file)}' ${quiet} &);`,
  'behind its parent in another session': (file) => `setsid bash -c '(${beat(file)}) & sleep 60' ${quiet} &`,
}
const names = Object.keys(escapes)
const files = names.map((_, index) => `beats-${index}`)

/** Starts one process of each kind, waits until all live, and does not end. */
const command = `for f in ${files.join(' ')}; do : > $f; done
${names.map((name, index) => escapes[name]?.(files[index] ?? '')).join('\n')}
for f in ${files.join(' ')}; do while [ ! -s $f ]; do sleep 0.02; done; done
: > begun; sleep 30`

/** The kinds that still write. */
async function listAlive(backend: Backend): Promise<readonly string[]> {
  const sizes = async () => {
    const listed = await backend.files.list('.')
    return files.map((file) => listed.find(({ path }) => path.endsWith(`/${file}`))?.size)
  }
  const before = await sizes()
  expect(before.every((size) => size)).toBe(true)
  await new Promise((resolve) => setTimeout(resolve, 250))
  const after = await sizes()
  return names.filter((_, index) => before[index] !== after[index])
}

const untilBegun = async (backend: Backend) => {
  while (!(await backend.files.stat('begun'))) await new Promise((resolve) => setTimeout(resolve, 50))
}

/** Tries with longer times until all processes have begun within the time. */
async function outlast(backend: Backend, run: (timeoutMs: number) => Promise<unknown>): Promise<void> {
  for (let timeoutMs = 1_500; ; timeoutMs *= 2) {
    await run(timeoutMs)
    if (await backend.files.stat('begun')) return
  }
}

export function endsEscapes(open: () => Backend): void {
  it('ends with its command at the timeout', { timeout: 60_000 }, async () => {
    const backend = open()
    await outlast(backend, async (timeoutMs) =>
      expect(await backend.exec(command, { timeoutMs })).toMatchObject({ timedOut: true }),
    )
    expect(await listAlive(backend)).toEqual([])
  })

  it('ends with its command by a stop', { timeout: 60_000 }, async () => {
    const backend = open()
    const stop = new AbortController()
    const running = backend.exec(command, { timeoutMs: 30_000, signal: stop.signal })
    await untilBegun(backend)
    expect(await listAlive(backend)).toEqual(names)
    stop.abort()
    await running
    expect(await listAlive(backend)).toEqual([])
  })

  itInTurn('ends with its job by a kill', { timeout: 60_000 }, async () => {
    const backend = open()
    await backend.jobs?.start('j', command, { timeoutMs: 30_000 })
    await untilBegun(backend)
    await backend.jobs?.kill('j')
    expect(await listAlive(backend)).toEqual([])
    expect(await backend.jobs?.state('j')).toMatchObject({ at: 'exited' })
  })

  itInTurn('ends with its job at the timeout', { timeout: 60_000 }, async () => {
    const backend = open()
    await outlast(backend, async (timeoutMs) => {
      const id = `j${timeoutMs}`
      await backend.jobs?.start(id, command, { timeoutMs })
      while ((await backend.jobs?.state(id))?.at === 'running') await new Promise((resolve) => setTimeout(resolve, 50))
      expect(await backend.jobs?.state(id)).toMatchObject({ at: 'exited', exitCode: 124 })
    })
    expect(await listAlive(backend)).toEqual([])
  })

  it('ends with no job of the same name in another folder', { timeout: 60_000 }, async () => {
    const [own, other] = [open(), open()]
    for (const { jobs } of [own, other]) await jobs?.start('j', 'sleep 30', { timeoutMs: 60_000 })
    await own.jobs?.kill('j')
    expect(await other.jobs?.state('j')).toMatchObject({ at: 'running' })
    await other.jobs?.kill('j')
  })

  it('stays when the command ends by itself, and ends with no other command', { timeout: 60_000 }, async () => {
    const backend = open()
    const kept = `: > kept; (setsid bash -c 'echo $$ > pid; ${beat('kept')}' ${quiet} &); until [ -s kept ]; do sleep 0.02; done`
    await backend.exec(kept, { timeoutMs: 10_000 })
    const size = async () => (await backend.files.stat('kept'))?.size ?? 0
    const isAlive = async () => {
      const before = await size()
      await new Promise((resolve) => setTimeout(resolve, 250))
      return (await size()) > before
    }
    expect(await isAlive()).toBe(true)
    expect(await backend.exec('sleep 20', { timeoutMs: 100 })).toMatchObject({ timedOut: true })
    expect(await isAlive()).toBe(true)
    await backend.exec('kill -KILL $(cat pid)', { timeoutMs: 10_000 })
  })
}
