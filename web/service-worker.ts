/** The service worker: keeps the files of the page for times without a network, and shows push messages. Answers of the API are never kept. */

type Extendable = Event & { readonly waitUntil: (work: Promise<unknown>) => void }
type Fetching = Extendable & {
  readonly request: Request
  readonly respondWith: (response: Promise<Response>) => void
}
type Client = {
  readonly postMessage: (message: unknown, transfer: readonly Transferable[]) => void
  readonly focus: () => Promise<unknown>
}
type Events = {
  readonly install: Extendable
  readonly activate: Extendable
  readonly message: MessageEvent<unknown>
  readonly fetch: Fetching
  readonly push: Extendable & { readonly data: { readonly text: () => string } | null }
  readonly notificationclick: Extendable & { readonly notification: Notification }
}
/** The types of a page and of a worker cannot be loaded together, so the few that are used are here. */
declare const self: {
  readonly addEventListener: <Name extends keyof Events>(name: Name, handle: (event: Events[Name]) => void) => void
  readonly skipWaiting: () => Promise<void>
  readonly location: Location
  readonly navigator: Navigator
  readonly registration: ServiceWorkerRegistration
  readonly clients: {
    readonly claim: () => Promise<void>
    readonly matchAll: (options: object) => Promise<readonly Client[]>
    readonly openWindow: (url: string) => Promise<unknown>
  }
}
/** Addresses of the files, and a hash of them. build-web.mjs fills them in. */
declare const shellFiles: readonly string[]
declare const shellVersion: string

const prefix = 'shell-'
const cacheName = prefix + shellVersion

self.addEventListener('install', (event) => event.waitUntil(keepShell()))
self.addEventListener('activate', (event) => event.waitUntil(dropOldShells()))

async function keepShell(): Promise<void> {
  const cache = await caches.open(cacheName)
  // The start page has the same address in every version.
  await cache.addAll(shellFiles.map((file) => new Request(file, { cache: file === '/' ? 'reload' : 'default' })))
}

async function dropOldShells(): Promise<void> {
  for (const name of await caches.keys()) if (name.startsWith(prefix) && name !== cacheName) await caches.delete(name)
  await self.clients.claim()
}

/** The page asks for it when the person agrees to reload. */
self.addEventListener('message', ({ data }) => {
  if (data === 'activate') void self.skipWaiting()
})

self.addEventListener('fetch', (event) => {
  const { request } = event
  const url = new URL(request.url)
  if (request.method !== 'GET' || url.origin !== self.location.origin) return
  if (url.pathname === '/' && request.mode === 'navigate') event.respondWith(openPage(request))
  else if (shellFiles.includes(url.pathname) || url.pathname.startsWith('/app/')) event.respondWith(openFile(request))
})

/** The server first: a new version is seen at once. */
async function openPage(request: Request): Promise<Response> {
  try {
    const response = await fetch(request)
    if (response.ok) return response
  } catch {
    // Without a network the kept page answers.
  }
  return (await caches.match('/', { cacheName })) ?? Response.error()
}

/** Names of files change with their contents. Large ones are kept from their first use on. */
async function openFile(request: Request): Promise<Response> {
  const kept = await caches.match(request, { cacheName, ignoreSearch: true })
  if (kept) return kept
  const response = await fetch(request)
  if (response.ok) await (await caches.open(cacheName)).put(request, response.clone())
  return response
}

export type Notice = {
  readonly kind: 'approval' | 'question' | 'completed' | 'failed'
  readonly session_id: string
  readonly title: string | null
}

const words: Readonly<Record<string, Readonly<Record<Notice['kind'], string>>>> = {
  en: { approval: 'Needs your approval', question: 'Has a question', completed: 'Done', failed: 'Failed' },
  de: {
    approval: 'Braucht deine Zustimmung',
    question: 'Hat eine Frage',
    completed: 'Fertig',
    failed: 'Fehlgeschlagen',
  },
}

self.addEventListener('push', (event) => event.waitUntil(show(event.data?.text() ?? '')))

/** Browsers end subscriptions whose messages show nothing, so every message shows something. */
async function show(text: string): Promise<void> {
  const { kind, session_id: id = '', title } = parse(text)
  const language = words[self.navigator.language.slice(0, 2)] ?? words['en']
  const body = kind ? language?.[kind] : undefined
  const options = { body: body ?? '', tag: `${id} ${kind}`, icon: '/icon-192.png', data: { kind, id } }
  await self.registration.showNotification(title || 'Talaria', options)
}

function parse(text: string): Partial<Notice> {
  try {
    return JSON.parse(text) as Partial<Notice>
  } catch {
    return {} // Other senders have no key to encrypt with.
  }
}

self.addEventListener('notificationclick', (event) => {
  event.notification.close()
  const { kind, id } = (event.notification.data ?? {}) as { kind?: string; id?: string }
  const hash = kind === 'approval' || kind === 'question' ? '#/inbox' : `#/chat/${encodeURIComponent(id ?? '')}`
  event.waitUntil(openAt(hash))
})

async function openAt(hash: string): Promise<void> {
  const [open] = await self.clients.matchAll({ type: 'window', includeUncontrolled: true })
  if (!open) return void (await self.clients.openWindow(`/${hash}`))
  open.postMessage({ open: hash }, [])
  await open.focus()
}
