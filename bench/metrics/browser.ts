/** P16: measures an action in the browser of a session, attaching to the page included. Needs a Chromium. */

import { createServer } from 'node:http'
import { freePort } from '../process.ts'
import { sendMessage, TurnFailed, type Target } from '../client.ts'
import { atMost, nonce, times, type Metric, type Row } from '../metric.ts'
import { gapsOf, stepsOf, type Model } from '../model.ts'
import { median } from '../stats.ts'
import { toolResults } from '../tool-results.ts'

const host = 'shop.example.com'
const actions = 10
const links = Array.from({ length: 100 }, (_, n) => `<p>Text ${n} <a href="/${n}">Link ${n}</a></p>`).join('')
const page = `<!doctype html><title>Shop</title><h1>Shop</h1><input aria-label="Search">${links}`

/** Checks the results, because an action that fails is fast. */
const requireSuccess = async (target: Target, session: string): Promise<void> => {
  const results = await toolResults(target, session)
  const failed = results.find((text) => !text.includes('"success":true'))
  if (!results.length || failed !== undefined) throw new TurnFailed(`an action failed: ${failed ?? 'no results'}`)
}

/** The median of one kind of action, from the end of the model's reply to the complete next request. */
const stepOf = async (model: Model, target: Target, call: string, session: string): Promise<number> => {
  const key = nonce()
  await sendMessage(target, `[[tools ${actions} ${call} nonce=${key}]]`, session)
  return median(gapsOf(await stepsOf(model, key)))
}

export const browserAction: Metric = {
  id: 'P16',
  what: 'an action in the browser',
  run: async (stage, { rounds, quick }) => {
    const port = await freePort()
    const site = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end(page)
    }).listen(port, '127.0.0.1')
    try {
      const { target } = await stage.visiting({ [host]: `http://127.0.0.1:${port}` })
      const { session } = await sendMessage(target, `[[call browser_navigate {"url":"http://${host}/"} then say open]]`)
      const sample = async () => {
        await stage.model.reset()
        const key = await stepOf(stage.model, target, 'browser_press {"key":"Tab"}', session)
        const snapshot = await stepOf(stage.model, target, 'browser_snapshot {}', session)
        return { key, snapshot }
      }
      const found = (await times(1 + (quick ? Math.min(rounds, 5) : rounds), sample)).slice(1)
      await requireSuccess(target, session)
      const row = (what: string, samples: readonly number[]): Row => ({
        metric: 'P16',
        what,
        unit: 'ms',
        goal: atMost(60),
        samples,
      })
      return [
        row(
          'a key in the browser, attaching and step included',
          found.map(({ key }) => key),
        ),
        row(
          'a snapshot of 100 links, attaching and step included',
          found.map(({ snapshot }) => snapshot),
        ),
      ]
    } finally {
      site.close()
    }
  },
}
