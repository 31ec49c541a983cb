/** Registers the service worker and offers a reload when there is a new version. */

import { t } from '../words/words.ts'
import { offer } from './toast.ts'

const address = '/service-worker.js'

type Policy = { readonly createScriptURL: (text: string) => string }
type Policies = {
  readonly createPolicy: (name: string, rules: { readonly createScriptURL: (text: string) => string }) => Policy
}

/** The only policy that the page may create. It passes this one address. */
function trustedAddress(): string {
  const { trustedTypes } = globalThis as { readonly trustedTypes?: Policies }
  const createScriptURL = (text: string): string => {
    if (text !== address) throw new TypeError('Only the service worker is a script of this policy.')
    return text
  }
  return trustedTypes
    ? trustedTypes.createPolicy('talaria-worker', { createScriptURL }).createScriptURL(address)
    : address
}

export async function watchServiceWorker(): Promise<void> {
  const { serviceWorker } = navigator as { readonly serviceWorker?: ServiceWorkerContainer }
  // Browsers have none over plain http.
  if (!serviceWorker) return
  serviceWorker.addEventListener('message', ({ data }: MessageEvent<{ readonly open?: string }>) => {
    if (data.open?.startsWith('#/')) location.hash = data.open
  })
  // Private windows and policies of a browser refuse it. The page works without it.
  const registration = await serviceWorker
    .register(trustedAddress(), { updateViaCache: 'none' })
    .catch((error: unknown) => void console.warn('The service worker could not be registered.', error))
  if (!registration) return
  if (registration.waiting) offerReload(serviceWorker, registration.waiting)
  registration.addEventListener('updatefound', () => {
    const found = registration.installing
    found?.addEventListener('statechange', () => {
      // The first one has nothing to replace.
      if (found.state === 'installed' && serviceWorker.controller) offerReload(serviceWorker, found)
    })
  })
}

function offerReload(container: ServiceWorkerContainer, waiting: ServiceWorker): void {
  const run = () => {
    container.addEventListener('controllerchange', () => location.reload(), { once: true })
    waiting.postMessage('activate', [])
  }
  offer(t('newVersion'), { label: t('reload'), run })
}
