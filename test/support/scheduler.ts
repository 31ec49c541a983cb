/** Gives Node the global `scheduler`, which workerd has. */

import { scheduler } from 'node:timers/promises'

Object.assign(globalThis, { scheduler })
