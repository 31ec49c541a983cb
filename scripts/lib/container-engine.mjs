/** Checks that a container engine answers the client that wrangler uses. */
import { spawnSync } from 'node:child_process'

export const hasEngine = (client = 'docker') =>
  spawnSync(client, ['info'], { stdio: 'ignore', timeout: 15_000 }).status === 0

export const howToGetOne = `There is no container engine: commands of the backend "cloudflare" will answer "unavailable".
Install Docker (https://docs.docker.com/get-started/get-docker/) and start it, or set WRANGLER_DOCKER_BIN and DOCKER_HOST for another one.
`
