/** Starts a headless Chromium, if one is installed, for the tests of one file. */

import { spawn } from 'node:child_process'
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

const names = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false // Most folders have no browser.
  }
}

/** The path of the first browser that is found. */
export const chromium = (process.env['PATH'] ?? '')
  .split(delimiter)
  .flatMap((folder) => names.map((name) => join(folder, name)))
  .find(isExecutable)

export async function startChromium(path = chromium ?? '', more = []) {
  const folder = mkdtempSync(join(tmpdir(), 'talaria-browser-'))
  const options = [
    '--no-sandbox',
    '--disable-gpu',
    '--headless',
    '--remote-debugging-port=0',
    '--remote-debugging-pipe',
    ...more,
  ]
  const child = spawn(path, [...options, `--user-data-dir=${folder}`, 'about:blank'], {
    // The browser ends when the pipes close, also behind a script that starts it.
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
