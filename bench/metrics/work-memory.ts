/**
 * P22: measures how much memory an isolate holds at most while it works, over what it holds at rest. Each sample follows
 * a forced collection, so that it counts what is in use and no garbage.
 */

import { randomBytes } from 'node:crypto'
import { call, json, type Target } from '../client.ts'
import { type Inspector, openInspector } from '../inspector.ts'
import { atMost, times, type Metric, type Row } from '../metric.ts'
import { freePort } from '../process.ts'
import type { Stage } from '../stage.ts'

const photos = 12
const photoBytes = 1_800_000
const sessions = 80
const contextChars = 400_000
/** An isolate reads messages of the inspector only while it works. */
const wakeEveryMs = 200

type Measured = { readonly idle: number; readonly peak: number }

/** The highest of the samples while the work lasts, in MB. */
async function peakDuring(inspector: Inspector, work: () => Promise<unknown>): Promise<number> {
  const state = { isOver: false, peak: 0 }
  const working = work().finally(() => (state.isOver = true))
  while (!state.isOver) state.peak = Math.max(state.peak, (await inspector.usedMemory()) / 1e6)
  await working
  return state.peak
}

async function measured(stage: Stage, prepare: (target: Target) => Promise<() => Promise<unknown>>): Promise<Measured> {
  const port = await freePort()
  const { target, running } = await stage.inspected(port)
  const inspector = openInspector(port)
  const awake = setInterval(() => void call(target, 'GET', '/health').catch(() => undefined), wakeEveryMs)
  try {
    const work = await prepare(target)
    const idle = (await inspector.usedMemory()) / 1e6
    return { idle, peak: await peakDuring(inspector, work) }
  } finally {
    clearInterval(awake)
    inspector.close()
    await running.kill()
  }
}

const newSession = async (target: Target): Promise<string> =>
  (await json<{ id: string }>(target, 'POST', '/api/sessions', {})).id

const chat = (target: Target, session: string, input: unknown) =>
  json(target, 'POST', `/api/sessions/${session}/chat`, { input })

/** Bytes of no picture: the stand-in of the model does not look at them. The signature is that of a PNG. */
const photo = (): string =>
  Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), randomBytes(photoBytes)]).toString('base64')

async function withPhotos(target: Target): Promise<() => Promise<unknown>> {
  const session = await newSession(target)
  for (let n = 0; n < photos; n++)
    await chat(target, session, [
      { type: 'text', text: `Photo ${n}. [[text 5]]` },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${photo()}` } },
    ])
  return () => chat(target, session, 'All of them. [[text 200]]')
}

async function withSessions(target: Target): Promise<() => Promise<unknown>> {
  const ids = await times(sessions, () => newSession(target))
  const long = `${'word '.repeat(contextChars / 5)} [[text 5]]`
  for (const id of ids) await chat(target, id, long)
  return () => Promise.all(ids.map((id) => chat(target, id, 'Again. [[text 50]]')))
}

export const workMemory: Metric = {
  id: 'P22',
  what: 'memory at work',
  run: async (stage, { quick }) => {
    const rounds = quick ? 1 : 3
    const turns = await times(rounds, () => measured(stage, withPhotos))
    const busy = await times(rounds, () => measured(stage, withSessions))
    const rows: Row[] = [
      {
        metric: 'P22',
        what: `peak of a turn with ${photos} photos of 1.8 MB, over idle`,
        unit: 'MB',
        goal: atMost(45),
        samples: turns.map(({ idle, peak }) => peak - idle),
        note: turns.map(({ idle, peak }) => `${peak.toFixed(0)} − ${idle.toFixed(0)} MB`).join(', '),
      },
      {
        metric: 'P22',
        what: `peak of ${sessions} busy sessions of 400 KB`,
        unit: 'MB',
        goal: atMost(128),
        samples: busy.map(({ peak }) => peak),
      },
    ]
    return rows
  },
}
