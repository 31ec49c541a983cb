/** The Chromium of a run, which test files in all workers share: a start takes two seconds of processor time. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestProject } from 'vitest/node'
import { type Chromium, startChromium } from './chromium.mjs'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Starts the browser of a path, unless it runs, and answers with its address. */
    readonly chromiumStarter: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const started = new Map<string, Promise<Chromium>>()
  const start = (path: string) => {
    const running = started.get(path) ?? startChromium(path)
    started.set(path, running)
    return running
  }
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '').slice(1)
    start(path).then(
      ({ url }) => response.end(url),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  project.provide('chromiumStarter', `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  return async () => {
    server.closeAllConnections()
    server.close()
    const running = await Promise.allSettled(started.values())
    await Promise.all(running.map((one) => one.status === 'fulfilled' && one.value.close()))
  }
}
