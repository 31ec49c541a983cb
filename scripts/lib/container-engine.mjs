/** Asks the container engine that wrangler uses, with the client that wrangler uses. */
import { execFile, spawnSync } from 'node:child_process'

export const hasEngine = (client = 'docker') =>
  spawnSync(client, ['info'], { stdio: 'ignore', timeout: 15_000 }).status === 0

export const howToGetOne = `There is no container engine: commands of the backend "cloudflare" will answer "unavailable".
Install Docker (https://docs.docker.com/get-started/get-docker/) and start it, or set WRANGLER_DOCKER_BIN and DOCKER_HOST for another one.
`

const run = (client, words) =>
  new Promise((resolve, reject) =>
    execFile(client, words, { timeout: 30_000 }, (error, stdout) => (error ? reject(error) : resolve(stdout))),
  )

/** The label that distinguishes the images of local servers. */
const label = 'talaria.server'
/** The platform names a container after the object that owns it. Its network belongs to a second container beside it. */
const namePattern = /-([0-9a-f]{64})$/

/** Lists the running containers of one server, by the ids of their objects. */
export async function listContainers(client, server) {
  const words = ['ps', '--filter', `label=${label}=${server}`, '--format', '{{.Names}}']
  return linesOf(await run(client, words)).flatMap((name) => {
    const id = namePattern.exec(name)?.[1]
    return id === undefined ? [] : [{ id, name }]
  })
}

/** The containers of one server whose network container has died. Nothing but a new start connects them again. */
export async function listCutOff(client, server) {
  const containers = await listContainers(client, server)
  if (!containers.length) return []
  const running = new Set(linesOf(await run(client, ['ps', '--format', '{{.Names}}'])))
  return containers.filter(({ name }) => !running.has(`${name}-proxy`))
}

export const removeContainer = (client, { name }) => run(client, ['rm', '--force', name, `${name}-proxy`])

/** Copies the workspace of a container to a folder of this machine. */
export const copyWorkspace = (client, { name }, folder) => run(client, ['cp', `${name}:/workspace`, folder])

const linesOf = (text) => text.split('\n').filter((line) => line.trim())
