/** Signs in and out, and knows what the key may do. */

import { signal } from '@preact/signals'
import type { Me } from '../model/types.ts'
import { api, ApiError, get, whenSignedOut } from './client.ts'

/** undefined: not known yet. null: signed out. */
export const me = signal<Me | null | undefined>(undefined)
export const signInError = signal<ApiError | undefined>(undefined)

const renewEveryMs = 3_600_000
const linkMark = '#in='
/** Rights and names, for a page that is opened without a network. The cookie is not in reach of scripts. */
const storageKey = 'talaria.me'

function readKept(): Me | undefined {
  try {
    return JSON.parse(localStorage.getItem(storageKey) ?? '') as Me
  } catch {
    return undefined // Nobody has signed in here.
  }
}

export const can = (scope: string): boolean => me.value?.key.scopes.includes(scope) ?? false

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
  addEventListener('hashchange', () => {
    const pasted = takeLink()
    if (pasted !== undefined) void signIn({ link: pasted })
  })
  setInterval(() => document.hidden || !me.value || void loadMe(), renewEveryMs)
}

/** Renews the cookie too. */
export async function loadMe(): Promise<void> {
  try {
    me.value = await get<Me>('/api/me')
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

export async function signIn(given: { readonly key: string } | { readonly link: string }): Promise<void> {
  try {
    await api('POST', '/api/login', { body: given })
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    signInError.value = error
    me.value = null
    return
  }
  await loadMe()
}

export async function signOut(): Promise<void> {
  await api('DELETE', '/api/login')
  localStorage.removeItem(storageKey)
  me.value = null
}
