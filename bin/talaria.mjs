#!/usr/bin/env node
/** The command line of Talaria. It talks to a server at TALARIA_URL with the key TALARIA_API_KEY. */

import { ApiError, createApi } from './lib/api.mjs'
import { importHermes } from './lib/import-hermes.mjs'

const usage = `talaria: the command line of Talaria

  talaria import hermes DIR [--bundled] [--overwrite]
      Brings SOUL.md, memories, skills and sessions of a Hermes Agent into Talaria.
      DIR is its home, usually ~/.hermes. Keys and settings are never read.
      --bundled    also the skills that Hermes brought along
      --overwrite  replaces the identity that Talaria has by SOUL.md

  TALARIA_URL      address of the server (default http://localhost:8787)
  TALARIA_API_KEY  a key with the scopes chat, read and write`

/** Exit codes: done, failed, wrong usage, no access. */
const exits = { done: 0, failed: 1, usage: 2, access: 4 }

const options = ['--help', '--bundled', '--overwrite']

async function main(args) {
  const flags = new Set(args.filter((arg) => arg.startsWith('--')))
  const words = args.filter((arg) => !arg.startsWith('--'))
  if (flags.has('--help')) return print(usage, exits.done)
  const unknown = [...flags].find((flag) => !options.includes(flag))
  if (unknown) return print(`Unknown option ${unknown}.\n\n${usage}`, exits.usage)
  const [command, from, folder] = words
  if (words.length !== 3 || command !== 'import' || from !== 'hermes') return print(usage, exits.usage)
  const { TALARIA_URL: url = 'http://localhost:8787', TALARIA_API_KEY: key } = process.env
  if (!key) return print('Set TALARIA_API_KEY to a key of the server. npm start prints one.', exits.usage)
  return runImport(folder, createApi({ url, key }), flags)
}

async function runImport(folder, call, flags) {
  const wanted = { withBundled: flags.has('--bundled'), isOverwriting: flags.has('--overwrite') }
  try {
    const { failed } = await importHermes(folder, call, { ...wanted, report: console.log })
    return failed ? exits.failed : exits.done
  } catch (error) {
    if (!(error instanceof ApiError) && error?.code !== 'ENOENT') throw error
    const isRefused = error.status === 401 || error.status === 403
    return print(error.message, isRefused ? exits.access : exits.failed)
  }
}

function print(text, exit) {
  ;(exit === exits.done ? console.log : console.error)(text)
  return exit
}

process.exitCode = await main(process.argv.slice(2))
