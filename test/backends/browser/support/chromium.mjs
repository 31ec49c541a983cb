/** Starts a headless Chromium, if one is installed, for the tests of one file. */

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findChromium, headlessFlags, listChromiums } from '../../../../scripts/lib/chromium.mjs'

/** The path of the preferred browser. */
export const chromium = findChromium()
/** The paths of the preferred browser and of the last choice. */
export const chromiums = [...new Set([chromium, listChromiums().at(-1)])].filter((path) => path !== undefined)

export async function startChromium(path = chromium ?? '', more = []) {
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
