/** Programs that reach other machines. Fetching is free where there is no network to leave by; sending never is. */

import { isGlob, isUnknown, renderField, type Field } from '../field.ts'
import {
  checkOptions,
  hasOption,
  recordContent,
  readOptions,
  checkNetwork,
  checkReads,
  optionValues,
  checkWrites,
  type Options,
} from '../call-checks.ts'
import type { Call, Policy } from '../shell-state.ts'

const localHost = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?|0\.0\.0\.0)$/

/** Services that give out the keys of the machine, and addresses written so that nobody recognises them. */
const internalHost =
  /^(169\.254\.|metadata(\.|$)|100\.100\.100\.200$|\[?fd00:ec2|\[?::ffff:|\[?fe80|0x[\da-f]+|\d{5,}$|0\d+\.)|\.internal$/i

type Target = { readonly host: string; readonly local: boolean }

function target(call: Call, url: Field): Target | undefined {
  const [, scheme = 'http', authority = ''] = /^(?:([A-Za-z][A-Za-z\d+.-]*):\/\/)?([^/?#]*)/.exec(url) ?? []
  const host = authority
    .replace(/^.*@/, '')
    .replace(/:\d+$/, '')
    .replaceAll(/[\uE004]/g, '0')
  if (!/^https?$/i.test(scheme)) call.ask(`${call.name} opens ${renderField(url)}`)
  else if (isUnknown(url) || isGlob(url))
    call.ask(`${call.name} opens an address that is only known when it runs: ${renderField(url)}`)
  else if (internalHost.test(host) || authority.includes('@'))
    call.ask(`${call.name} opens ${renderField(url)}, which may give out keys`)
  else return { host, local: localHost.test(host) }
  return undefined
}

const curlGrammar = {
  short: 'sSLfIkviG#gNj0146qZ',
  valued: 'oHXAwmedFTuUbcKxCErYyzPQtD',
  long: 'silent show-error location fail fail-with-body head insecure verbose include get compressed no-progress-meter progress-bar output= header= request= user-agent= write-out= max-time= connect-timeout= retry= retry-delay= retry-all-errors retry-connrefused data= data-raw= data-binary= data-urlencode= json= http1.1 http2 ipv4 ipv6 no-buffer create-dirs version help url= limit-rate= remote-name max-redirs= globoff path-as-is parallel range=',
}

const sendingOptions = ['d', 'F', 'T', 'data', 'data-raw', 'data-binary', 'data-urlencode', 'json']
const steeringOptions = ['K', 'x', 'E', 'u', 'U', 'b', 'c', 'P', 'Q', 't', 'C', 'e', 'q', 'D', 'r', 'z', 'Y', 'y']

const curl: Policy = (call) => {
  const options = readOptions(call.args, { ...curlGrammar, short: `${curlGrammar.short}OR` })
  checkOptions(call, options)
  const steering = steeringOptions.find((name) => hasOption(options, name))
  if (steering !== undefined && !['C', 'r', 'e'].includes(steering)) call.ask(`curl is given -${steering}`)
  const targets = [...options.operands, ...optionValues(options, 'url')].map((url) => target(call, url))
  const local = targets.every((found) => found?.local)
  method(call, options, local)
  sending(call, options, local)
  formats(call, options, local)
  if (!local) checkNetwork(call, 'curl')
  saving(call, options)
  return undefined
}

/** Headers and what is printed at the end: from a file, into a file, or only known when it runs. */
function formats(call: Call, options: Options, local: boolean): void {
  const printed = optionValues(options, 'w', 'write-out')
  for (const format of printed)
    if (format.includes('%output') || isUnknown(format)) call.ask(`curl could write files with ${renderField(format)}`)
  for (const header of [...optionValues(options, 'H', 'header', 'A'), ...printed])
    if (header.startsWith('@') || (isUnknown(header) && !local)) call.ask(`curl sends ${renderField(header)}`)
}

function saving(call: Call, options: Options): void {
  const outputs = optionValues(options, 'o', 'output')
  downloads(call, outputs)
  const byAddress = hasOption(options, 'O', 'remote-name')
  // `#1` becomes what stands in the first braces of the address, a path too.
  if ((byAddress || outputs.some((path) => /#\d/.test(path))) && options.operands.some((url) => url.includes('{')))
    call.ask('curl would write files that the address names')
  if (byAddress) named(call, options.operands, optionValues(options, 'output-dir'))
}

function method(call: Call, options: Options, local: boolean): void {
  const wanted = optionValues(options, 'X', 'request')[0]?.toUpperCase() ?? 'GET'
  if (!['GET', 'HEAD', 'OPTIONS'].includes(wanted) && !(local && call.judge.host.isSandboxed))
    call.ask(`curl sends ${renderField(wanted)}${local ? '' : ' to another machine'}`)
}

function sending(call: Call, options: Options, local: boolean): void {
  for (const data of optionValues(options, ...sendingOptions)) {
    const file = /^[^=]*@/.test(data) || hasOption(options, 'T')
    if (!local) call.ask(`curl sends ${renderField(data).slice(0, 60)} to another machine`)
    else if (file && call.judge.host.isSandboxed) checkReads(call, [data.replace(/^[^=]*@/, '')])
    else if (file || !call.judge.host.isSandboxed) call.ask(`curl sends ${renderField(data).slice(0, 60)}`)
  }
}

/** Whatever comes from the network must not be run unseen. */
function downloads(call: Call, paths: readonly Field[]): void {
  checkWrites(
    call,
    paths.filter((path) => path !== '-'),
    'download to',
  )
  for (const path of paths) if (path !== '-') recordContent(call, path, 'unknown')
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
  checkOptions(call, options)
  const targets = options.operands.map((url) => target(call, url))
  if (!targets.every((found) => found?.local)) checkNetwork(call, 'wget')
  downloads(call, optionValues(options, 'O', 'output-document'))
  const dirs = optionValues(options, 'P', 'directory-prefix')
  checkWrites(call, dirs, 'download to')
  if (!hasOption(options, 'O', 'output-document', 'spider')) named(call, options.operands, dirs)
  return undefined
}

/** Names can carry what they should not; only those written out are looked up unasked. */
const lookup: Policy = (call) => {
  if (call.args.some((arg) => isUnknown(arg) || arg.startsWith('@') || /^-[fw]/.test(arg)))
    call.ask(`${call.name} sends what is only known when it runs`)
  checkNetwork(call, call.name)
  return undefined
}

const nc: Policy = (call) => {
  const options = readOptions(call.args, { short: 'zvn46u', valued: 'w' })
  checkOptions(call, options)
  const local = options.operands.length > 0 && localHost.test(options.operands[0] ?? '')
  if (!hasOption(options, 'z') || !local) call.ask(`${call.name} opens a connection`)
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
    call.ask(`${call.name} is given ${call.args.map((arg) => renderField(arg)).join(' ')}`)
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
