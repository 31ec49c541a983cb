/** Stands in for `ctx.container` of the native API. */

import { Readable } from 'node:stream'

export class StandInContainer {
  #engine
  intercepted = 0
  #isHttpsIntercepted = false
  /** The certificate that the platform puts into a container whose HTTPS it intercepts. */
  authority = {
    path: '/ca/authority.crt',
    text: '-----BEGIN CERTIFICATE-----\nof the platform\n-----END CERTIFICATE-----\n',
  }

  constructor(engine) {
    this.#engine = engine
  }

  get running() {
    return this.#engine.running
  }

  start() {
    this.#engine.start()
    if (this.#isHttpsIntercepted) this.#putCertificate()
  }

  destroy = () => this.#engine.destroy()

  async exec(command, options) {
    if (!this.running) throw new Error('exec() cannot be called on a container that is not running.')
    if (!this.#engine.isAlive) {
      // The platform notices later.
      setTimeout(() => (this.#engine.running = this.#engine.isAlive), 200)
      throw new Error('Creating Docker exec failed with [409] container 1a2b is not running')
    }
    if (this.#engine.isPaused)
      throw new Error('Creating Docker exec failed with [409] container is paused, unpause the container before exec')
    const { stdin, ...rest } = options
    const child = await this.#engine.spawn(command, rest)
    const exitCode = new Promise((resolve) => {
      child.on('error', () => resolve(137))
      child.on('close', (code) => resolve(code ?? 137))
    })
    child.stderr.resume()
    child.stdin.on('error', () => {})
    if (stdin) Readable.fromWeb(stdin).pipe(child.stdin)
    else child.stdin.end()
    return { stdout: Readable.toWeb(child.stdout), exitCode }
  }

  setInactivityTimeout = async (ms) => this.#engine.setTimer(ms)

  async interceptOutboundHttps() {
    this.intercepted++
    this.#isHttpsIntercepted = true
    if (this.#engine.isAlive) this.#putCertificate()
  }

  interceptAllOutboundHttp = async () => void this.intercepted++

  /** It comes a moment later. */
  #putCertificate() {
    const { path, text } = this.authority
    if (text) setTimeout(() => this.#engine.isAlive && this.#engine.put(path, text), 50)
  }
}
