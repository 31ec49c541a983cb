/** Signs in and out, and knows what the key may do. */

import { signal } from '@preact/signals'
import type { Me, Scope } from '../model/types.ts'
import { api, ApiError, get, whenSignedOut } from './client.ts'
import { disablePush } from './push.ts'

/** undefined: not known yet. null: signed out. */
export const me = signal<Me | null | undefined>(undefined)
export const signInError = signal<ApiError | undefined>(undefined)

const renewEveryMs = 3_600_000
const linkMark = '#in='
/** Rights and names, for a page that is opened without a network. The cookie is not in reach of scripts. */
const storageKey = 'talaria.me'

/** The last person who signed in here. It outlives a refused cookie, because the same person may sign in again. */
const personKey = 'talaria.person'
const personOf = ({ tenant, key }: Me): string => `${tenant}/${key.id}`

let removeUnsent = () => {}
/** Called when somebody leaves, or somebody else has signed in: what waits to be sent is not sent. */
export const whenLeft = (work: () => void): void => void (removeUnsent = work)

function readKept(): Me | undefined {
  try {
    return JSON.parse(localStorage.getItem(storageKey) ?? '') as Me
  } catch {
    return undefined // Nobody has signed in here.
  }
}

export const can = (scope: Scope): boolean => me.value?.key.scopes.includes(scope) ?? false

/** Takes the link out of the address before anything else sees it. */
export function takeLink(): string | undefined {
  const { hash, pathname } = location
  if (!hash.startsWith(linkMark)) return undefined
  history.replaceState(null, '', pathname)
  return hash.slice(linkMark.length)
}

export async function start(link: string | undefined): Promise<void> {
  whenSignedOut(() => void (me.value = null))
  if (link !== undefined) await signIn({ link })
  else {
    // A person who was signed in most likely still is. The API decides, and the field need not wait for its answer.
    me.value = readKept()
    await loadMe()
  }
  addEventListener('storage', ({ key, newValue }) => {
    // All tabs share the cookie.
    if (key === personKey && me.value && newValue !== personOf(me.value)) location.reload()
  })
  addEventListener('hashchange', () => {
    const pasted = takeLink()
    if (pasted !== undefined) void signIn({ link: pasted })
  })
  setInterval(() => document.hidden || !me.value || void loadMe(), renewEveryMs)
}

/** Renews the cookie too. */
export async function loadMe(): Promise<void> {
  try {
    const found = await get<Me>('/api/me')
    await replacePerson(personOf(found))
    me.value = found
    localStorage.setItem(storageKey, JSON.stringify(me.value))
    signInError.value = undefined
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.code === 'offline') me.value ??= readKept()
    if (error.status === 401) localStorage.removeItem(storageKey)
    else if (!me.value) signInError.value = error
    if (!me.value) me.value = null
  }
}

async function replacePerson(person: string): Promise<void> {
  const last = localStorage.getItem(personKey)
  localStorage.setItem(personKey, person)
  if (last === null || last === person) return
  removeUnsent()
  await disablePush().catch(() => undefined)
}

export async function signIn(given: { readonly key: string } | { readonly link: string }): Promise<void> {
  try {
    // Nothing of the person before is sent with the new cookie.
    if (me.value) me.value = undefined
    await api('POST', '/api/login', { body: given })
    localStorage.removeItem(storageKey)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    signInError.value = error
    me.value = null
    return
  }
  await loadMe()
}

/** Signs out. Nothing of the person stays to be sent, and no push message comes any more. */
export async function leave(): Promise<void> {
  await disablePush().catch(() => undefined)
  await api('DELETE', '/api/login')
  removeUnsent()
  localStorage.removeItem(storageKey)
  localStorage.removeItem(personKey)
  me.value = null
}
