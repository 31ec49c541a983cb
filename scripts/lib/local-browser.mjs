// Brings the Chromium of the system to the local server. It is started when a session first needs it and stopped when
// nobody does; until then it costs nothing. All of its requests go through a proxy that refuses private addresses.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startBrowserProxy } from './browser-proxy.mjs'
import { headlessFlags } from './chromium.mjs'

const startTimeoutMs = 30_000
/** Longer than any session keeps an unused browser. */
const idleMs = 15 * 60_000

const flags = [
  ...headlessFlags,
  '--disable-dev-shm-usage',
  '--disable-extensions',
  '--disable-sync',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-quic',
  '--deny-permission-prompts',
  '--mute-audio',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--window-size=1280,800',
]

/** Starts the browser and resolves with its process and the port of its DevTools. */
async function launch(path, proxyPort) {
  const folder = mkdtempSync(join(tmpdir(), 'talaria-browser-'))
  // Chromium has no sandbox for root.
  const asRoot = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  // Without the exception of the second flag, requests to this machine would pass the proxy by.
  const proxy = [`--proxy-server=http://127.0.0.1:${proxyPort}`, '--proxy-bypass-list=<-loopback>']
  const child = spawn(path, [...flags, ...asRoot, ...proxy, `--user-data-dir=${folder}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
  })
  for (const pipe of child.stdio.slice(3)) pipe.on('error', () => pipe.destroy())
  child.once('exit', () => {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  })
  const port = await new Promise((resolve, reject) => {
    let output = ''
    const fail = (reason) => reject(new Error(`${path} ${reason}:\n${output.slice(-2_000)}`))
    const timer = setTimeout(() => fail('did not start'), startTimeoutMs)
    child.stderr.on('data', (part) => {
      output = (output + String(part)).slice(-10_000)
      const [, found] = /DevTools listening on ws:\/\/127\.0\.0\.1:(\d+)\//.exec(output) ?? []
      if (found === undefined) return
      clearTimeout(timer)
      resolve(Number(found))
    })
    child.once('error', () => fail('cannot be run'))
    child.once('exit', () => fail('ended'))
  })
  return { child, port }
}

/** Serves the address of `BROWSER_CDP_URL`: `/json/version`, and the sockets of the browser. */
export async function serveBrowser(path) {
  const proxyPort = await startBrowserProxy()
  let starting
  let sockets = 0
  let idleTimer
  const ensure = () => {
    starting ??= launch(path, proxyPort).then(
      (running) => {
        running.child.once('exit', () => (starting = undefined))
        return running
      },
      (error) => {
        starting = undefined
        throw error
      },
    )
    return starting
  }
  const count = (change) => {
    sockets += change
    clearTimeout(idleTimer)
    if (sockets === 0)
      idleTimer = setTimeout(() => starting?.then(({ child }) => child.stdio[3].destroy()), idleMs).unref()
  }
  const server = createServer(async ({ url }, response) => {
    try {
      if (url !== '/json/version') return response.writeHead(404).end()
      const { port } = await ensure()
      const version = await fetch(`http://127.0.0.1:${port}/json/version`)
      return response.writeHead(200, { 'content-type': 'application/json' }).end(await version.text())
    } catch (error) {
      return response.writeHead(503).end(error.message)
    }
  })
  // A socket of an earlier browser is refused: the client then asks for the version again.
  server.on('upgrade', async ({ url, headers }, socket, head) => {
    socket.on('error', () => socket.destroy())
    const running = await starting?.catch(() => undefined)
    if (!running) return socket.end('HTTP/1.1 503 Service Unavailable\r\n\r\n')
    count(1)
    socket.once('close', () => count(-1))
    const upstream = connect(running.port, '127.0.0.1', () => {
      const lines = Object.entries({ ...headers, host: `127.0.0.1:${running.port}` }).map((pair) => pair.join(': '))
      upstream.write(`GET ${url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
      upstream.write(head)
      socket.pipe(upstream).pipe(socket)
    })
    upstream.on('error', () => socket.destroy())
    upstream.once('close', () => socket.destroy())
    socket.once('close', () => upstream.destroy())
  })
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
  server.unref()
  return `http://127.0.0.1:${server.address().port}`
}
