/** Tests that the work of an alarm follows what is due, and not how many jobs there are. */

import { runInDurableObject } from 'cloudflare:test'
import { expect, it } from 'vitest'
import type { Job } from '#agent/schedule/job/job.ts'
import { claimDue } from '#durable/tenant/jobs/claim-due.ts'
import { JobRows } from '#durable/tenant/jobs/job-rows.ts'
import { RunRows } from '#durable/tenant/jobs/run-rows.ts'
import { ownerTurn } from '#test/support/authority.ts'
import { tenantOf } from './support.ts'

const existing = 10_000
const due = 3
const hourMs = 3_600_000
const now = 1_800_000_000_000

const jobOf = (n: number): Job => ({
  id: n.toString(16).padStart(12, '0'),
  plan: {
    name: `job ${n}`,
    prompt: 'Report.',
    deliver: 'local',
    skills: [],
    approvedScripts: [],
    isScriptOnly: false,
    contextFrom: [],
    isContinuous: false,
    isAttached: false,
    authority: ownerTurn('many'),
  },
  schedule: { kind: 'interval', from: now - hourMs, everyMs: hourMs },
  scheduleText: 'every 1h',
  display: 'every 1h',
  runCount: 0,
  state: 'scheduled',
  createdAt: now,
  updatedAt: now,
  failureStreak: 0,
})

it(`reads and writes a few rows for ${due} due jobs among ${existing}`, async () => {
  await runInDurableObject(tenantOf('many'), (_object, { storage }) => {
    let rows = 0
    const counted = {
      exec: (query: string, ...bindings: unknown[]) => {
        const cursor = storage.sql.exec(query, ...(bindings as string[]))
        const toArray = cursor.toArray.bind(cursor)
        const count = () => {
          const found = toArray()
          rows += cursor.rowsRead + cursor.rowsWritten
          return found
        }
        const first = count()
        return { toArray: () => first, one: () => first[0] }
      },
    } as unknown as SqlStorage
    const [jobs, runs] = [new JobRows(counted), new RunRows(counted)]
    storage.transactionSync(() => {
      for (let n = 0; n < existing; n++) jobs.add(jobOf(n), n < due ? now : now + hourMs)
    })
    runs.countOpen()
    rows = 0
    claimDue({ jobs, runs, announce: () => undefined }, now, 50)
    expect(runs.countOpen()).toBe(due)
    expect(rows).toBeLessThan(due * 30)
    rows = 0
    jobs.add(jobOf(existing), now)
    jobs.update(jobOf(existing), now + hourMs)
    expect(jobs.firstAt()).toBeGreaterThan(now)
    expect(rows).toBeLessThan(30)
  })
})
