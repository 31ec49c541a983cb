/** Plays the client of a container engine with a script, and a local server that saves. */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { replaceCutOff, saveContainers } from '../../../scripts/lib/save-containers.mjs'

export async function playEngine(containers) {
  const folder = mkdtempSync(join(tmpdir(), 'talaria-engine-'))
  const [client, log] = [join(folder, 'docker'), join(folder, 'removed')]
  const lines = containers.map(({ name, server }) => `echo '${server ?? ''} ${name}'`).join('\n')
  writeFileSync(
    client,
    `#!/bin/bash
list() { ${lines || ':'}
}
if [ "$1" = rm ]; then shift 2; printf '%s\\n' "$@" >> '${log}'; exit; fi
if [ "$1" = cp ]; then printf '%s\\n' "$2" >> '${log}.copied'; exit; fi
[ "$1" = ps ] || exit 1
if [ "$2" = --filter ]; then list | sed -n "s/^\${3#label=talaria.server=} //p"; else list | cut -d' ' -f2; fi
`,
    { mode: 0o755 },
  )
  const played = {
    requests: [],
    status: 200,
    outcome: 'saved',
    copied: () => (existsSync(`${log}.copied`) ? readFileSync(`${log}.copied`, 'utf8').trim().split('\n') : []),
    removed: () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []),
  }
  const server = createServer((request, response) => {
    played.requests.push(`${request.method} ${request.url} ${request.headers.authorization}`)
    const asked = new URL(request.url, 'http://server').searchParams.getAll('id')
    response.writeHead(played.status).end(JSON.stringify(Object.fromEntries(asked.map((id) => [id, played.outcome]))))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = `http://127.0.0.1:${server.address().port}`
  const mine = { id: 'mine', client, address, key: () => 'the key', unsaved: join(folder, 'unsaved') }
  return Object.assign(played, {
    saveContainers: () => saveContainers(mine),
    replaceCutOff: () => replaceCutOff(mine),
    close() {
      server.closeAllConnections()
      server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  })
}
