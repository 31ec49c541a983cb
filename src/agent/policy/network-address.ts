/**
 * Checks addresses from tenants, models and servers: only the public internet may be called. It sees names and numbers,
 * not the addresses that names resolve to; `global_fetch_strictly_public` of the runtime and refused redirects cover
 * those.
 */

/** Returns the reason why an address may not be called; undefined when it may. */

export function checkPublicAddress(address: string): string | undefined {
  // The URL parser converts decimal, octal, hexadecimal and short IPv4 addresses into four numbers.
  const url = URL.parse(address)
  if (!url) return 'it is not a valid address'
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'only http and https are called'
  if (url.username || url.password) return 'it contains a user name or a password'
  const host = url.hostname.replace(/\.$/, '').toLowerCase()
  if (host.startsWith('[')) return ipv6Range(host.slice(1, -1))
  if (/^\d+\.\d+\.\d+\.\d+$/.test(host)) return ipv4Range(host.split('.').map(Number))
  if (!/^[\w.-]+$/.test(host)) return 'its host name is not valid'
  if (!host.includes('.')) return 'a name without a dot belongs to a private network'
  const zone = privateZones.find((name) => host === name || host.endsWith(`.${name}`))
  return zone && `${zone} names belong to private networks`
}

/** Names that never resolve to the public internet, and public zones that resolve to any address in the name. */
const privateZones = [
  'localhost',
  'local',
  'localdomain',
  'internal',
  'intranet',
  'lan',
  'home',
  'corp',
  'private',
  'test',
  'invalid',
  'onion',
  'home.arpa',
  'localtest.me',
  'lvh.me',
  'vcap.me',
  'lacolhost.com',
  'nip.io',
  'sslip.io',
  'xip.io',
  '1u.ms',
  'rbndr.us',
]

type Range = readonly [first: readonly number[], bits: number, what: string]

const v4: readonly Range[] = [
  [[0], 8, 'this network'],
  [[10], 8, 'a private network'],
  [[100, 64], 10, 'a embedded’s network'],
  [[127], 8, 'loopback'],
  [[169, 254], 16, 'link-local'],
  [[172, 16], 12, 'a private network'],
  [[192, 0, 0], 24, 'reserved'],
  [[192, 0, 2], 24, 'reserved for documentation'],
  [[192, 88, 99], 24, 'reserved'],
  [[192, 168], 16, 'a private network'],
  [[198, 18], 15, 'reserved for benchmarks'],
  [[198, 51, 100], 24, 'reserved for documentation'],
  [[203, 0, 113], 24, 'reserved for documentation'],
  [[224], 4, 'multicast'],
  [[240], 4, 'reserved'],
]

const ipv4Range = (octets: readonly number[]): string | undefined => findRange(octets, 8, v4)

const v6: readonly Range[] = [
  [[0, 0, 0, 0, 0, 0, 0, 0], 127, 'loopback'],
  [[0x64, 0xff9b, 1], 48, 'a translated private network'],
  [[0x100], 64, 'discarded'],
  [[0x2001], 23, 'reserved'],
  [[0x2001, 0xdb8], 32, 'reserved for documentation'],
  [[0x3fff], 20, 'reserved for documentation'],
  [[0x5f00], 16, 'reserved'],
  [[0xfc00], 7, 'a private network'],
  [[0xfe80], 10, 'link-local'],
  [[0xfec0], 10, 'a private network'],
  [[0xff00], 8, 'multicast'],
]

/** IPv6 ranges that contain an IPv4 address: mapped, compatible, translated, 6to4. */
const embeddedRanges: readonly (readonly [first: readonly number[], bits: number, at: number])[] = [
  [[0, 0, 0, 0, 0, 0xffff], 96, 6],
  [[0, 0, 0, 0, 0xffff, 0], 96, 6],
  [[0, 0, 0, 0, 0, 0], 96, 6],
  [[0x64, 0xff9b, 0, 0, 0, 0], 96, 6],
  [[0x2002], 16, 1],
]

function ipv6Range(text: string): string | undefined {
  const groups = groupsOf(text)
  if (!groups) return 'it is not a valid address'
  const reason = findRange(groups, 16, v6)
  if (reason) return reason
  const embedded = embeddedRanges.find(([first, bits]) => hasPrefix(groups, 16, first, bits))
  if (!embedded) return undefined
  const [high = 0, low = 0] = groups.slice(embedded[2], embedded[2] + 2)
  return ipv4Range([high >> 8, high & 255, low >> 8, low & 255])
}

/** Parses the form that the URL parser creates: hexadecimal groups with at most one `::`. */
function groupsOf(text: string): readonly number[] | undefined {
  const [head = '', tail] = text.split('::')
  const parse = (part: string) =>
    part
      .split(':')
      .filter(Boolean)
      .map((group) => Number.parseInt(group, 16))
  const before = parse(head)
  const after = parse(tail ?? '')
  const groups = [...before, ...Array<number>(Math.max(0, 8 - before.length - after.length)).fill(0), ...after]
  return groups.length === 8 && groups.every((group) => group >= 0 && group <= 0xffff) ? groups : undefined
}

const findRange = (parts: readonly number[], size: number, ranges: readonly Range[]): string | undefined =>
  ranges.find(([first, bits]) => hasPrefix(parts, size, first, bits))?.[2]

/** Checks whether an address, in parts of `size` bits, hasPrefix with the first `bits` of `first`. */
function hasPrefix(parts: readonly number[], size: number, first: readonly number[], bits: number): boolean {
  for (let at = 0; at * size < bits; at++) {
    const rest = size - Math.min(size, bits - at * size)
    if ((parts[at] ?? 0) >> rest !== (first[at] ?? 0) >> rest) return false
  }
  return true
}
