/** Chooses the Chromium in which tests run. */

import { findChromium, listChromiums } from '../../scripts/lib/chromium.mjs'
import { isLong } from './long.ts'

/** The path of the browser that people have. Undefined: none is installed. */
export const chromium = findChromium()

const isChosen = isLong || process.env['CHROME_PATH'] !== undefined
const shell = isChosen ? undefined : listChromiums().find((path) => path.endsWith('chromium-headless-shell'))

/** The headless shell, which takes a quarter of the time. `npm run chaos` uses the browser that people have. */
export const testBrowser = shell ?? chromium
