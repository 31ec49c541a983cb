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
/** With the rest of the file below the 20 MB up to which documents are read. */
const filler = 19_700_000
/** Below the 10 MB that a request may have. */
const uploadBytes = 10_000_000
/** An isolate reads messages of the inspector only while it works. */
const wakeEveryMs = 200

type Measured = { readonly idle: number; readonly peak: number }

/** The highest of the samples while the work lasts, in MB. */
async function peakDuring(inspector: Inspector, work: () => Promise<unknown>): Promise<number> {
  const state = { isOver: false, peak: 0 }
  const working = work().finally(() => (state.isOver = true))
  // It is awaited below.
  working.catch(() => undefined)
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

/** A page with a line of text, and a file of 20 MB that the page does not show. */
function largePdf(): Uint8Array<ArrayBuffer> {
  const content = 'BT /F 12 Tf 40 700 Td (A page of a large document.) Tj ET'
  const objects: readonly (string | Buffer)[] = [
    '<</Type/Catalog/Pages 2 0 R>>',
    '<</Type/Pages/Kids[4 0 R]/Count 1>>',
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>',
    '<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 5 0 R/Resources<</Font<</F 3 0 R>>>>>>',
    `<</Length ${content.length}>>stream\n${content}\nendstream`,
    Buffer.concat([Buffer.from(`<</Length ${filler}>>stream\n`), randomBytes(filler), Buffer.from('\nendstream')]),
  ]
  const parts = [Buffer.from('%PDF-1.7\n')]
  const places: number[] = []
  for (const [n, object] of objects.entries()) {
    places.push(parts.reduce((size, { length }) => size + length, 0))
    parts.push(Buffer.from(`${n + 1} 0 obj\n`), Buffer.from(object), Buffer.from('\nendobj\n'))
  }
  const start = parts.reduce((size, { length }) => size + length, 0)
  const table = places.map((place) => `${String(place).padStart(10, '0')} 00000 n \n`).join('')
  const count = objects.length + 1
  const end = `xref\n0 ${count}\n0000000000 65535 f \n${table}trailer <</Size ${count}/Root 1 0 R>>\nstartxref\n${start}\n%%EOF`
  return new Uint8Array(Buffer.concat([...parts, Buffer.from(end)]))
}

/** The model reads it, which takes an isolate of its own. */
async function withDocument(target: Target): Promise<() => Promise<unknown>> {
  const session = await newSession(target)
  const headers = { authorization: `Bearer ${target.key}` }
  const pdf = largePdf()
  for (const [name, body] of Object.entries({ a: pdf.slice(0, uploadBytes), b: pdf.slice(uploadBytes) })) {
    const path = `/api/sessions/${session}/files/${name}`
    const answer = await fetch(`${target.origin}${path}`, { method: 'PUT', headers, body })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  }
  await chat(target, session, '[[call terminal {"command":"cp a large.pdf && cat b >> large.pdf"} then say joined]]')
  return async () => {
    await chat(target, session, '[[call read_file {"path":"large.pdf"} then say read]]')
    const { data } = await json<{ data: readonly { readonly content: string | null }[] }>(
      target,
      'GET',
      `/api/sessions/${session}/messages`,
    )
    const shown = JSON.stringify(data)
    if (!shown.includes('A page of a large document.')) throw new Error(`The document was not read: ${shown}`)
  }
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
    const documents = await times(rounds, () => measured(stage, withDocument))
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
        what: 'peak of a turn that reads a document of 20 MB, over idle',
        unit: 'MB',
        goal: atMost(45),
        samples: documents.map(({ idle, peak }) => peak - idle),
        note: documents.map(({ idle, peak }) => `${peak.toFixed(0)} − ${idle.toFixed(0)} MB`).join(', '),
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
