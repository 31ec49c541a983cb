// `npm run deploy`: migrates the remote database, then deploys the worker. Arguments go to `wrangler deploy`.
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './lib/root.mjs'

const wrangler = createRequire(import.meta.url).resolve('wrangler')
const extra = process.argv.slice(2)

function step(title, args) {
  console.log(`\n== ${title}`)
  const { status } = spawnSync(process.execPath, ['--no-warnings', wrangler, ...args], { cwd: root, stdio: 'inherit' })
  if (status !== 0) stop(`"wrangler ${args.slice(0, 3).join(' ')}" failed, see above. Nothing after it was done.`)
}

function stop(text) {
  console.error(`\n${text}`)
  process.exit(1)
}

if (/database_id\s*=\s*"(0{8}-0{4}-0{4}-0{4}-0{12})?"/.test(readFileSync(join(root, 'wrangler.toml'), 'utf8')))
  stop(
    [
      'wrangler.toml has no database yet. Once per account:',
      '  npx wrangler login',
      '  npx wrangler d1 create talaria               put the id it prints into wrangler.toml as database_id',
      '  npx wrangler r2 bucket create talaria-blobs',
      'README.md has all steps.',
    ].join('\n'),
  )

if (!extra.includes('--dry-run')) step('database', ['d1', 'migrations', 'apply', 'DB', '--remote'])
step('worker', ['deploy', ...extra])
if (!extra.includes('--dry-run'))
  console.log(
    [
      '',
      'Deployed. Two secrets are set once:',
      '  npx wrangler secret put ADMIN_KEY            at least 16 characters; without it every route with a key answers 503',
      '  npx wrangler secret put ENCRYPTION_KEY       openssl rand -base64 32; without it no secret of a tenant can be stored',
    ].join('\n'),
  )
