// `npm run deploy`: brings Talaria onto an account of Cloudflare, from nothing or as an update. docs/deploy.md describes it.
import { createRequire } from 'node:module'
import { basename, join, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { help, parseDeployArguments } from './deploy/arguments.mjs'
import { readDeployFile, writeDeployFile } from './deploy/deploy-file.mjs'
import { lockFolder } from './deploy/lock.mjs'
import { steps } from './deploy/steps.mjs'
import { createLoginLink } from './lib/announce.mjs'
import { root } from './lib/root.mjs'

async function main() {
  const options = parseDeployArguments(process.argv.slice(2))
  if (options.isHelp) return console.log(help)
  const folder = resolve(options.folder ?? root)
  const files = {
    folder,
    facts: join(folder, 'deploy.json'),
    secrets: join(folder, '.deploy.vars'),
    // wrangler resolves the paths of a configuration from its folder.
    config: join(root, `wrangler.deploy${folder === root ? '' : `.${basename(folder)}`}.json`),
  }
  if (!options.isDryRun) lockFolder(folder)
  const run = createRun(options, files)
  if (options.isDryRun) console.log('Plan (nothing is changed):')
  const done = []
  for (const { name, run: step, doesChange } of steps) {
    try {
      console.log(`${name.padEnd(9)} ${await step(run)}`)
      if (doesChange) done.push(name)
    } catch (error) {
      return fail(name, error, done)
    }
  }
  if (!options.isDryRun) await announce(run)
}

function createRun(options, files) {
  const { experimental_readRawConfig: readRaw } = createRequire(import.meta.url)('wrangler')
  const { rawConfig: plain } = readRaw({ config: resolve(root, options.config ?? 'wrangler.toml') })
  const facts = readDeployFile(files.facts)
  const isInteractive = process.stdin.isTTY && process.stdout.isTTY && !options.isDryRun
  return {
    options,
    files,
    plain,
    facts,
    isDryRun: options.isDryRun,
    ask: isInteractive ? ask : () => Promise.resolve(null),
    /** Keeps facts at once, so that a run after a failure takes what exists. */
    learn(found) {
      Object.assign(facts, found)
      if (!options.isDryRun) writeDeployFile(files.facts, facts)
    },
  }
}

async function ask(what, known) {
  const list = Object.entries(known).map(([name, place]) => `${name} (${place})`)
  const lines = createInterface({ input: process.stdin, output: process.stdout })
  // Ctrl+C and Ctrl+D close it. Not all versions of Node reject the question then.
  const closed = new Promise((_, reject) =>
    lines.once('close', () => reject(new Error('The question was not answered.'))),
  )
  closed.catch(() => undefined)
  try {
    for (;;) {
      const question = lines.question(`${what}? ${list.join(', ')}; empty for none: `)
      question.catch(() => undefined)
      const answer = (await Promise.race([closed, question])).trim()
      if (!answer) return null
      if (Object.hasOwn(known, answer)) return answer
    }
  } finally {
    lines.close()
  }
}

function fail(name, error, done) {
  console.error(`\n${name} failed: ${error.message}`)
  const before = done.length ? `Done, and taken over by the next run: ${done.join(', ')}.` : 'Nothing was changed.'
  console.error(`${before} Then run the command again.`)
  process.exitCode = 1
}

async function announce({ facts: { url }, secrets }) {
  const link = secrets.ADMIN_KEY && (await createLoginLink(url, secrets.ADMIN_KEY))
  console.log(`\nTalaria is ready on ${url}`)
  console.log(link ? `open: ${link} (signs in once, within ten minutes)` : 'sign in with ADMIN_KEY')
  if (!Object.keys(secrets).some((key) => /_(API_KEY|TOKEN)$|^MODEL$/.test(key)))
    console.log('next: write the key of a provider, as OPENAI_API_KEY=…, into .deploy.vars and run this again')
}

await main().catch((error) => {
  console.error(`\n${error.message}`)
  process.exitCode = 1
})
