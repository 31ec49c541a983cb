/** `talaria open`: opens the page in the browser with a link that signs in once. */

import { spawn } from 'node:child_process'
import { createClient } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { note, printOne } from '../output.mjs'

const openers = { darwin: ['open'], win32: ['cmd', '/c', 'start', ''] }

export async function run({ options }) {
  const client = createClient(requireConfig())
  const { body } = await client.call('POST', '/api/login/links', {})
  if (options.print || options.json) return printOne(options, body, body.url)
  const [command, ...args] = openers[process.platform] ?? ['xdg-open']
  const child = spawn(command, [...args, body.url], { stdio: 'ignore', detached: true })
  child.on('error', () => note(`Open this link within ten minutes; it works once:\n${body.url}`))
  child.unref()
}
