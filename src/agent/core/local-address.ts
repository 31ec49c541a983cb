/** Recognises addresses of this computer, which has several names. */

export const isLocalHost = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]'

function nameOnce(address: string): string {
  const url = URL.parse(address)
  if (!url) return address
  if (isLocalHost(url.hostname)) url.hostname = 'localhost'
  return url.href.replace(/\/$/, '')
}

/** Whether two addresses are the same but for the name of this computer and a slash at the end. */
export const isSameAddress = (one: string, other: string): boolean => one === other || nameOnce(one) === nameOnce(other)
