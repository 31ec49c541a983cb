/** Judges programs that use the network. Fetching is allowed in a sandbox without network, sending never is. */

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

/** Metadata services, which hand out credentials of the host, and disguised addresses. */
const internalHost =
  /^(169\.254\.|metadata(\.|$)|100\.100\.100\.200$|\[?fd00:ec2|\[?::ffff:|\[?fe80|0x[\da-f]+|\d{5,}$|0\d+\.)|\.internal$/i

type Target = { readonly host: string; readonly local: boolean }

function parseTarget(call: Call, url: Field): Target | undefined {
  const [, scheme = 'http', authority = ''] = /^(?:([A-Za-z][A-Za-z\d+.-]*):\/\/)?([^/?#]*)/.exec(url) ?? []
  const host = authority
    .replace(/^.*@/, '')
    .replace(/:\d+$/, '')
    .replaceAll(/[\uE004]/g, '0')
  if (!/^https?$/i.test(scheme)) call.ask(`${call.name} opens ${renderField(url)}`)
  else if (isUnknown(url) || isGlob(url))
    call.ask(`${call.name} opens an address that is only known at run time: ${renderField(url)}`)
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
  const targets = [...options.operands, ...optionValues(options, 'url')].map((url) => parseTarget(call, url))
  const local = targets.every((found) => found?.local)
  judgeMethod(call, options, local)
  judgeData(call, options, local)
  judgeFormats(call, options, local)
  if (!local) checkNetwork(call, 'curl')
  judgeOutputs(call, options)
  return undefined
}

/** Judges headers and output formats, which can read or write files. */
function judgeFormats(call: Call, options: Options, local: boolean): void {
  const printed = optionValues(options, 'w', 'write-out')
  for (const format of printed)
    if (format.includes('%output') || isUnknown(format)) call.ask(`curl could write files with ${renderField(format)}`)
  for (const header of [...optionValues(options, 'H', 'header', 'A'), ...printed])
    if (header.startsWith('@') || (isUnknown(header) && !local)) call.ask(`curl sends ${renderField(header)}`)
}

function judgeOutputs(call: Call, options: Options): void {
  const outputs = optionValues(options, 'o', 'output')
  judgeDownloads(call, outputs)
  const byAddress = hasOption(options, 'O', 'remote-name')
  // `#1` is replaced by the text of the first braces in the address, which may be a path.
  if ((byAddress || outputs.some((path) => /#\d/.test(path))) && options.operands.some((url) => url.includes('{')))
    call.ask('curl would write files that the address names')
  if (byAddress) judgeNamedDownloads(call, options.operands, optionValues(options, 'output-dir'))
}

function judgeMethod(call: Call, options: Options, local: boolean): void {
  const requested = optionValues(options, 'X', 'request')[0]?.toUpperCase() ?? 'GET'
  if (!['GET', 'HEAD', 'OPTIONS'].includes(requested) && !(local && call.judge.host.isSandboxed))
    call.ask(`curl sends ${renderField(requested)}${local ? '' : ' to another machine'}`)
}

function judgeData(call: Call, options: Options, local: boolean): void {
  for (const data of optionValues(options, ...sendingOptions)) {
    const file = /^[^=]*@/.test(data) || hasOption(options, 'T')
    if (!local) call.ask(`curl sends ${renderField(data).slice(0, 60)} to another machine`)
    else if (file && call.judge.host.isSandboxed) checkReads(call, [data.replace(/^[^=]*@/, '')])
    else if (file || !call.judge.host.isSandboxed) call.ask(`curl sends ${renderField(data).slice(0, 60)}`)
  }
}

/** Records downloaded files as unknown, so that running one needs approval. */
function judgeDownloads(call: Call, paths: readonly Field[]): void {
  checkWrites(
    call,
    paths.filter((path) => path !== '-'),
    'download to',
  )
  for (const path of paths) if (path !== '-') recordContent(call, path, 'unknown')
}

/** Judges files that are named after their address. */
function judgeNamedDownloads(call: Call, urls: readonly Field[], dirs: readonly Field[]): void {
  for (const url of urls) {
    const name = url.split('?')[0]?.split('/').at(-1) ?? ''
    judgeDownloads(
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
  const targets = options.operands.map((url) => parseTarget(call, url))
  if (!targets.every((found) => found?.local)) checkNetwork(call, 'wget')
  judgeDownloads(call, optionValues(options, 'O', 'output-document'))
  const dirs = optionValues(options, 'P', 'directory-prefix')
  checkWrites(call, dirs, 'download to')
  if (!hasOption(options, 'O', 'output-document', 'spider')) judgeNamedDownloads(call, options.operands, dirs)
  return undefined
}

/** A DNS query can carry data out, so an unknown name needs approval. */
const lookup: Policy = (call) => {
  if (call.args.some((arg) => isUnknown(arg) || arg.startsWith('@') || /^-[fw]/.test(arg)))
    call.ask(`${call.name} sends data that is only known at run time`)
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

const networkStatus: Policy = (call) => {
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
  ifconfig: networkStatus,
  ss: networkStatus,
  netstat: networkStatus,
}
