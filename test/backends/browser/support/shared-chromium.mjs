// The Chromium of a run, which test files in all workers share: a start takes two seconds of processor time.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { startChromium } from './chromium.mjs'

/** Provides an address that starts the browser of a path, unless it runs, and answers with the address of its DevTools. */
export default async function setup(project) {
  const started = new Map()
  const start = (path) => {
    const running = started.get(path) ?? startChromium(path)
    started.set(path, running)
    return running
  }
  const server = createServer((request, response) => {
    start(decodeURIComponent(request.url).slice(1)).then(
      ({ url }) => response.end(url),
      (error) => response.writeHead(500).end(String(error)),
    )
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  project.provide('chromiumStarter', `http://127.0.0.1:${server.address().port}`)
  return async () => {
    server.closeAllConnections()
    server.close()
    const running = await Promise.allSettled(started.values())
    await Promise.all(running.map(({ value }) => value?.close()))
  }
}
