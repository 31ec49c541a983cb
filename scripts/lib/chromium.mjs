// Finds the Chromium of the system, and says how it is started: for the browser of sessions and for tests.
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The browser that people have comes first. The headless shell is smaller, and behaves differently in details. */
const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chromium-headless-shell']

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false // Most folders have no browser.
  }
}

/** Lists the path of each browser on the PATH, the preferred one first. */
export const listChromiums = ({ PATH = '' } = process.env) =>
  names.flatMap((name) =>
    PATH.split(delimiter)
      .map((folder) => join(folder, name))
      .filter(isExecutable)
      .slice(0, 1),
  )

/** The path of `CHROME_PATH`, else of the preferred browser; undefined without one, and for `none`. */
export function findChromium({ CHROME_PATH: given, PATH } = process.env) {
  if (given === 'none') return undefined
  if (given && isExecutable(given)) return given
  if (given)
    throw new Error(`CHROME_PATH is ${given}, which cannot be run. Name a Chromium or Chrome, or set it to none.`)
  return listChromiums({ PATH })[0]
}

/**
 * The list below the address field is two pages, which each new window loads though nobody sees the field. Without them a
 * window takes half of the processor time and two processes fewer.
 */
export const addressFieldFeatures = ['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'AimEnabled']

/** The address that was asked for is the one that is opened: http names stay http. */
const disabledFeatures = ['HttpsUpgrades', 'HttpsFirstBalancedModeAutoEnable', ...addressFieldFeatures]

export const headlessFlags = [
  '--headless=new',
  '--disable-gpu',
  `--disable-features=${disabledFeatures.join(',')}`,
  '--no-first-run',
  '--no-default-browser-check',
  '--remote-debugging-port=0',
  // The browser ends when this pipe closes: also when this process is killed, and behind a script that starts it.
  '--remote-debugging-pipe',
]
