/**
 * Stands in for a container behind the SDK, with the errors of spec/sandbox.md: a start that is not over yet, a runtime that
 * was replaced, a folder that does not exist, and output that is cut while files stream out.
 */

import { readFile, writeFile } from 'node:fs/promises'

export class StandInSandbox {
  #engine
  /** The container starts and does not answer, not even with an error. */
  isSilent = false
  /** Starts that fail before one succeeds: the container is being replaced, or the platform has no place yet. */
  failingStarts = 0
  /** The server of the SDK in the container, or its network, is dead: connections to it break. */
  isServerDead = false
  /** Cuts this many outputs while something streams out. */
  cuts = 0
  #outputs = 0
  #streaming = 0
  #pending = new Set()

  constructor(engine) {
    this.#engine = engine
    engine.onEnd = () => {
      this.isServerDead = this.isSilent = false
      for (const fail of this.#pending) fail(interrupted())
    }
  }

  async execWithSessionToken(script, _session, { timeout, cwd = this.#engine.root }) {
    await this.#connect()
    return this.#interruptible(async () => {
      const child = await this.#engine.spawn(['bash', '--norc', '-c', script], { cwd }).catch((error) => {
        throw fail('COMMAND_EXECUTION_ERROR', `Failed to execute command: ${error.message}`, { command: script })
      })
      const late = setTimeout(() => child.kill('SIGKILL'), timeout)
      let output = ''
      child.stdin.end()
      child.stderr.resume()
      child.stdout.setEncoding('utf8').on('data', (chunk) => (output += chunk))
      const exitCode = await new Promise((resolve) => child.on('close', (code) => resolve(code ?? 137)))
      clearTimeout(late)
      return { exitCode, stdout: this.#cut(output) }
    })
  }

  async #connect() {
    if (this.isSilent) return new Promise(() => {})
    if (this.isServerDead) throw fail('RPC_TRANSPORT_ERROR', 'The connection was closed.', { kind: 'peer_closed' })
    await this.#engine.untilUnpaused()
    if (this.#engine.isAlive) return
    if (this.#engine.running) {
      this.#engine.running = false
      throw interrupted()
    }
    if (this.failingStarts > 0) {
      this.failingStarts--
      throw fail('INTERNAL_ERROR', 'Container failed to start: Network connection lost.', {
        phase: 'startup',
        error: 'Network connection lost.',
      })
    }
    this.#engine.start()
  }

  #interruptible(work) {
    return new Promise((resolve, reject) => {
      this.#pending.add(reject)
      work()
        .then(resolve, reject)
        .finally(() => this.#pending.delete(reject))
    })
  }

  #cut(output) {
    // Every second output, so that fetching the rest meets cuts too.
    if (!this.#streaming || output.length < 1_000 || ++this.#outputs % 2) return output
    this.cuts++
    return output.slice(0, Math.floor(output.length * 0.6))
  }

  async readFile(path) {
    await this.#connect()
    const bytes = await readFile(path).catch(() => {
      throw fail('FILE_NOT_FOUND', `File not found: ${path}`)
    })
    const content = bytes.toString('base64')
    return {
      content: this.#streaming ? content.slice(0, 4 * Math.floor(content.length / 8)) : content,
      size: bytes.length,
    }
  }

  async writeFile(path, content) {
    await this.#connect()
    await writeFile(path, Buffer.from(content, 'base64')).catch((error) => {
      throw error.code === 'ENOSPC' ? fail('NO_SPACE', `No space left: ${path}`) : error
    })
  }

  /** Output is cut while this runs. */
  async stream(work) {
    this.#streaming++
    await work().finally(() => this.#streaming--)
  }

  destroy = () => this.#engine.destroy()
  setAllowedHosts = async () => {}
  setOutboundByHosts = async () => {}
}

const fail = (code, message, context = {}) => Object.assign(new Error(message), { errorResponse: { code, context } })
const interrupted = () =>
  fail('OPERATION_INTERRUPTED', 'The sandbox container stopped while the operation was pending.', {
    reason: 'runtime_replaced',
    operation: 'rpc.connect',
    phase: 'connection',
    admitted: 'unknown',
    retryable: true,
    containerExitCode: 137,
  })
