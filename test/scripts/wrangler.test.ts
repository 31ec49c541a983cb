import { expect, it } from 'vitest'
import { machineEnvironment } from '../../scripts/lib/wrangler.mjs'

it('names of a container engine reach wrangler, other variables do not', () => {
  const engine = {
    WRANGLER_DOCKER_BIN: '/usr/bin/podman',
    DOCKER_HOST: 'unix:///run/podman.sock',
    DOCKER_CONTEXT: 'other',
    DOCKER_CONFIG: '/etc/docker',
    MINIFLARE_CONTAINER_EGRESS_IMAGE: 'egress:1',
  }
  expect(machineEnvironment({ ...engine, PATH: '/bin', GITHUB_TOKEN: 'secret', DOCKER_EMPTY: '' })).toEqual({
    ...engine,
    PATH: '/bin',
  })
})
