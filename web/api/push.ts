/** Subscribes this browser to push messages, and ends it. */

import { api, get } from './client.ts'

export type PushState = 'missing' | 'denied' | 'off' | 'on'

const isSupported = (): boolean => 'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window

export async function readPushState(): Promise<PushState> {
  if (!isSupported()) return 'missing'
  if (Notification.permission === 'denied') return 'denied'
  return (await findSubscription()) ? 'on' : 'off'
}

async function findSubscription(): Promise<PushSubscription | null> {
  const registration = await navigator.serviceWorker.getRegistration()
  return (await registration?.pushManager.getSubscription()) ?? null
}

/** Has to be called by a click: browsers ask only then. */
export async function enablePush(): Promise<void> {
  if ((await Notification.requestPermission()) !== 'granted') return
  const { public_key: key } = await get<{ readonly public_key: string }>('/api/push')
  const { pushManager } = await navigator.serviceWorker.ready
  const subscription = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key })
  await api('POST', '/api/push', { body: subscription.toJSON() })
}

export async function disablePush(): Promise<void> {
  if (!isSupported()) return
  const subscription = await findSubscription()
  if (!subscription) return
  await subscription.unsubscribe()
  await api('DELETE', '/api/push', { body: { endpoint: subscription.endpoint } })
}
