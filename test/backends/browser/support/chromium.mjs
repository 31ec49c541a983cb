/** Starts a headless Chromium, if one is installed, for the tests of one file. */

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { headlessFlags, listChromiums } from '../../../../scripts/lib/chromium.mjs'
import { firstRows } from '../../../support/long.ts'
import { chromium, testBrowser } from '../../../support/test-browser.ts'

export { chromium }
/** The paths of the browser of tests, of the preferred one and of the last choice; in `npm test` only the first. */
export const chromiums = firstRows(1, [...new Set([testBrowser, chromium, listChromiums().at(-1)])].filter(Boolean))

export async function startChromium(path = testBrowser ?? '', more = []) {
  const folder = mkdtempSync(join(tmpdir(), 'talaria-browser-'))
  const options = [...headlessFlags, '--no-sandbox', ...more]
  const child = spawn(path, [...options, `--user-data-dir=${folder}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const url = await new Promise((resolve, reject) => {
    let output = ''
    child.stderr.on('data', (part) => {
      output += String(part)
      const [, host] = /DevTools listening on ws:\/\/([^/\s]+)/.exec(output) ?? []
      if (host !== undefined) resolve(`http://${host}`)
    })
    child.once('exit', () => reject(new Error(`${path} ended:\n${output}`)))
  })
  return {
    url,
    close: async () => {
      for (const pipe of child.stdio.slice(3)) pipe.destroy()
      await ended
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}
