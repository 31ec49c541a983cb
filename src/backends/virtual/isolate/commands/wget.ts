/** Implements wget for single URLs, over the shell's fetch. */

import { type Command, command, errorResult, parse, pathIn, textResult } from './io.ts'
import { byteResult } from './text.ts'

export const wget: Command = command('wget', async (args, context) => {
  const { flags, values, rest } = parse(args, 'OPTtU')
  const [url] = rest
  if (url === undefined) return errorResult('wget', 'missing URL')
  if (!context.fetch) return errorResult('wget', 'this host has no network', 4)
  const address = /^\w+:\/\//.test(url) ? url : `http://${url}`
  const answer = await context.fetch(address, { followRedirects: true })
  const quiet = flags.has('q') || flags.has('quiet')
  if (answer.status >= 400)
    return errorResult('wget', `server returned error: HTTP ${answer.status} ${answer.statusText}`, 8)
  const name =
    values.get('O') ??
    values.get('output-document') ??
    (new URL(answer.url).pathname.replace(/^.*\//, '') || 'index.html')
  if (name === '-') return byteResult(answer.body)
  const directory = values.get('P')
  await context.fs.writeFile(pathIn(context, directory === undefined ? name : `${directory}/${name}`), answer.body)
  return textResult('', 0, quiet ? '' : `'${name}' saved [${answer.body.byteLength}]\n`)
})
