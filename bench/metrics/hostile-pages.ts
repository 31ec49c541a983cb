/** P20: measures how long `web_extract` is kept busy by a hostile page, and how long another session waits meanwhile. */

import { createServer, type ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { freePort } from '../process.ts'
import { sendMessage, TurnFailed, type Target } from '../client.ts'
import { atMost, type Metric, type Row, times } from '../metric.ts'
import { median } from '../stats.ts'
import { toolResults } from '../tool-results.ts'

const host = 'hostile.example.com'
const start = '<!doctype html><title>Page</title>'

type Page = { readonly body: string | Uint8Array; readonly encoding?: string }

const pages: Readonly<Record<string, Page>> = {
  '50 bytes': { body: `${start}<p>Words` },
  '100,000 nested elements': { body: `${start}${'<div>'.repeat(100_000)}Words` },
  '100,000 attributes': { body: `${start}<p ${'a=1 '.repeat(100_000)}>Words` },
  'one line of 10 MB': { body: `${start}<p>Words ${'word '.repeat(2_000_000)}` },
  '60,000 unclosed rows': { body: `${start}<p>Words<table>${'<tr><td>row'.repeat(60_000)}` },
  'gzip of 1 to 1,000': {
    body: gzipSync(`${start}<p>Words ${'a'.repeat(64_000_000)}`),
    encoding: 'gzip',
  },
}
const endless = 'chunks without end'
const chunk = `<p>Words ${'word '.repeat(3_000)}`

/** Sends chunks for as long as the client reads. */
function sendForever(response: ServerResponse): void {
  response.write(start)
  const send = (): void => void (response.destroyed || (response.write(chunk) ? setImmediate(send) : undefined))
  response.on('drain', send)
  send()
}

/** A page that was not read is read fast. */
const requireWords = async (target: Target, session: string): Promise<void> => {
  const [result = ''] = await toolResults(target, session)
  if (!result.includes('Words')) throw new TurnFailed(`the page was not read: ${result.slice(0, 300)}`)
}

/** Runs turns one after the other until the signal, and returns the milliseconds of the slowest. */
async function slowestTurn(target: Target, session: string, signal: AbortSignal): Promise<number> {
  let slowest = 0
  while (!signal.aborted) slowest = Math.max(slowest, (await sendMessage(target, '[[say hello]]', session)).total)
  return slowest
}

export const hostilePages: Metric = {
  id: 'P20',
  what: 'hostile pages',
  run: async (stage, { rounds, quick }) => {
    const port = await freePort()
    const site = createServer((request, response) => {
      const name = decodeURIComponent(new URL(request.url ?? '/', 'http://x').pathname.slice(1))
      const page = pages[name]
      response.writeHead(200, {
        'content-type': 'text/html',
        ...(page?.encoding && { 'content-encoding': page.encoding }),
      })
      if (name === endless) sendForever(response)
      else response.end(page?.body ?? '')
    }).listen(port, '127.0.0.1')
    try {
      const { target } = await stage.visiting({ [host]: `http://127.0.0.1:${port}` })
      const { session: other } = await sendMessage(target, '[[say hello]]')
      const read = async (name: string, round: number) => {
        const url = `http://${host}/${encodeURIComponent(name)}?${round}`
        const ended = new AbortController()
        const reading = sendMessage(target, `[[call web_extract {"urls":["${url}"]} then say read]]`)
        const waiting = slowestTurn(target, other, ended.signal)
        const { session, total } = await reading.finally(() => ended.abort())
        await requireWords(target, session)
        return { total, slowest: await waiting }
      }
      const rows: Row[] = []
      for (const name of [...Object.keys(pages), endless]) {
        const count = quick ? Math.min(rounds, 5) : rounds
        const found = (await times(1 + count, (round) => read(name, round))).slice(1)
        const waits = found.map(({ slowest }) => slowest)
        const longest = Math.max(...found.map(({ total }) => total))
        const note = `longest ${longest.toFixed(0)} ms; slowest turn of another session meanwhile: median ${median(waits).toFixed(0)} ms, longest ${Math.max(...waits).toFixed(0)} ms (goal 1000 ms)`
        const samples = found.map(({ total }) => total)
        rows.push({
          metric: 'P20',
          what: `a turn that reads a page: ${name}`,
          unit: 'ms',
          goal: atMost(2_000),
          samples,
          note,
        })
      }
      return rows
    } finally {
      site.closeAllConnections()
      site.close()
    }
  },
}
