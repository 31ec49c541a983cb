/** Tests the configuration that a deployment gives to wrangler. */

import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { renderConfig } from '../../../scripts/deploy/render-config.mjs'
import { root } from '../../../scripts/lib/root.mjs'

const { experimental_readRawConfig: readRaw } = createRequire(import.meta.url)('wrangler')
const { rawConfig: plain } = readRaw({ config: join(root, 'wrangler.toml') })
const facts = {
  name: 'talaria',
  account: 'a1',
  plan: 'paid',
  database: { name: 'talaria', id: 'd1' },
  bucket: 'talaria-blobs',
  jurisdiction: null,
  url: 'https://talaria.ada.workers.dev',
}
const render = (more: object = {}) => renderConfig(plain, { ...facts, ...more })

describe('the configuration of a deployment', () => {
  it('has what was learned, and logs without addresses of requests', () => {
    const config = render()
    expect(config).toMatchObject({
      name: 'talaria',
      account_id: 'a1',
      workers_dev: true,
      observability: { enabled: true, logs: { invocation_logs: false } },
      limits: plain.limits,
      worker_loaders: plain.worker_loaders,
      durable_objects: plain.durable_objects,
    })
    expect(config.d1_databases).toMatchObject([{ binding: 'DB', database_id: 'd1', migrations_dir: 'migrations' }])
    expect(config.vars).toEqual({
      DNS_RESOLVER_URL: 'https://cloudflare-dns.com/dns-query',
      PUBLIC_URL: 'https://talaria.ada.workers.dev',
    })
  })

  it('leaves out what the free plan refuses, and nothing else', () => {
    const [paid, free] = [render(), render({ plan: 'free' })]
    expect(Object.keys(paid).filter((part) => !(part in free))).toEqual(['limits', 'worker_loaders'])
  })

  it('builds the worker with the code of isolates where there is no Worker Loader', () => {
    const { command } = plain.build
    expect(render().build.command).toBe(command)
    expect(render({ plan: 'free' }).build.command).toBe(`${command} in-process`)
    expect(render({ plan: 'free' }).main).toBe('dist/worker-in-process/index.js')
    expect(render({ wrangler: { worker_loaders: null } }).build.command).toBe(`${command} in-process`)
  })

  it('puts the bucket into the jurisdiction and names it to the objects', () => {
    const config = render({ jurisdiction: 'eu' })
    expect(config.r2_buckets).toMatchObject([{ binding: 'BLOBS', bucket_name: 'talaria-blobs', jurisdiction: 'eu' }])
    expect(config.vars.JURISDICTION).toBe('eu')
  })

  it('has no bucket where there is none', () => expect(render({ bucket: null }).r2_buckets).toEqual([]))

  it('serves a domain of the account instead of workers.dev', () =>
    expect(render({ url: 'https://agent.example.com' })).toMatchObject({
      workers_dev: false,
      routes: [{ pattern: 'agent.example.com', custom_domain: true }],
      vars: { PUBLIC_URL: 'https://agent.example.com' },
    }))

  it('merges what its owner added', () => {
    const wrangler = { ai: { binding: 'AI' }, vars: { MODEL: 'openai/x' }, send_email: null }
    const config = render({ wrangler })
    expect(config).toMatchObject({ ai: { binding: 'AI' }, vars: { MODEL: 'openai/x', PUBLIC_URL: facts.url } })
    expect(config).not.toHaveProperty('send_email')
  })
})
