/**
 * Runs mixed turns in 40 sessions for 30 minutes and watches the memory of the runtime. Exits with an error when a turn
 * fails or when the heap of the main isolate, after a forced collection, grows from the first third of the run to the
 * last. `npm run soak -- --minutes 5 --sessions 10` runs a shorter one.
 */

import { parseArgs } from 'node:util'
import { readFileSync } from 'node:fs'
import { openStage, repository } from './stage.ts'
import { json, sendMessage, type Target } from './client.ts'
import { openInspector } from './inspector.ts'
import { freePort, holderOf } from './process.ts'
import { median } from './stats.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    sessions: { type: 'string', default: '40' },
    /** One kind of turn alone, to find where memory goes. */
    only: { type: 'string' },
  },
})
const minutes = Number(values.minutes)
const sessionCount = Number(values.sessions)
const sampleMs = Math.max(10_000, (minutes * 60_000) / 60)
/** Growth of the median heap that counts as noise of the collector. */
const toleratedGrowth = 0.1
const concurrentTurns = 4

/**
 * A conversation is held in memory as a whole, so its turns are undone after so many. New sessions would not do: the
 * local runtime keeps the isolate of every session that ever ran a command (docs/performance.md).
 */
const turnsPerSession = 30

const mix: Readonly<Record<string, string>> = {
  plain: 'Hello. [[text 20]]',
  todo: 'Plan. [[tools 2 todo {}]] [[say done]]',
  file: 'Write. [[call write_file {"path":"notes.txt","content":"line $i"} then read_file {"path":"notes.txt"} then say read]]',
  terminal: 'Run. [[call terminal {"command":"seq 1 200 | sort -n | tail -1"} then say ran]]',
  long: 'Long. [[text 300]]',
  search: 'Search. [[call search_files {"pattern":"line"} then say found]]',
}
const prompts = values.only === undefined ? Object.values(mix) : [mix[values.only] ?? '']
if (prompts[0] === '') throw new Error(`--only takes one of ${Object.keys(mix).join(', ')}.`)

type Memory = {
  readonly heapMb: number
  readonly residentMb: number
  readonly anonymousMb: number
  readonly fileMb: number
}
type Sample = Memory & { readonly minute: number; readonly turns: number }

const megabytes = (bytes: number): number => bytes / 1024 / 1024

function residentOf(pid: number): Omit<Memory, 'heapMb'> {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1')
  const of = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? NaN) / 1024
  return { residentMb: of('Pss'), anonymousMb: of('Pss_Anon'), fileMb: of('Pss_File') }
}

async function runTurns(target: Target, until: number, counters: { turns: number; failures: string[] }): Promise<void> {
  const create = async () =>
    (await json<{ readonly id: string }>(target, 'POST', '/api/sessions', { title: 'Soak' })).id
  const slots = await Promise.all(Array.from({ length: sessionCount }, async () => ({ id: await create(), turns: 0 })))
  const free = [...slots]
  let next = 0
  const worker = async () => {
    for (let slot = free.shift(); slot && Date.now() < until; slot = free.shift()) {
      const prompt = prompts[Math.floor(next++ / slots.length) % prompts.length] ?? ''
      await sendMessage(target, prompt, slot.id).catch((error: unknown) => void counters.failures.push(String(error)))
      counters.turns++
      if (++slot.turns >= turnsPerSession) {
        await json(target, 'POST', `/api/sessions/${slot.id}/undo`, { n: turnsPerSession })
        slot.turns = 0
      }
      free.push(slot)
    }
  }
  await Promise.all(Array.from({ length: concurrentTurns }, worker))
}

const print = ({ minute, turns, heapMb, residentMb, anonymousMb, fileMb }: Sample): void => {
  const mb = (value: number) => value.toFixed(1).padStart(7)
  console.log(
    `${minute.toFixed(1).padStart(5)} min ${String(turns).padStart(6)} turns  heap ${mb(heapMb)} MB  resident ${mb(residentMb)} MB` +
      ` (anonymous ${mb(anonymousMb)}, files ${mb(fileMb)})`,
  )
}

const stage = await openStage({ from: repository, self: false })
const inspectorPort = await freePort()
try {
  const { target, running } = await stage.inspected(inspectorPort)
  await sendMessage(target, 'Hello. [[text 20]]')
  const pid = holderOf(running.pid, '/v3/do/')
  if (!pid) throw new Error('No process holds the files of the objects.')
  const inspector = openInspector(inspectorPort)
  const began = Date.now()
  const until = began + minutes * 60_000
  const counters = { turns: 0, failures: [] as string[] }
  const samples: Sample[] = []
  const sample = async () => {
    const heapMb = megabytes(await inspector.usedHeap())
    samples.push({ minute: (Date.now() - began) / 60_000, turns: counters.turns, heapMb, ...residentOf(pid) })
    print(samples.at(-1) as Sample)
  }
  const turns = runTurns(target, until, counters)
  while (Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, Math.min(sampleMs, until - Date.now())))
    await sample()
  }
  await turns
  await sample()
  const third = Math.ceil(samples.length / 3)
  const early = median(samples.slice(1, third + 1).map(({ heapMb }) => heapMb))
  const late = median(samples.slice(-third).map(({ heapMb }) => heapMb))
  const [first, last] = [samples[1] ?? samples[0], samples.at(-1)]
  const perTurn =
    first && last ? ((last.residentMb - first.residentMb) / Math.max(1, last.turns - first.turns)) * 1024 : 0
  console.log(`heap: ${early.toFixed(1)} MB in the first third, ${late.toFixed(1)} MB in the last`)
  console.log(`resident memory: ${perTurn.toFixed(1)} KB per turn`)
  for (const failure of counters.failures.slice(0, 5)) console.error(failure)
  const isFlat = late <= early * (1 + toleratedGrowth)
  if (!isFlat) console.error('The heap grows.')
  process.exitCode = isFlat && !counters.failures.length ? 0 : 1
  console.log(`${counters.turns} turns, ${counters.failures.length} failed`)
  inspector.close()
} finally {
  await stage.end()
}
