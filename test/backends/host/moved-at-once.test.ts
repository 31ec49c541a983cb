/** Rounds in which several scripts find at once that the workspace was moved. One moves it back, and none loses it. */

import { describe, expect, it } from 'vitest'
import { movedWorkspace } from '#backends/host/scripts.ts'
import { firstRows, isLong } from '../../support/long.ts'
import { runProgram } from '../../support/start-program.mjs'
import { type OpenedHost, scriptHosts } from './script-hosts.ts'

const T = { timeoutMs: 20_000 }
const rounds = isLong ? 25 : 1

const move = ({ root, temporary }: OpenedHost) => `mv ${root} ${temporary}/kept; touch ${temporary}/go`
/** A command that begins while the workspace is away may find no directory: each says that it has begun. */
const waits = ({ temporary }: OpenedHost) =>
  `mktemp ${temporary}/in-XXXXXX; while [ ! -e ${temporary}/go ]; do sleep 0.01; done`
const untilBegun = ({ temporary }: OpenedHost, count: number) =>
  `while [ "$(ls ${temporary} | grep -c ^in-)" -lt ${count} ]; do sleep 0.01; done`
const many = (count: number, work: () => Promise<unknown>) => Array.from({ length: count }, work)
const startJob = ({ backend }: OpenedHost, text: string) => backend.jobs!.start('moves', text, { timeoutMs: 30_000 })

const cases: readonly [string, (opened: OpenedHost) => Promise<unknown>][] = [
  [
    'by a command while others end, and a copy is made',
    (opened) =>
      Promise.all([
        opened.backend.exec(`${untilBegun(opened, 5)}; ${move(opened)}`, T),
        ...many(4, () => opened.backend.exec(waits(opened), T)),
        opened.backend.exec(waits(opened), T).then(() => opened.save()),
      ]),
  ],
  [
    'by a job that ends with commands, before others and a copy',
    async (opened) => {
      await startJob(opened, `${untilBegun(opened, 3)}; ${move(opened)}`)
      await Promise.all(many(3, () => opened.backend.exec(waits(opened), T)))
      await Promise.all([opened.save(), ...many(2, () => opened.backend.exec('true', T))])
    },
  ],
  [
    'by a job that goes on, before commands and a copy',
    async (opened) => {
      await startJob(opened, `${move(opened)}; sleep 1`)
      await opened.backend.exec(waits(opened), { ...T, cwd: opened.temporary })
      await Promise.all([opened.save(), ...many(3, () => opened.backend.exec('true', T))])
    },
  ],
]

/** Each way on one host, and each host with one way. */
const ways = scriptHosts.flatMap((host, at) => cases.map((way, nth) => ({ host, way, isFirst: at === nth })))
const rows = ways
  .toSorted((one, other) => Number(other.isFirst) - Number(one.isFirst))
  .map(({ host: [host, open], way: [how, run] }) => [host, how, open, run] as const)

describe('a workspace', () => {
  it.each(firstRows(1, rows, 1))(
    'of %s is moved back once when it was moved %s',
    async (_host, _how, open, run) => {
      for (let round = 0; round < rounds; round++) {
        const opened = open()
        const { backend, root, temporary } = opened
        await backend.exec('echo precious > a', T)
        await run(opened)
        const shown = await backend.exec(`cat a; ls -d ${root}*; readlink ${temporary}/kept`, T)
        expect(shown.stdout).toBe(`precious\n${root}\n${root}\n`)
      }
    },
    rounds * 20_000,
  )
})

it('is found by a process that works there, also when another one has ended since they were listed', async () => {
  // `stat` lists a process that is gone, and then this shell.
  const listed = `stat() { printf '7:7 %s\\n' /proc/9999999/cwd "/proc/$$/cwd"; }`
  const script = `${movedWorkspace}${listed}; cd /usr; findFolder 7:7 1; printf %s "$m"`
  expect(await runProgram('bash', ['-c', script], {})).toMatchObject({ code: 0, output: '/usr' })
})
