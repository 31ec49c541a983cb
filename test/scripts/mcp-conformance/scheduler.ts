import { scheduler } from 'node:timers/promises'

/** Gives Node the global `scheduler`, which workerd has. */
export const provideScheduler = () => Object.assign(globalThis, { scheduler })
