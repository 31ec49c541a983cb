/** Starts the page: words, theme, sign-in, then the screen that the address names. */

import { render } from 'preact'
import { me, start, takeLink } from './api/me.ts'
import { loadReader } from './markdown/late.ts'
import { applyTheme } from './parts/theme.ts'
import { showError } from './parts/toast.ts'
import { loadWords } from './words/words.ts'
import { App } from './screens/app.tsx'

/** Before anything else, so that the link stays in no history. */
const link = takeLink()
applyTheme()
const started = start(link)
await loadWords()
const root = document.getElementById('app')
// The words of the document for a page whose scripts do not come.
root?.replaceChildren()
if (root) render(<App />, root)
const loading = loadReader().catch(showError)
await started
if (me.value === undefined) me.value = null
await loading
void import('./parts/service-worker.ts').then(({ watchServiceWorker }) => watchServiceWorker())
