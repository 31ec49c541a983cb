/**
 * Judges addresses that tenants, models, pages and servers influence: only the public internet may be called. It sees
 * names and numbers; the addresses that names resolve to are judged with the same function (durable/platform/guarded-fetch.ts).
 */

export type AddressRules = {
  /** Host names of this deployment. */
  readonly ownHosts?: readonly string[]
  /** `web`: the ports of web servers. `service`: also others above 1023 that no well-known internal service uses. */
  readonly ports?: 'web' | 'service'
}

/** Returns the reason why an address may not be called; undefined when it may. */
export function checkPublicAddress(address: string, rules: AddressRules = {}): string | undefined {
  // The URL parser converts decimal, octal, hexadecimal and short IPv4 addresses into four numbers.
  const url = URL.parse(address)
  if (!url) return 'it is not a valid address'
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'only http and https are called'
  if (url.username || url.password) return 'it contains a user name or a password'
  return checkHost(url.hostname, rules.ownHosts ?? []) ?? checkPort(url.port, rules.ports ?? 'web')
}

function checkHost(hostname: string, ownHosts: readonly string[]): string | undefined {
  const host = normalizeHost(hostname)
  if (host.startsWith('[')) return ipv6Range(host.slice(1, -1))
  if (/^\d+\.\d+\.\d+\.\d+$/.test(host)) return ipv4Range(host.split('.').map(Number))
  return checkName(host, ownHosts)
}

/** Removes the trailing dot of a fully qualified name. */
export const normalizeHost = (hostname: string): string => hostname.replace(/\.$/, '').toLowerCase()

function checkName(host: string, ownHosts: readonly string[]): string | undefined {
  const labels = host.split('.')
  if (host.length > 253 || labels.some((label) => label === '' || label.length > 63))
    return 'its host name has an empty label, or one that is too long'
  if (!/^[\w.-]+$/.test(host)) return 'its host name is not valid'
  if (labels.length < 2) return 'a name without a dot belongs to a private network'
  const suffix = labels.map((_, at) => labels.slice(at).join('.')).find((name) => privateSuffixes.has(name))
  if (suffix !== undefined) return `${suffix} names belong to private networks`
  if (!/[a-z]/.test(labels.at(-1) ?? '')) return 'its host name is not valid'
  const embedded = findEmbeddedAddress(host)
  if (embedded && ipv4Range(embedded)) return 'its host name contains a private address'
  return ownHosts.some((own) => host === own || host.endsWith(`.${own}`)) ? 'it is this deployment' : undefined
}

/** An IPv4 address within a name, as services with wildcard names have it: `10.0.0.1.example.org`, `10-0-0-1.example.org`. */
function findEmbeddedAddress(host: string): readonly number[] | undefined {
  const [, ...octets] =
    /(?:^|[.-])(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?=[.-])/.exec(host) ??
    /(?:^|\.)(?:ip-)?(\d{1,3})-(\d{1,3})-(\d{1,3})-(\d{1,3})(?=\.)/.exec(host) ??
    []
  const numbers = octets.map(Number)
  return numbers.length === 4 && numbers.every((octet) => octet < 256) ? numbers : undefined
}

const webPorts: ReadonlySet<string> = new Set(['', '80', '443', '8080', '8443'])
/** Databases, caches, queues, control planes and desktops. */
const internalPorts: ReadonlySet<number> = new Set([
  1433, 1521, 2049, 2181, 2375, 2376, 2379, 2380, 3306, 3389, 4369, 5432, 5672, 5984, 6379, 6443, 6660, 6667, 7474,
  8500, 8529, 9042, 9092, 9200, 9300, 10250, 10255, 10256, 11211, 15672, 27017, 27018, 28017, 50070, 61616,
])

function checkPort(port: string, allowed: 'web' | 'service'): string | undefined {
  if (webPorts.has(port)) return undefined
  const number = Number(port)
  const isService =
    allowed === 'service' && number > 1_023 && !internalPorts.has(number) && !(number >= 5_900 && number < 6_100)
  return isService ? undefined : `port ${port} is not one of a web server`
}

type AddressRange = readonly [first: readonly number[], bits: number, what: string]

const v4: readonly AddressRange[] = [
  [[0], 8, 'this network'],
  [[10], 8, 'a private network'],
  [[100, 64], 10, 'a shared private network'],
  [[127], 8, 'loopback'],
  [[169, 254], 16, 'link-local'],
  [[172, 16], 12, 'a private network'],
  [[192, 0, 0], 24, 'reserved'],
  [[192, 0, 2], 24, 'reserved for documentation'],
  [[192, 88, 99], 24, 'reserved'],
  [[192, 31, 196], 24, 'reserved'],
  [[192, 52, 193], 24, 'reserved'],
  [[192, 175, 48], 24, 'reserved'],
  [[192, 168], 16, 'a private network'],
  [[198, 18], 15, 'reserved for benchmarks'],
  [[198, 51, 100], 24, 'reserved for documentation'],
  [[203, 0, 113], 24, 'reserved for documentation'],
  [[224], 4, 'multicast'],
  [[240], 4, 'reserved'],
]

const ipv4Range = (octets: readonly number[]): string | undefined =>
  publicMetadataAddresses.has(octets.join('.')) ? 'metadata of a cloud' : findRange(octets, 8, v4)

const v6: readonly AddressRange[] = [
  [[0, 0, 0, 0, 0, 0, 0, 0], 127, 'loopback'],
  [[0x64, 0xff9b, 1], 48, 'a translated private network'],
  [[0x100], 64, 'discarded'],
  [[0x2001], 23, 'reserved'],
  [[0x2001, 0xdb8], 32, 'reserved for documentation'],
  [[0x2620, 0x4f, 0x8000], 48, 'reserved'],
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
  const groups = parseGroups(text)
  if (!groups) return 'it is not a valid address'
  const reason = findRange(groups, 16, v6)
  if (reason) return reason
  const embedded = embeddedRanges.find(([first, bits]) => hasPrefix(groups, 16, first, bits))
  if (embedded) return embeddedIpv4(groups, embedded[2])
  // The interface identifier of ISATAP ends with an IPv4 address.
  const isIsatap = (groups[4] === 0 || groups[4] === 0x200) && groups[5] === 0x5efe
  if (isIsatap) return embeddedIpv4(groups, 6)
  // Everything else outside of this range is reserved.
  return hasPrefix(groups, 16, [0x2000], 3) ? undefined : 'reserved'
}

function embeddedIpv4(groups: readonly number[], at: number): string | undefined {
  const [high = 0, low = 0] = groups.slice(at, at + 2)
  return ipv4Range([high >> 8, high & 255, low >> 8, low & 255])
}

/** Parses the form that the URL parser creates: hexadecimal groups with at most one `::`. */
function parseGroups(text: string): readonly number[] | undefined {
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

const findRange = (parts: readonly number[], size: number, ranges: readonly AddressRange[]): string | undefined =>
  ranges.find(([first, bits]) => hasPrefix(parts, size, first, bits))?.[2]

/** Checks whether an address, in parts of `size` bits, begins with the first `bits` of `first`. */
function hasPrefix(parts: readonly number[], size: number, first: readonly number[], bits: number): boolean {
  for (let at = 0; at * size < bits; at++) {
    const rest = size - Math.min(size, bits - at * size)
    if ((parts[at] ?? 0) >> rest !== (first[at] ?? 0) >> rest) return false
  }
  return true
}

const words = (text: string): readonly string[] => text.trim().split(/\s+/)

/** Reserved, or used within networks. */
const reserved = words(`
  localhost local localdomain internal intranet lan home corp private test invalid onion i2p alt arpa localhost4
  localhost6 localdomain4 localdomain6 svc cluster default consul docker vm workgroup dhcp router gateway fritz.box
  routerlogin.net routerlogin.com tplinkwifi.net router.asus.com`)

/** Names of the metadata services of clouds. */
const metadata = words(`
  metadata.goog metadata.tencentyun.com metadata.packet.net metadata.platformequinix.com metadata.equinix.com
  metadata.udhcpc.opc.oraclecloud.com rancher-metadata.rancher.com`)

/** The name contains the address to which it resolves. */
const wildcards = words(`
  nip.io sslip.io xip.io xip.name nip.sh backname.io ip6.name ipq.co traefik.me local-ip.co local-ip.sh localip.dev
  plex.direct ip.addr.tools`)

/** Every name resolves to 127.0.0.1. */
const loopback = words(`
  localtest.me lvh.me vcap.me lacolhost.com localhost.direct localdev.me localho.st localh.st local.gd fuf.me ulh.us
  yoogle.com lndo.site ddev.site localdomain.pw loopback.pw smackaho.st 127-0-0-1.org.uk bugbounty.dod.network
  spoofed.burpcollaborator.net 42foo.com feacluster.com`)

/** Names that change their address between two lookups. */
const rebinding = words(`
  1u.ms rr.nu rbndr.us rebind.it rebind.network gel0.space dynamic-dns-rebinding.com`)

/** Names, and zones with all of their names, that never lead to the public internet. */
const privateSuffixes: ReadonlySet<string> = new Set([reserved, metadata, wildcards, loopback, rebinding].flat())

/** Public addresses at which a cloud answers its machines. */
const publicMetadataAddresses: ReadonlySet<string> = new Set(['168.63.129.16'])
