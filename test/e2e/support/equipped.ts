/**
 * A second deployment, for the files that need MCP servers, a sandbox, a vendor of search or an empty database: one for all
 * of them, which starts with the first. Each has a tenant of its own there, and listens on the ports that are its own.
 */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inject } from 'vitest'
import { token } from '../../sandbox/server.mjs'
import { deleteState, freePort, type Server, startServer } from './server.ts'

const listeners = ['modern', 'legacy', 'wiki', 'everything', 'app', 'site', 'intranet', 'sandbox'] as const
type Ports = Readonly<Record<(typeof listeners)[number], number>>
export type Equipped = { readonly url: string; readonly key: string; readonly ports: Ports }

const local = (port: number): string => `http://127.0.0.1:${port}`

function equipmentOf({ modern, legacy, wiki, everything, app, site, intranet, sandbox }: Ports, own: number) {
  const servers = { modern, legacy, wiki, everything }
  const hosts = {
    'site.example.com': local(site),
    'intranet.example.com': local(intranet),
    'other.example.com': local(intranet),
    'talaria.example.com': local(own),
    'app.example.com': local(app),
    // Nobody listens there.
    'gone.example.com': local(9),
  }
  return {
    MCP_SERVERS: JSON.stringify(
      Object.fromEntries(Object.entries(servers).map(([alias, port]) => [alias, { url: `${local(port)}/mcp` }])),
    ),
    WEB_HOST_MAP: JSON.stringify(hosts),
    DNS_RESOLVER_URL: `${local(intranet)}/dns-query`,
    TAVILY_API_KEY: 'tvly-end-to-end',
    TAVILY_BASE_URL: `${local(site)}/tavily`,
    SANDBOX_HTTP_URL: local(sandbox),
    SANDBOX_HTTP_TOKEN: token,
    SANDBOX_LANGUAGES: 'bash,python',
    // The shared server has a browser.
    CHROME_PATH: 'none',
  }
}

async function start(env: Readonly<Record<string, string>>): Promise<{ server: Server; ports: Ports }> {
  const port = await freePort()
  const ports: Record<string, number> = {}
  for (const name of listeners) ports[name] = await freePort()
  const server = await startServer({ port, env: { ...env, ...equipmentOf(ports as Ports, port) } })
  return { server, ports: ports as Ports }
}

/** Runs in the process that starts the workers. Its address starts the deployment, and answers with where it is. */
export async function offerEquipped(env: Readonly<Record<string, string>>) {
  let started: ReturnType<typeof start> | undefined
  const http = createServer((_, response) => {
    started ??= start(env)
    started.then(
      ({ server: { url, key }, ports }) => response.end(JSON.stringify({ url, key, ports } satisfies Equipped)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  await new Promise<void>((ready) => http.listen(0, '127.0.0.1', ready))
  const stop = async () => {
    http.close()
    const running = await started?.catch(() => undefined)
    await running?.server.stop()
    if (running) deleteState(running.server.state)
  }
  return { url: local((http.address() as AddressInfo).port), stop }
}

export async function useEquipped(): Promise<Equipped> {
  const answer = await fetch(inject('equipped'))
  if (!answer.ok) throw new Error(await answer.text())
  return (await answer.json()) as Equipped
}
