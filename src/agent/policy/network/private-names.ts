/** Lists names and addresses that lead into private networks although they look public. */

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
export const privateSuffixes: ReadonlySet<string> = new Set([reserved, metadata, wildcards, loopback, rebinding].flat())

/** Public addresses at which a cloud answers its machines. */
export const publicMetadataAddresses: ReadonlySet<string> = new Set(['168.63.129.16'])
