/**
 * Runs the container of stand-in-engine.mjs in a real container engine, with its client. Nothing is pulled: the image has to
 * be there (`TALARIA_ENGINE_IMAGE`, by default the newest one of `npm run dev:sandbox`).
 */

import { spawn, spawnSync } from 'node:child_process'

const client = process.env.WRANGLER_DOCKER_BIN ?? 'docker'
/** Keeps the container alive and collects children whose parents have ended. */
const first = `trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done`

function docker(words, input) {
  const { status, stdout, stderr, error } = spawnSync(client, words, { encoding: 'utf8', input })
  if (status !== 0) throw new Error(`${client} ${words[0]}: ${error?.message ?? stderr.trim()}`)
  return stdout.trim()
}

export function findImage() {
  const given = process.env.TALARIA_ENGINE_IMAGE
  if (given) return docker(['image', 'inspect', '--format', '{{.Id}}', given])
  const found = docker(['images', '--quiet', '--filter', 'label=talaria.server']).split('\n')[0]
  if (!found) throw new Error('There is no image. Set TALARIA_ENGINE_IMAGE, or run npm run dev:sandbox once.')
  return found
}

export class DockerEngine {
  root = '/workspace'
  state = '/.talaria'
  temporary = '/tmp'
  running = false
  isAlive = false
  isPaused = false
  starts = 0
  destroyed = 0
  kills = 0
  onEnd = () => {}
  #name = `talaria-chaos-${crypto.randomUUID()}`
  #image
  #timer

  constructor(image) {
    this.#image = image
  }

  start() {
    if (this.running) throw new Error('start() cannot be called on a container that is already running.')
    this.#remove()
    docker([
      'run',
      '--detach',
      '--pull',
      'never',
      '--network',
      'none',
      '--name',
      this.#name,
      '--entrypoint',
      'bash',
      this.#image,
      '-c',
      first,
    ])
    this.running = this.isAlive = true
    this.starts++
  }

  async spawn(command, { cwd, env = {}, signal }) {
    if (!this.isAlive) throw new Error('The container is not running.')
    const variables = Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`])
    const words = ['exec', '--interactive', '--workdir', cwd, ...variables, this.#name, ...command]
    return spawn(client, words, { stdio: 'pipe', ...(signal && { signal }) })
  }

  async untilUnpaused() {
    while (this.isPaused) await new Promise((resolve) => setTimeout(resolve, 50))
  }

  kill({ isNoticed = true } = {}) {
    this.kills++
    this.#end()
    if (isNoticed) this.running = false
  }

  async destroy() {
    this.destroyed++
    this.#end()
    this.running = false
  }

  #end() {
    clearTimeout(this.#timer)
    this.isAlive = this.isPaused = false
    this.#remove()
    this.onEnd()
  }

  #remove() {
    spawnSync(client, ['rm', '--force', '--volumes', this.#name], { stdio: 'ignore' })
  }

  pause() {
    if (!this.isAlive || this.isPaused) return
    docker(['pause', this.#name])
    this.isPaused = true
  }

  unpause() {
    if (!this.isPaused) return
    docker(['unpause', this.#name])
    this.isPaused = false
  }

  setTimer(ms) {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.kill(), ms)
  }

  put(path, text) {
    docker(['exec', '--interactive', this.#name, 'bash', '-c', 'mkdir -p "${0%/*}"; cat > "$0"', path], text)
  }

  inside(path) {
    return path
  }

  processes() {
    return []
  }

  drop() {
    this.#end()
  }
}
