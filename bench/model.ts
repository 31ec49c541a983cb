/** Starts the model server in its own process and reads its journal. */

import { join } from 'node:path'
import { call, json, type Target } from './client.ts'
import { freePort, start, type Running } from './process.ts'
import type { Entry } from '../test/support/model-server/server.ts'

export type Model = {
  readonly url: string
  readonly journal: () => Promise<readonly Entry[]>
  readonly reset: (keep?: { readonly bodies: boolean }) => Promise<void>
  readonly running: Running
}

const main = join(import.meta.dirname, '../test/support/model-server/main.ts')

export const startModel = async (): Promise<Model> => {
  const port = await freePort()
  const running = start([process.execPath, main, '--port', String(port)], { cwd: '/', env: {} })
  const target: Target = { name: 'model', origin: `http://127.0.0.1:${port}`, prefix: '' }
  await ready(target, running, '/v1/models')
  return {
    url: `${target.origin}/v1`,
    journal: async () => (await json<{ data: readonly Entry[] }>(target, 'GET', '/__journal')).data,
    reset: async (keep) => {
      await call(target, 'POST', `/__reset?bodies=${keep?.bodies ? 1 : 0}`)
    },
    running,
  }
}

/** Waits until the server answers. The error of a timeout shows its output. */
export const ready = async (target: Target, running: Running, path: string): Promise<void> => {
  const until = performance.now() + 120_000
  while (performance.now() < until) {
    if (!running.alive()) break
    const answer = await call(target, 'GET', path).catch(() => undefined)
    if (answer?.status === 200) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${target.name} did not start:\n${running.output().slice(-3000)}`)
}

/** Requests of one turn that could have called tools, in order: side tasks have another nonce or no tools. */
export const stepsOf = async (model: Model, nonce: string): Promise<readonly Entry[]> =>
  (await model.journal()).filter((entry) => entry.nonce === nonce && entry.tools)

/** Times between the end of a model reply and the complete next request, which is what the contender adds per step. */
export const gapsOf = (steps: readonly Entry[]): number[] =>
  steps.slice(1).map((step, n) => step.received - (steps[n]?.ended ?? NaN))
