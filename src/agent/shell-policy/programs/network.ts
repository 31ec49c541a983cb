/** Programs that reach other machines. Fetching is free where there is no network to leave by; sending never is. */

import { isGlob, isUnknown, shown, type Field } from '../marks.ts'
import { accept, flag, holds, readOptions, reachesOut, reads, valuesOf, writes, type Options } from '../call.ts'
import type { Call, Policy } from '../shell.ts'

const LOCAL = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?|0\.0\.0\.0)$/

/** Services that give out the keys of the machine, and addresses written so that nobody recognises them. */
const INNER =
  /^(169\.254\.|metadata(\.|$)|100\.100\.100\.200$|\[?fd00:ec2|\[?::ffff:|\[?fe80|0x[\da-f]+|\d{5,}$|0\d+\.)|\.internal$/i

type Target = { readonly host: string; readonly local: boolean }

function target(call: Call, url: Field): Target | undefined {
  const [, scheme = 'http', authority = ''] = /^(?:([A-Za-z][A-Za-z\d+.-]*):\/\/)?([^/?#]*)/.exec(url) ?? []
  const host = authority
    .replace(/^.*@/, '')
    .replace(/:\d+$/, '')
    .replaceAll(/[\uE004]/g, '0')
  if (!/^https?$/i.test(scheme)) call.ask(`${call.name} opens ${shown(url)}`)
  else if (isUnknown(url) || isGlob(url))
    call.ask(`${call.name} opens an address that is only known when it runs: ${shown(url)}`)
  else if (INNER.test(host) || authority.includes('@'))
    call.ask(`${call.name} opens ${shown(url)}, which may give out keys`)
  else return { host, local: LOCAL.test(host) }
  return undefined
}

const CURL = {
  short: 'sSLfIkviG#gNj0146qZ',
  valued: 'oHXAwmedFTuUbcKxCErYyzPQtD',
  long: 'silent show-error location fail fail-with-body head insecure verbose include get compressed no-progress-meter progress-bar output= header= request= user-agent= write-out= max-time= connect-timeout= retry= retry-delay= retry-all-errors retry-connrefused data= data-raw= data-binary= data-urlencode= json= http1.1 http2 ipv4 ipv6 no-buffer create-dirs version help url= limit-rate= remote-name max-redirs= globoff path-as-is parallel range=',
}

const SENDING = ['d', 'F', 'T', 'data', 'data-raw', 'data-binary', 'data-urlencode', 'json']
const STEERING = ['K', 'x', 'E', 'u', 'U', 'b', 'c', 'P', 'Q', 't', 'C', 'e', 'q', 'D', 'r', 'z', 'Y', 'y']

const curl: Policy = (call) => {
  const options = readOptions(call.args, { ...CURL, short: `${CURL.short}OR` })
  accept(call, options)
  const steering = STEERING.find((name) => flag(options, name))
  if (steering !== undefined && !['C', 'r', 'e'].includes(steering)) call.ask(`curl is given -${steering}`)
  const targets = [...options.operands, ...valuesOf(options, 'url')].map((url) => target(call, url))
  const local = targets.every((found) => found?.local)
  method(call, options, local)
  sending(call, options, local)
  formats(call, options, local)
  if (!local) reachesOut(call, 'curl')
  saving(call, options)
  return undefined
}

/** Headers and what is printed at the end: from a file, into a file, or only known when it runs. */
function formats(call: Call, options: Options, local: boolean): void {
  const printed = valuesOf(options, 'w', 'write-out')
  for (const format of printed)
    if (format.includes('%output') || isUnknown(format)) call.ask(`curl could write files with ${shown(format)}`)
  for (const header of [...valuesOf(options, 'H', 'header', 'A'), ...printed])
    if (header.startsWith('@') || (isUnknown(header) && !local)) call.ask(`curl sends ${shown(header)}`)
}

function saving(call: Call, options: Options): void {
  const outputs = valuesOf(options, 'o', 'output')
  downloads(call, outputs)
  const byAddress = flag(options, 'O', 'remote-name')
  // `#1` becomes what stands in the first braces of the address, a path too.
  if ((byAddress || outputs.some((path) => /#\d/.test(path))) && options.operands.some((url) => url.includes('{')))
    call.ask('curl would write files that the address names')
  if (byAddress) named(call, options.operands, valuesOf(options, 'output-dir'))
}

function method(call: Call, options: Options, local: boolean): void {
  const wanted = valuesOf(options, 'X', 'request')[0]?.toUpperCase() ?? 'GET'
  if (!['GET', 'HEAD', 'OPTIONS'].includes(wanted) && !(local && call.judge.around.sandboxed))
    call.ask(`curl sends ${shown(wanted)}${local ? '' : ' to another machine'}`)
}

function sending(call: Call, options: Options, local: boolean): void {
  for (const data of valuesOf(options, ...SENDING)) {
    const file = /^[^=]*@/.test(data) || flag(options, 'T')
    if (!local) call.ask(`curl sends ${shown(data).slice(0, 60)} to another machine`)
    else if (file && call.judge.around.sandboxed) reads(call, [data.replace(/^[^=]*@/, '')])
    else if (file || !call.judge.around.sandboxed) call.ask(`curl sends ${shown(data).slice(0, 60)}`)
  }
}

/** Whatever comes from the network must not be run unseen. */
function downloads(call: Call, paths: readonly Field[]): void {
  writes(
    call,
    paths.filter((path) => path !== '-'),
    'download to',
  )
  for (const path of paths) if (path !== '-') holds(call, path, 'unknown')
}

/** Files that have the name of what is downloaded. */
function named(call: Call, urls: readonly Field[], dirs: readonly Field[]): void {
  for (const url of urls) {
    const name = url.split('?')[0]?.split('/').at(-1) ?? ''
    downloads(
      call,
      (dirs.length > 0 ? dirs : ['.']).map((dir) => `${dir}/${name}`),
    )
  }
}

const wget: Policy = (call) => {
  const options = readOptions(call.args, {
    short: 'qcSnNv46',
    valued: 'OPtTU',
    long: 'quiet no-verbose continue output-document= directory-prefix= timeout= tries= spider server-response show-progress no-check-certificate user-agent= max-redirect=',
  })
  accept(call, options)
  const targets = options.operands.map((url) => target(call, url))
  if (!targets.every((found) => found?.local)) reachesOut(call, 'wget')
  downloads(call, valuesOf(options, 'O', 'output-document'))
  const dirs = valuesOf(options, 'P', 'directory-prefix')
  writes(call, dirs, 'download to')
  if (!flag(options, 'O', 'output-document', 'spider')) named(call, options.operands, dirs)
  return undefined
}

/** Names can carry what they should not; only those written out are looked up unasked. */
const lookup: Policy = (call) => {
  if (call.args.some((arg) => isUnknown(arg) || arg.startsWith('@') || /^-[fw]/.test(arg)))
    call.ask(`${call.name} sends what is only known when it runs`)
  reachesOut(call, call.name)
  return undefined
}

const nc: Policy = (call) => {
  const options = readOptions(call.args, { short: 'zvn46u', valued: 'w' })
  accept(call, options)
  const local = options.operands.length > 0 && LOCAL.test(options.operands[0] ?? '')
  if (!flag(options, 'z') || !local) call.ask(`${call.name} opens a connection`)
  return undefined
}

const ip: Policy = (call) => {
  const words = call.args.filter((arg) => !arg.startsWith('-'))
  const reading =
    words.slice(1).every((word) => /^(show|list|ls|get|dev|addr|\w{1,15}|[\d.:/]+)$/.test(word)) &&
    !words.some((word) => /^(add|del|delete|set|flush|change|replace|append|exec|netns|vrf)$/.test(word))
  if (!reading) call.ask(`ip ${words.join(' ')} changes the network`)
  return undefined
}

const shows: Policy = (call) => {
  if (
    call.args.some(
      (arg) =>
        !/^-[a-zA-Z]*[^K\W]$|^--(numeric|listening|tcp|udp|processes|all|route)$/.test(arg) || arg.startsWith('-K'),
    )
  )
    call.ask(`${call.name} is given ${call.args.map((arg) => shown(arg)).join(' ')}`)
  return undefined
}

export const network: Readonly<Record<string, Policy>> = {
  curl,
  wget,
  dig: lookup,
  nslookup: lookup,
  host: lookup,
  ping: lookup,
  whois: lookup,
  traceroute: lookup,
  nc,
  ncat: nc,
  netcat: nc,
  ip,
  ifconfig: shows,
  ss: shows,
  netstat: shows,
}
